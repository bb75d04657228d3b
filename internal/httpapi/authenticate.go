package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"carrel/internal/core"
	"carrel/internal/credential"
)

// authenticate returns the actor of a request: of its bearer token or, without an Authorization header, of its session
// cookie. An invalid header is never ignored in favour of the cookie: a program that uses a restricted token must not
// act with the full rights of a session.
func (a *API) authenticate(r *http.Request) (core.Actor, error) {
	var who core.Actor
	var err error
	switch token, bad := core.BearerToken(r.Header.Values("Authorization")); {
	case bad == nil:
		who, err = a.Credentials.Authenticate(r.Context(), token)
	case errors.Is(bad, core.ErrNoAuthorization):
		who, err = a.session(r)
	default:
		err = InvalidBearer()
	}
	if err == nil {
		err = a.hooks.Admit(r.Context(), who)
	}
	return who, err
}

// InvalidBearer is the error for an Authorization header that is not one bearer token.
func InvalidBearer() *core.Error {
	return core.Unauthenticated("invalid_credential",
		"The Authorization header must be one bearer token: Authorization: Bearer <token>.")
}

// MissingCredential is the error for a request without a credential.
func MissingCredential() *core.Error {
	return core.Unauthenticated(codeMissingCredential, "Send a credential in the header: Authorization: Bearer <token>.")
}

func (a *API) session(r *http.Request) (core.Actor, error) {
	token, ok := a.browsers.secret(r)
	if !ok {
		return core.Actor{}, MissingCredential()
	}
	if err := a.browsers.sameOrigin.Check(r); err != nil {
		return core.Actor{}, core.Forbidden("cross_origin",
			"This request comes from a page of another site. Only pages of this server may use its session cookie to make "+
				"changes; programs send a bearer token.")
	}
	return a.Sessions.Authenticate(r.Context(), token)
}

// browsers reads session cookies and checks the origin of the requests that carry one: browsers attach cookies to
// requests that other sites cause.
type browsers struct {
	cookie     string
	sameOrigin *http.CrossOriginProtection
}

func newBrowsers(baseURL string) (browsers, error) {
	base, err := url.Parse(baseURL)
	if err != nil {
		return browsers{}, fmt.Errorf("parse the base URL: %w", err)
	}
	b := browsers{cookie: credential.SessionCookie(base.Scheme == "https"), sameOrigin: http.NewCrossOriginProtection()}
	// Behind a proxy the Host header may differ from the origin that browsers send.
	if err := b.sameOrigin.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
		return browsers{}, fmt.Errorf("trust the own origin: %w", err)
	}
	return b, nil
}

// secret returns the value of the session cookie. Two cookies of that name mean that another site of the domain has set
// one, so neither is accepted.
func (b browsers) secret(r *http.Request) (string, bool) {
	sent := r.CookiesNamed(b.cookie)
	if len(sent) != 1 || sent[0].Value == "" {
		return "", false
	}
	return sent[0].Value, true
}
