package webapp

import (
	"context"
	"errors"
	"net/http"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
)

// joinPage is the content of the form with which an invited person creates an account.
type joinPage struct {
	setupPage
	// Code is the entered code, so that it need not be typed again after a mistake in another field.
	Code string
}

func (a *App) showJoin(w http.ResponseWriter, r *http.Request) {
	a.showWithScript(w, r, http.StatusOK, "join", joinPage{})
}

// join creates the account of an invited person and signs them in.
func (a *App) join(w http.ResponseWriter, r *http.Request) {
	if !parseForm(w, r) {
		a.malformedForm(w, r)
		return
	}
	t := textsFor(r)
	p := joinPage{
		setupPage: setupPage{Email: r.PostForm.Get("email"), Name: r.PostForm.Get("name")}, Code: r.PostForm.Get("code"),
	}
	if !a.allowNetwork(w, r, func(message string) {
		p.Error = message
		a.showWithScript(w, r, http.StatusTooManyRequests, "join", p)
	}) {
		return
	}
	user, err := a.redeemInvitation(r, p)
	switch {
	case err == nil:
		a.startSession(w, r, user.ID, audit.Record{
			Event: audit.SignedIn, Detail: map[string]string{"with": "invitation"},
		}, a.firstPage())
		return
	case errors.Is(err, signin.ErrInvitation):
		a.Audit.Note(r.Context(), audit.Record{
			Event: audit.JoinFailed, Detail: map[string]string{"reason": "wrong code"},
		})
		p.CodeError = t.text("join.wrong_code")
	case core.IsKind(err, core.KindConflict):
		p.EmailError = t.text("join.email_taken")
	case errors.Is(err, errOtherAddress):
		p.EmailError = t.text("join.other_email")
	case core.IsKind(err, core.KindInvalid):
		p.setErrors(t, core.AsError(err))
	default:
		a.serverError(w, r, err)
		return
	}
	a.showWithScript(w, r, http.StatusUnprocessableEntity, "join", p)
}

// errOtherAddress means that the invitation is for another address than the entered one.
var errOtherAddress = errors.New("the invitation is for another address")

// redeemInvitation creates the account. The code is checked before the password is hashed, so that guessing codes stays
// cheap for the server.
func (a *App) redeemInvitation(r *http.Request, p joinPage) (account.User, error) {
	invitation, err := a.Auth.Invitations.Find(r.Context(), p.Code)
	if err != nil {
		return account.User{}, err
	}
	if invitation.Email != "" && invitation.Email != account.NormalEmail(p.Email) {
		return account.User{}, errOtherAddress
	}
	return a.Accounts.CreateInvited(r.Context(), account.NewUser{
		Email: p.Email, Name: p.Name, Password: r.PostForm.Get("password"), Role: invitation.Role, Plan: invitation.Plan,
	}, invitation.Email != "", func(ctx context.Context, u account.User, passwordHash string) error {
		return a.Auth.Invitations.Redeem(ctx, p.Code, invitation, u, passwordHash)
	})
}
