package webapp

import (
	"errors"
	"net/http"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
)

// resetPage is what the form for a new password shows.
type resetPage struct {
	Title                           string
	Error, CodeError, PasswordError string
	// Done is whether the password was changed.
	Done bool
}

func (a *App) showReset(w http.ResponseWriter, r *http.Request) {
	a.showResetForm(w, r, http.StatusOK, resetPage{})
}

func (a *App) showResetForm(w http.ResponseWriter, r *http.Request, status int, p resetPage) {
	p.Title = "Choose a new password"
	a.show(w, r, status, "reset", p)
}

// reset takes the code as it was told, typed into a form: nothing that is worth having is in an address.
func (a *App) reset(w http.ResponseWriter, r *http.Request) {
	if !form(w, r) {
		a.badForm(w, r)
		return
	}
	if !a.fromNetwork(w, r, func(detail string) { a.showResetForm(w, r, http.StatusTooManyRequests, resetPage{Error: detail}) }) {
		return
	}
	_, err := a.Auth.Resets.Redeem(r.Context(), r.PostForm.Get("code"), r.PostForm.Get("password"))
	switch {
	case err == nil:
		// They sign in with it, so that a second factor is asked for and the browser learns the password.
		a.showResetForm(w, r, http.StatusOK, resetPage{Done: true})
	case errors.Is(err, signin.ErrReset):
		a.Audit.Note(r.Context(), audit.Record{Event: audit.ResetFailed, Detail: map[string]string{"reason": "wrong code"}})
		a.showResetForm(w, r, http.StatusUnprocessableEntity, resetPage{CodeError: signin.ErrReset.Detail})
	case core.IsKind(err, core.KindInvalid):
		a.showResetForm(w, r, http.StatusUnprocessableEntity, resetPage{PasswordError: core.AsError(err).Fields[0].Detail})
	default:
		a.trouble(w, r, err)
	}
}
