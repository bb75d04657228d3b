package oauth

import (
	"net/http"
	"time"
)

// Session is who is signed in at the browser that asks.
type Session struct {
	ID              string
	UserID          string
	Email           string
	Name            string
	AuthenticatedAt time.Time
}

// Front is what people see: the pages belong to the web app, the rules stay here.
type Front interface {
	// Session returns who is signed in. It is looked up on every request.
	Session(r *http.Request) (Session, bool)
	// SignIn sends the browser to the sign-in page, which comes back to returnTo, a local path.
	SignIn(w http.ResponseWriter, r *http.Request, returnTo string)
	// Consent shows what a client asks for.
	Consent(w http.ResponseWriter, r *http.Request, p ConsentPage)
	// Fail says what is wrong with a request whose client or redirect can't be trusted, or that came from an anonymous
	// visitor. It never redirects.
	Fail(w http.ResponseWriter, r *http.Request, p FailPage)
}

// ConsentPage is a question to the user: may this client do this? Everything in it that a client chose is unverified
// and must be escaped and called so.
type ConsentPage struct {
	// Client is the name that the client gave itself.
	Client string
	// Publisher is the host of the document that describes the client, which is verified; empty for one that registered.
	Publisher string
	// ClientHost is where its answers go: the host of the redirect, or its scheme for an app on the user's machine.
	ClientHost string
	// RedirectTo is the whole address that the browser is sent to; a policy on form targets must allow it.
	RedirectTo string
	Scopes     []ScopeText
	// Account is the address of the user who would be acted for.
	Account string
	// Action is where the form is posted to.
	Action string
	// Fields are the form's hidden fields. The user's answer is the field "decision": "allow" or "deny".
	Fields map[string]string
}

// ScopeText says in a sentence what a scope lets a client do.
type ScopeText struct {
	Scope string
	Text  string
}

// FailPage tells a person why a request can't go on.
type FailPage struct {
	Title  string
	Detail string
	Status int
}
