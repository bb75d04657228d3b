package webapp

import (
	"net/http"
	"net/url"
	"time"

	"carrel/internal/credential"
	"carrel/internal/signin"
)

// cookie is how a secret travels: that of a session, or of something that is pending.
type cookie struct {
	name   string
	secure bool
	life   time.Duration
}

// newCookie returns the cookie of an installation. The API reads it too.
func newCookie(base *url.URL) cookie {
	secure := base.Scheme == "https"
	return cookie{name: credential.SessionCookie(secure), secure: secure, life: credential.SessionLife}
}

// newPendingCookie returns the cookie of what somebody has begun and not finished. It binds that to the browser it was
// begun in.
func newPendingCookie(base *url.URL) cookie {
	c := newCookie(base)
	c.name, c.life = c.name+"-pending", signin.PendingLife
	return c
}

// newBrowserCookie returns the cookie by which a browser is known in which somebody has signed in. It stays when they
// sign out.
func newBrowserCookie(base *url.URL) cookie {
	c := newCookie(base)
	c.name, c.life = c.name+"-browser", signin.BrowserLife
	return c
}

// read returns the secret that a request carries. Two cookies of the name mean that somebody planted one; neither is
// believed.
func (c cookie) read(r *http.Request) (string, bool) {
	sent := r.CookiesNamed(c.name)
	if len(sent) != 1 || sent[0].Value == "" {
		return "", false
	}
	return sent[0].Value, true
}

// write gives the browser a secret to keep.
func (c cookie) write(w http.ResponseWriter, token string) {
	http.SetCookie(w, c.with(token, int(c.life.Seconds())))
}

// clear makes the browser forget it.
func (c cookie) clear(w http.ResponseWriter) {
	http.SetCookie(w, c.with("", -1))
}

// with is Lax, not Strict: a link from a mail to a page of ours should find its reader signed in, and no GET of ours
// changes anything.
func (c cookie) with(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: c.name, Value: value, Path: "/", MaxAge: maxAge,
		Secure: c.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}
