package webapp

import (
	"errors"
	"net/http"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/signin"
	"carrel/internal/signin/upstream"
)

// connectPath is the page that asks for the password of an account before another provider opens it.
const connectPath = SignInPath + "/connect"

// connecting is what is kept of somebody who comes from another provider with the address of an account that nobody
// vouches for.
type connecting struct {
	Email    string            `json:"email"`
	Identity upstream.Identity `json:"identity"`
	ReturnTo string            `json:"returnTo"`
}

// connectPage is what the form for that password shows.
type connectPage struct {
	Title                string
	Email, Name          string
	Error, PasswordError string
}

// beginConnect has somebody prove the password of the account that has their address.
func (a *App) beginConnect(w http.ResponseWriter, r *http.Request, arrival upstream.Arrival) {
	token, err := a.Auth.Pending.Begin(r.Context(), signin.PendingLink, arrival.User.ID, "",
		connecting{arrival.User.Email, arrival.Unlinked, arrival.ReturnTo})
	if err != nil {
		a.trouble(w, r, err)
		return
	}
	a.pending.write(w, token)
	a.seeOther(w, connectPath)
}

func (a *App) showConnect(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if _, c, ok := a.connecting(w, r); ok {
		a.showConnectForm(w, r, http.StatusOK, connectPage{Email: c.Email})
	}
}

func (a *App) showConnectForm(w http.ResponseWriter, r *http.Request, status int, p connectPage) {
	p.Title, p.Name = "Connect your account", a.upstreamName()
	a.show(w, r, status, "connect", p)
}

// connecting returns what this browser has begun at the provider; other browsers are sent to begin again.
func (a *App) connecting(w http.ResponseWriter, r *http.Request) (signin.Pending, connecting, bool) {
	var c connecting
	if a.Upstream == nil {
		http.NotFound(w, r)
		return signin.Pending{}, c, false
	}
	token, _ := a.pending.read(r)
	pending, err := a.Auth.Pending.Get(r.Context(), signin.PendingLink, token, &c)
	if err != nil {
		a.again(w, r, err, SignInPath)
	}
	return pending, c, err == nil
}

// connect takes the password of the account. It is limited like every sign-in with a password, and the second factor is
// asked for as well; the provider is connected only after both.
func (a *App) connect(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if !form(w, r) {
		a.badForm(w, r)
		return
	}
	pending, c, ok := a.connecting(w, r)
	if !ok {
		return
	}
	p, password := connectPage{Email: c.Email}, r.PostForm.Get("password")
	if password == "" {
		p.PasswordError = "Type the password."
		a.showConnectForm(w, r, http.StatusUnprocessableEntity, p)
		return
	}
	user, err := a.checkPassword(r, c.Email, password)
	switch {
	case isLimited(err):
		p.Error = retryAfter(w, err)
		a.showConnectForm(w, r, http.StatusTooManyRequests, p)
		return
	case errors.Is(err, signin.ErrSignIn), err == nil && user.ID != pending.UserID: // the address has moved on meanwhile
		p.PasswordError = "The password is not right."
		a.showConnectForm(w, r, http.StatusUnprocessableEntity, p)
		return
	case err != nil:
		a.trouble(w, r, err)
		return
	}
	token, _ := a.pending.read(r)
	a.pending.clear(w)
	if _, err := a.Auth.Pending.Take(r.Context(), signin.PendingLink, token, nil); err != nil {
		a.again(w, r, err, SignInPath)
		return
	}
	a.admit(w, r, user, halfway{With: withPassword + " and " + withUpstream, ReturnTo: c.ReturnTo, Link: &c.Identity})
}

// checkPassword counts an attempt and returns the user with this address and password. One attempt too many is an error
// of the limits; a failure is signin.ErrSignIn and stands in the audit log.
func (a *App) checkPassword(r *http.Request, email, password string) (account.User, error) {
	counted, err := a.Auth.Limits.Attempt(r.Context(), a.guess(r, email))
	if err != nil {
		return account.User{}, err
	}
	user, refused, err := a.Auth.Passwords.Verify(r.Context(), email, password)
	if errors.Is(err, signin.ErrSignIn) {
		a.Audit.Note(r.Context(), audit.Record{
			Event: audit.SignInFailed, UserID: refused.User.ID, Detail: map[string]string{"reason": refused.Reason},
		})
	}
	if err != nil {
		return account.User{}, err
	}
	return user, a.Auth.Limits.Forgive(r.Context(), counted)
}
