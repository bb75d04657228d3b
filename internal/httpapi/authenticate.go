package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"carrel/internal/core"
	"carrel/internal/credential"
)

// authenticate returns the actor of a request: of its bearer token or, without one, of the session that a browser has.
// A header that is there is the only thing that counts, good or bad: a program that means to act with little must not
// act with all because a cookie came along.
func (a *API) authenticate(r *http.Request) (core.Actor, error) {
	var who core.Actor
	var err error
	if values := r.Header.Values("Authorization"); len(values) > 0 {
		who, err = a.bearer(r, values)
	} else {
		who, err = a.session(r)
	}
	if err == nil {
		err = a.hooks.Admit(r.Context(), who)
	}
	return who, err
}

func (a *API) bearer(r *http.Request, values []string) (core.Actor, error) {
	scheme, token, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return core.Actor{}, core.Unauthenticated("invalid_credential",
			"The Authorization header must be one bearer token: Authorization: Bearer <token>.")
	}
	return a.Credentials.Authenticate(r.Context(), strings.TrimSpace(token))
}

func (a *API) session(r *http.Request) (core.Actor, error) {
	token, ok := a.browsers.secret(r)
	if !ok {
		return core.Actor{}, core.Unauthenticated(codeMissingCredential,
			"Send a credential in the header: Authorization: Bearer <token>.")
	}
	if err := a.browsers.sameOrigin.Check(r); err != nil {
		return core.Actor{}, core.Forbidden("cross_origin",
			"Another site made this browser ask. Only pages of this server may change something with its cookie; programs send a bearer token.")
	}
	return a.Sessions.Authenticate(r.Context(), token)
}

// browsers is what the API needs to know of browsers, which send a cookie by themselves, whoever makes them ask.
type browsers struct {
	cookie     string
	sameOrigin *http.CrossOriginProtection
}

func newBrowsers(baseURL string) (browsers, error) {
	base, err := url.Parse(baseURL)
	if err != nil {
		return browsers{}, fmt.Errorf("read the base address: %w", err)
	}
	b := browsers{cookie: credential.SessionCookie(base.Scheme == "https"), sameOrigin: http.NewCrossOriginProtection()}
	// A proxy may pass on another Host than the one that browsers see.
	if err := b.sameOrigin.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
		return browsers{}, fmt.Errorf("trust our own origin: %w", err)
	}
	return b, nil
}

// secret returns what the cookie of a session holds. Two cookies of the name mean that somebody planted one; neither is
// believed.
func (b browsers) secret(r *http.Request) (string, bool) {
	sent := r.CookiesNamed(b.cookie)
	if len(sent) != 1 || sent[0].Value == "" {
		return "", false
	}
	return sent[0].Value, true
}
