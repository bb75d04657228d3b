package webapp

import (
	"errors"
	"net/http"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
)

// forgotPage is the content of the page for users who forgot their password.
type forgotPage struct{}

// resetPage is the content of the form for a new password.
type resetPage struct {
	Error, CodeError, PasswordError string
	// Done is whether the password was changed.
	Done bool
}

func (a *App) showReset(w http.ResponseWriter, r *http.Request) {
	a.showWithScript(w, r, http.StatusOK, "reset", resetPage{})
}

// showForgot tells what to do about a forgotten password.
func (a *App) showForgot(w http.ResponseWriter, r *http.Request) {
	a.show(w, r, http.StatusOK, "forgot", forgotPage{})
}

// reset sets a new password with a reset code. The code is a form field: a link has it behind the #, which is in no log,
// and a script moves it from there into the field.
func (a *App) reset(w http.ResponseWriter, r *http.Request) {
	if !parseForm(w, r) {
		a.malformedForm(w, r)
		return
	}
	if !a.allowNetwork(w, r, func(message string) {
		a.showWithScript(w, r, http.StatusTooManyRequests, "reset", resetPage{Error: message})
	}) {
		return
	}
	t := textsFor(r)
	_, err := a.Auth.Resets.Redeem(r.Context(), r.PostForm.Get("code"), r.PostForm.Get("password"))
	switch {
	case err == nil:
		// The user signs in next, so that the second factor is checked and the browser offers to save the password.
		a.showWithScript(w, r, http.StatusOK, "reset", resetPage{Done: true})
	case errors.Is(err, signin.ErrReset):
		a.Audit.Note(r.Context(), audit.Record{
			Event: audit.ResetFailed, Detail: map[string]string{"reason": "wrong code"},
		})
		a.showWithScript(w, r, http.StatusUnprocessableEntity, "reset", resetPage{CodeError: t.text("reset.wrong_code")})
	case core.IsKind(err, core.KindInvalid):
		a.showWithScript(w, r, http.StatusUnprocessableEntity, "reset", resetPage{PasswordError: t.firstField(err)})
	default:
		a.serverError(w, r, err)
	}
}
