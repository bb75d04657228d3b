package webapp

import (
	"errors"
	"net/http"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/signin"
	"carrel/internal/signin/upstream"
)

// connectPath is the page that asks for an account's password before an upstream identity is linked to it.
const connectPath = SignInPath + "/connect"

// pendingLink is the stored state of an upstream sign-in whose address matches an account, but only because the
// account's user chose that address. Without a password anyone could claim another person's address and wait for their
// sign-in.
type pendingLink struct {
	Email    string            `json:"email"`
	Identity upstream.Identity `json:"identity"`
	ReturnTo string            `json:"returnTo"`
}

// connectPage is the content of the password form before linking.
type connectPage struct {
	Email, Provider      string
	Error, PasswordError string
}

// beginConnect stores the upstream identity and redirects to the password form.
func (a *App) beginConnect(w http.ResponseWriter, r *http.Request, arrival upstream.Arrival) {
	token, err := a.Auth.Pending.Begin(r.Context(), signin.PendingLink, arrival.User.ID, "",
		pendingLink{arrival.User.Email, arrival.Unlinked, arrival.ReturnTo})
	if err != nil {
		a.serverError(w, r, err)
		return
	}
	a.pending.write(w, token)
	a.seeOther(w, connectPath)
}

func (a *App) showConnect(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if _, link, ok := a.pendingLink(w, r); ok {
		a.showConnectForm(w, r, http.StatusOK, connectPage{Email: link.Email})
	}
}

func (a *App) showConnectForm(w http.ResponseWriter, r *http.Request, status int, p connectPage) {
	p.Provider = a.providerName()
	a.show(w, r, status, "connect", p)
}

// pendingLink returns the link that this browser has begun. Without one it redirects to the sign-in page.
func (a *App) pendingLink(w http.ResponseWriter, r *http.Request) (signin.Pending, pendingLink, bool) {
	var link pendingLink
	if a.Upstream == nil {
		http.NotFound(w, r)
		return signin.Pending{}, link, false
	}
	token, _ := a.pending.read(r)
	pending, err := a.Auth.Pending.Get(r.Context(), signin.PendingLink, token, &link)
	if err != nil {
		a.restart(w, r, err, SignInPath)
	}
	return pending, link, err == nil
}

// connect checks the account's password, with the rate limits of a password sign-in. The identity is linked only after
// the second factor, if that is set up.
func (a *App) connect(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if !parseForm(w, r) {
		a.malformedForm(w, r)
		return
	}
	pending, link, ok := a.pendingLink(w, r)
	if !ok {
		return
	}
	t := textsFor(r)
	p, password := connectPage{Email: link.Email}, r.PostForm.Get("password")
	if password == "" {
		p.PasswordError = t.text("enter_password")
		a.showConnectForm(w, r, http.StatusUnprocessableEntity, p)
		return
	}
	user, err := a.checkPassword(r, link.Email, password)
	switch {
	case isRateLimited(err):
		p.Error = retryAfter(w, r, err)
		a.showConnectForm(w, r, http.StatusTooManyRequests, p)
		return
	case errors.Is(err, signin.ErrSignIn),
		err == nil && user.ID != pending.UserID: // another account has the address now
		p.PasswordError = t.text("wrong_password")
		a.showConnectForm(w, r, http.StatusUnprocessableEntity, p)
		return
	case err != nil:
		a.serverError(w, r, err)
		return
	}
	token, _ := a.pending.read(r)
	a.pending.clear(w)
	if _, err := a.Auth.Pending.Take(r.Context(), signin.PendingLink, token, nil); err != nil {
		a.restart(w, r, err, SignInPath)
		return
	}
	a.passFirstFactor(w, r, user, partialSignIn{
		With: withPassword + " and " + withUpstream, ReturnTo: link.ReturnTo, Link: &link.Identity,
	})
}

// checkPassword counts an attempt and returns the user with this address and password. A wrong password is
// signin.ErrSignIn and is audited.
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
