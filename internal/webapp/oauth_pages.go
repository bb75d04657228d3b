package webapp

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"carrel/internal/oauth"
)

var _ oauth.Pages = (*App)(nil)

// Session returns the session of the request's cookie. It is looked up on every call.
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

// SignIn redirects to the sign-in page, which redirects back to returnTo if that is a local path.
func (a *App) SignIn(w http.ResponseWriter, _ *http.Request, returnTo string) {
	a.seeOther(w, signInURL(returnTo))
}

// Consent asks the user whether to allow an OAuth client.
func (a *App) Consent(w http.ResponseWriter, r *http.Request, p oauth.ConsentPage) {
	// Browsers apply form-action to every redirect after the form, not only to its own target.
	w.Header().Set("Content-Security-Policy", pagePolicy(formTargets(p.RedirectTo)))
	a.render(w, r, http.StatusOK, "consent", p)
}

// Fail shows why an authorization request can't continue. It never redirects.
func (a *App) Fail(w http.ResponseWriter, r *http.Request, p oauth.FailPage) {
	status := p.Status
	if status < 400 || status > 599 {
		status = http.StatusBadRequest
	}
	t, name := textsFor(r), "fail."+string(p.Failure)
	a.showFailure(w, r, status, failPage{Title: t.text(name), Text: t.text(name + "_text"), Detail: p.Detail})
}

// formTargets returns the form-action sources that let the response to a consent form reach redirectTo. Clients often
// redirect on to a site of their own, and the policy applies to every redirect of the chain, so all of https is
// allowed. The page contains no foreign markup whose forms could use that.
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
		return " http: https:" // a policy can't express an IPv6 address (CSP 3, 2.3.1)
	}
	if strings.Trim(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") != "" || host == "" {
		return "" // other characters could end the directive
	}
	if port := u.Port(); port != "" {
		host += ":" + port
	}
	return " http://" + host + " https:"
}

// isScheme reports whether s is a URI scheme (RFC 3986, 3.1), which is safe to write into a header.
func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != ""
}
