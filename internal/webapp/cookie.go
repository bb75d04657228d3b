package webapp

import (
	"net/http"
	"net/url"
	"time"

	"carrel/internal/credential"
	"carrel/internal/signin"
)

// cookie describes a cookie that holds a secret.
type cookie struct {
	name   string
	secure bool
	life   time.Duration
}

// newSessionCookie returns the session cookie. The API reads it as well.
func newSessionCookie(base *url.URL) cookie {
	secure := base.Scheme == "https"
	return cookie{name: credential.SessionCookie(secure), secure: secure, life: credential.SessionLife}
}

// newPendingCookie returns the cookie of an unfinished sign-in, which binds it to the browser that began it.
func newPendingCookie(base *url.URL) cookie {
	c := newSessionCookie(base)
	c.name, c.life = c.name+"-pending", signin.PendingLife
	return c
}

// newBrowserCookie returns the cookie of a known browser, in which a user has signed in before. It survives signing
// out.
func newBrowserCookie(base *url.URL) cookie {
	c := newSessionCookie(base)
	c.name, c.life = c.name+"-browser", signin.BrowserLife
	return c
}

// read returns the secret of a request. If the request has two cookies of this name, another host of the domain may
// have planted one, and both are ignored.
func (c cookie) read(r *http.Request) (string, bool) {
	sent := r.CookiesNamed(c.name)
	if len(sent) != 1 || sent[0].Value == "" {
		return "", false
	}
	return sent[0].Value, true
}

func (c cookie) write(w http.ResponseWriter, token string) {
	http.SetCookie(w, c.with(token, int(c.life.Seconds())))
}

func (c cookie) clear(w http.ResponseWriter) {
	http.SetCookie(w, c.with("", -1))
}

// with returns the cookie with a value. It is SameSite=Lax, not Strict, so that a link in an e-mail finds its reader
// signed in; no GET request changes anything.
func (c cookie) with(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: c.name, Value: value, Path: "/", MaxAge: maxAge,
		Secure: c.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}
