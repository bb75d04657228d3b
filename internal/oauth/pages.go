package oauth

import (
	"net/http"
	"time"
)

// Session is the browser session of a signed-in user.
type Session struct {
	ID              string
	UserID          string
	Email           string
	Name            string
	AuthenticatedAt time.Time
}

// Pages shows the pages of the authorization flow in the user's language. The web app implements it; every rule of the
// protocol stays in this package.
type Pages interface {
	// Session returns the session of the request. It must be looked up on every call, so that signing out takes effect
	// at once.
	Session(r *http.Request) (Session, bool)
	// SignIn redirects to the sign-in page, which redirects back to returnTo, a local path.
	SignIn(w http.ResponseWriter, r *http.Request, returnTo string)
	// Consent asks the user whether to allow the client.
	Consent(w http.ResponseWriter, r *http.Request, p ConsentPage)
	// Fail shows an error. It never redirects, because the client or its redirect URI may not be trusted.
	Fail(w http.ResponseWriter, r *http.Request, p FailPage)
}

// ConsentPage is the content of the consent page. Client comes from the client itself: the page must escape it and call
// it unverified.
type ConsentPage struct {
	// Client is the client's name for itself.
	Client string
	// Publisher is the verified host of the client's metadata document; empty for a registered client.
	Publisher string
	// ClientHost is the host of the redirect URI, or its scheme for an app on the user's machine.
	ClientHost string
	// RedirectTo is the redirect URI. The page's form-action policy must allow it.
	RedirectTo string
	// Scopes are the requested scopes, in the order of the function Scopes.
	Scopes []string
	// Account is the e-mail address of the signed-in user.
	Account string
	// Action is the form's target.
	Action string
	// Fields are the form's hidden fields. The answer is the field "decision": "allow" or "deny".
	Fields map[string]string
}

// Failure is why an authorization request can't continue.
type Failure string

// The failures. Pages has a text for each.
const (
	FailMalformedRequest Failure = "malformed_request"
	FailUnknownClient    Failure = "unknown_client"
	FailClientDocument   Failure = "client_document"
	FailRedirectMismatch Failure = "redirect_mismatch"
	FailInvalidRequest   Failure = "invalid_request"
	FailNotSignedIn      Failure = "not_signed_in"
	FailCrossOrigin      Failure = "cross_origin"
	FailMalformedForm    Failure = "malformed_form"
	FailPageExpired      Failure = "page_expired"
	FailUnavailable      Failure = "unavailable"
	FailInternal         Failure = "internal"
)

// Failures lists the failures.
func Failures() []Failure {
	return []Failure{
		FailMalformedRequest, FailUnknownClient, FailClientDocument, FailRedirectMismatch, FailInvalidRequest,
		FailNotSignedIn, FailCrossOrigin, FailMalformedForm, FailPageExpired, FailUnavailable, FailInternal,
	}
}

// FailPage is the content of the error page.
type FailPage struct {
	Failure Failure
	// Detail is an English sentence for the developers of the client; empty if the failure explains itself.
	Detail string
	Status int
}
