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

// returnField is the query parameter and the hidden field with the local path to return to.
const returnField = "return"

// withPassword is the sign-in method "password" in the audit log.
const withPassword = "password"

// signInPage is the content of the sign-in form.
type signInPage struct {
	// Email is the submitted address.
	Email    string
	ReturnTo string
	// As is the address of the signed-in account; empty if there is none.
	As string
	// Passkeys is whether this installation supports passkeys.
	Passkeys bool
	// Provider is the name of the upstream provider; empty if there is none.
	Provider string
	// Error is about the whole form, the others about one field.
	Error, EmailError, PasswordError string
}

// openerPolicy is the Cross-Origin-Opener-Policy of the sign-in pages. An OAuth client may open them in a pop-up; the
// stricter policy of other pages would cut the pop-up off from the client.
const openerPolicy = "unsafe-none"

func (a *App) showSignIn(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	some, err := a.hasAccounts(r.Context())
	switch {
	case err != nil:
		a.serverError(w, r, err)
		return
	case !some:
		a.seeOther(w, SetupPath)
		return
	}
	p := signInPage{ReturnTo: localPath(r.URL.Query().Get(returnField))}
	// A signed-in user sees the form too: an OAuth client may require a new sign-in.
	if found, ok := a.signedIn(r); ok {
		p.As, p.Email = found.User.Email, found.User.Email
	}
	a.showSignInForm(w, r, http.StatusOK, p)
}

func (a *App) showSignInForm(w http.ResponseWriter, r *http.Request, status int, p signInPage) {
	p.Passkeys, p.Provider = a.Passkeys.Available(), a.providerName()
	a.show(w, r, status, "signin", p)
}

func (a *App) signIn(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if !parseForm(w, r) {
		a.malformedForm(w, r)
		return
	}
	t := textsFor(r)
	p := signInPage{Email: r.PostForm.Get("email"), ReturnTo: localPath(r.PostForm.Get(returnField))}
	password := r.PostForm.Get("password")
	if p.Email == "" {
		p.EmailError = t.text("enter_email")
	}
	if password == "" {
		p.PasswordError = t.text("enter_password")
	}
	if p.EmailError+p.PasswordError != "" {
		a.showSignInForm(w, r, http.StatusUnprocessableEntity, p)
		return
	}
	user, err := a.checkPassword(r, p.Email, password)
	switch {
	case isRateLimited(err):
		p.Error = retryAfter(w, r, err)
		a.showSignInForm(w, r, http.StatusTooManyRequests, p)
	case errors.Is(err, signin.ErrSignIn):
		p.Error = t.text("signin.failed")
		a.showSignInForm(w, r, http.StatusUnprocessableEntity, p)
	case err != nil:
		a.serverError(w, r, err)
	default:
		a.passFirstFactor(w, r, user, partialSignIn{With: withPassword, ReturnTo: p.ReturnTo})
	}
}

// guess describes an attempt on an account for the rate limits.
func (a *App) guess(r *http.Request, email string) signin.Guess {
	token, _ := a.browser.read(r)
	return signin.Guess{From: a.opts.Address(r.Context()), Email: email, Browser: token}
}

func isRateLimited(err error) bool { return core.IsKind(err, core.KindRateLimited) }

// allowNetwork counts an attempt that concerns no particular account against the network's rate limit. If it fails, the
// response is written: by tooMany with the message for the user, or as an internal error.
func (a *App) allowNetwork(w http.ResponseWriter, r *http.Request, tooMany func(message string)) bool {
	err := a.Auth.Limits.FromNetwork(r.Context(), a.opts.Address(r.Context()))
	if err != nil {
		a.limitError(w, r, err, tooMany)
	}
	return err == nil
}

// limitError responds to an error of the rate limits as described at allowNetwork.
func (a *App) limitError(w http.ResponseWriter, r *http.Request, err error, tooMany func(message string)) {
	if !isRateLimited(err) {
		a.serverError(w, r, err)
		return
	}
	tooMany(retryAfter(w, r, err))
}

// startSession signs the user in and redirects to returnTo. It always creates a new session and ends the browser's
// previous one, which prevents session fixation.
func (a *App) startSession(w http.ResponseWriter, r *http.Request, userID string, event audit.Record, returnTo string) {
	ctx := r.Context()
	session, token, err := a.Sessions.Begin(ctx, userID, a.address(ctx), r.UserAgent())
	if err != nil {
		a.serverError(w, r, err)
		return
	}
	old, _ := a.browser.read(r)
	known, err := a.Auth.Browsers.Remember(ctx, userID, old)
	if err != nil {
		a.serverError(w, r, err)
		return
	}
	if previous, ok := a.signedIn(r); ok {
		if err := a.Sessions.End(ctx, previous.User.ID, previous.Session.ID); err != nil {
			a.serverError(w, r, err)
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
			a.serverError(w, r, err)
			return
		}
		a.Audit.Note(r.Context(), audit.Record{
			Event: audit.SignedOut, UserID: found.User.ID, Detail: map[string]string{"session": found.Session.ID},
		})
	}
	a.cookie.clear(w)
	a.seeOther(w, "/")
}

func (a *App) malformedForm(w http.ResponseWriter, r *http.Request) {
	a.fail(w, r, http.StatusBadRequest, "malformed_form")
}

// seeOther redirects to a local path with status 303, so that reloading the next page does not send the form again.
func (a *App) seeOther(w http.ResponseWriter, local string) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Location", a.prefix+local)
	w.WriteHeader(http.StatusSeeOther)
}

// retryAfter sets the Retry-After header for a rate limit error and returns the message for the user.
func retryAfter(w http.ResponseWriter, r *http.Request, err error) string {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(core.AsError(err).RetryAfter.Seconds()))))
	return textsFor(r).problem(err)
}

// signInURL returns the URL of the sign-in page that returns to a local path.
func signInURL(returnTo string) string {
	to := localPath(returnTo)
	if to == "/" {
		return SignInPath
	}
	return SignInPath + "?" + url.Values{returnField: {to}}.Encode()
}
