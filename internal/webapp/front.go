package webapp

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"carrel/internal/oauth"
)

// App shows people what the authorization server asks of them.
var _ oauth.Front = (*App)(nil)

// Session returns who is signed in at the browser that asks. It is looked up each time.
func (a *App) Session(r *http.Request) (oauth.Session, bool) {
	found, ok := a.signedIn(r)
	if !ok {
		return oauth.Session{}, false
	}
	return oauth.Session{
		ID: found.Session.ID, UserID: found.User.ID, Email: found.User.Email, Name: found.User.Name,
		AuthenticatedAt: found.Session.AuthenticatedAt,
	}, true
}

// SignIn sends the browser to the sign-in page, which comes back to returnTo if that is a path of ours.
func (a *App) SignIn(w http.ResponseWriter, _ *http.Request, returnTo string) {
	a.seeOther(w, signInURL(returnTo))
}

// Consent asks the user whether a client may do what it asks for.
func (a *App) Consent(w http.ResponseWriter, r *http.Request, p oauth.ConsentPage) {
	// Browsers hold every redirect after a form to form-action as well, not only the form's own target.
	w.Header().Set("Content-Security-Policy", pagePolicy(formTargets(p.RedirectTo)))
	a.render(w, r, http.StatusOK, "consent", struct {
		oauth.ConsentPage
		Title string
	}{p, "Allow access"})
}

// Fail says what is wrong with a request that must not be sent anywhere.
func (a *App) Fail(w http.ResponseWriter, r *http.Request, p oauth.FailPage) {
	status := p.Status
	if status < 400 || status > 599 {
		status = http.StatusBadRequest
	}
	a.fail(w, r, status, p.Title, p.Detail)
}

// formTargets returns what form-action must allow beside 'self' so that the answer to a consent form reaches the client
// at redirectTo. Where that is a site or a program that sends the browser on to a site, as many do when they are done,
// all of https is needed: the policy goes with the browser over every redirect, and nobody knows the next ones. The
// page has no markup from outside whose forms could make use of that.
func formTargets(redirectTo string) string {
	u, err := url.Parse(redirectTo)
	if err != nil || !isScheme(u.Scheme) {
		return ""
	}
	switch {
	case u.Scheme == "https":
		return " https:"
	case u.Scheme != "http":
		return " " + u.Scheme + ":"
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() {
		return " http: https:" // a policy has no way to write such an address (CSP 3, 2.3.1)
	}
	if strings.Trim(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") != "" || host == "" {
		return "" // it would end the directive
	}
	if port := u.Port(); port != "" {
		host += ":" + port
	}
	return " http://" + host + " https:"
}

// isScheme reports whether s is a scheme as RFC 3986 has it, and so safe to write into a header.
func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != ""
}
