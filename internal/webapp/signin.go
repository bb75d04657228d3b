package webapp

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
)

// returnField is the parameter and the hidden field with the address to come back to.
const returnField = "return"

// withPassword is what the audit log calls signing in with a password.
const withPassword = "password"

// signInPage is what the sign-in form shows.
type signInPage struct {
	Title string
	// Email is what was typed before.
	Email    string
	ReturnTo string
	// As is the address of the account that is signed in already, if one is.
	As string
	// Passkeys is whether one can sign in with a passkey here.
	Passkeys bool
	// Upstream is the name of another provider to sign in with, if there is one.
	Upstream string
	// Error is about the whole form, the others about one field.
	Error, EmailError, PasswordError string
}

// openerPolicy is that of signing in, which may happen in the pop-up of a client that asks for authorization: with the
// policy of other pages the client would not hear of its end.
const openerPolicy = "unsafe-none"

func (a *App) showSignIn(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	some, err := a.hasAccounts(r.Context())
	switch {
	case err != nil:
		a.trouble(w, r, err)
		return
	case !some:
		a.seeOther(w, SetupPath)
		return
	}
	p := signInPage{ReturnTo: localPath(r.URL.Query().Get(returnField))}
	// The form is shown to somebody who is signed in as well: they may have been sent here to prove themselves again.
	if found, ok := a.signedIn(r); ok {
		p.As, p.Email = found.User.Email, found.User.Email
	}
	a.showSignInForm(w, r, http.StatusOK, p)
}

func (a *App) showSignInForm(w http.ResponseWriter, r *http.Request, status int, p signInPage) {
	p.Title, p.Passkeys, p.Upstream = "Sign in", a.Passkeys.Available(), a.upstreamName()
	a.show(w, r, status, "signin", p)
}

func (a *App) signIn(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if !form(w, r) {
		a.badForm(w, r)
		return
	}
	p := signInPage{Email: r.PostForm.Get("email"), ReturnTo: localPath(r.PostForm.Get(returnField))}
	password := r.PostForm.Get("password")
	if p.Email == "" {
		p.EmailError = "Type your e-mail address."
	}
	if password == "" {
		p.PasswordError = "Type your password."
	}
	if p.EmailError+p.PasswordError != "" {
		a.showSignInForm(w, r, http.StatusUnprocessableEntity, p)
		return
	}
	user, err := a.checkPassword(r, p.Email, password)
	switch {
	case isLimited(err):
		p.Error = retryAfter(w, err)
		a.showSignInForm(w, r, http.StatusTooManyRequests, p)
	case errors.Is(err, signin.ErrSignIn):
		p.Error = signin.ErrSignIn.Detail
		a.showSignInForm(w, r, http.StatusUnprocessableEntity, p)
	case err != nil:
		a.trouble(w, r, err)
	default:
		a.admit(w, r, user, halfway{With: withPassword, ReturnTo: p.ReturnTo})
	}
}

// guess is an attempt on an account as the limits count it.
func (a *App) guess(r *http.Request, email string) signin.Guess {
	token, _ := a.browser.read(r)
	return signin.Guess{From: a.opts.Address(r.Context()), Email: email, Browser: token}
}

// isLimited reports whether an attempt was one too many.
func isLimited(err error) bool { return core.IsKind(err, core.KindRateLimited) }

// fromNetwork counts an attempt that is on no account in particular. One too many is answered by show, which gets the
// sentence for it, and anything else that goes wrong by the page for that.
func (a *App) fromNetwork(w http.ResponseWriter, r *http.Request, show func(detail string)) bool {
	err := a.Auth.Limits.FromNetwork(r.Context(), a.opts.Address(r.Context()))
	if err != nil {
		a.limited(w, r, err, show)
	}
	return err == nil
}

// limited answers to an error of the limits.
func (a *App) limited(w http.ResponseWriter, r *http.Request, err error, show func(detail string)) {
	if !isLimited(err) {
		a.trouble(w, r, err)
		return
	}
	show(retryAfter(w, err))
}

// begin starts a session and goes on to returnTo. The session is a new one, and the one that the browser had ends.
func (a *App) begin(w http.ResponseWriter, r *http.Request, userID string, event audit.Record, returnTo string) {
	ctx := r.Context()
	session, token, err := a.Sessions.Begin(ctx, userID, a.address(ctx), r.UserAgent())
	if err != nil {
		a.trouble(w, r, err)
		return
	}
	old, _ := a.browser.read(r)
	known, err := a.Auth.Browsers.Remember(ctx, userID, old)
	if err != nil {
		a.trouble(w, r, err)
		return
	}
	if before, ok := a.signedIn(r); ok {
		if err := a.Sessions.End(ctx, before.User.ID, before.Session.ID); err != nil {
			a.trouble(w, r, err)
			return
		}
	}
	event.UserID = userID
	if event.Detail == nil {
		event.Detail = map[string]string{}
	}
	event.Detail["session"] = session.ID
	a.Audit.Note(ctx, event)
	a.browser.write(w, known)
	a.cookie.write(w, token)
	a.seeOther(w, returnTo)
}

func (a *App) signOut(w http.ResponseWriter, r *http.Request) {
	if found, ok := a.signedIn(r); ok {
		err := a.Sessions.End(r.Context(), found.User.ID, found.Session.ID)
		if err != nil && !core.IsKind(err, core.KindNotFound) {
			a.trouble(w, r, err)
			return
		}
		a.Audit.Note(r.Context(), audit.Record{
			Event: audit.SignedOut, UserID: found.User.ID, Detail: map[string]string{"session": found.Session.ID},
		})
	}
	a.cookie.clear(w)
	a.seeOther(w, "/")
}

func (a *App) badForm(w http.ResponseWriter, r *http.Request) {
	a.fail(w, r, http.StatusBadRequest, "The form did not arrive whole", "Go back and send it again.")
}

// seeOther goes on to a path of our own. The browser asks for it with GET, so that reloading sends no form again.
func (a *App) seeOther(w http.ResponseWriter, local string) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Location", a.prefix+local)
	w.WriteHeader(http.StatusSeeOther)
}

// retryAfter tells the browser how long to wait after one attempt too many, and returns the sentence for people.
func retryAfter(w http.ResponseWriter, err error) string {
	e := core.AsError(err)
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	return e.Detail
}

// signInURL is the sign-in page that comes back to a local path.
func signInURL(returnTo string) string {
	to := localPath(returnTo)
	if to == "/" {
		return SignInPath
	}
	return SignInPath + "?" + url.Values{returnField: {to}}.Encode()
}
