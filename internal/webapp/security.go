package webapp

import (
	"net/http"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
)

// securityPage is the content of the page with the sign-in settings.
type securityPage struct {
	Email         string
	HasPassword   bool
	PasswordError string
	// PasswordSaved is whether the password has just been changed.
	PasswordSaved bool
	// PasskeysAvailable is whether browsers support passkeys at this installation's address.
	PasskeysAvailable bool
	Passkeys          []passkey.Passkey
	Factor            signin.FactorStatus
}

// showSecurity shows the settings after a recent proof of identity, so that the changes on the page need no further
// one.
func (a *App) showSecurity(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	if !actorOf(found).RecentlyProved(a.Clock.Now()) {
		a.seeOther(w, stepUpURL(SecurityPath))
		return
	}
	a.showSecurityPage(w, r, found, http.StatusOK, securityPage{})
}

func (a *App) showSecurityPage(
	w http.ResponseWriter, r *http.Request, found credential.FoundSession, status int, p securityPage,
) {
	actor := actorOf(found)
	means, err := a.Auth.Proofs.Means(r.Context(), actor)
	if err == nil {
		p.Passkeys, err = a.Passkeys.List(r.Context(), actor)
	}
	if err == nil {
		p.Factor, err = a.Auth.Factors.Status(r.Context(), actor)
	}
	if err != nil {
		a.serverError(w, r, err)
		return
	}
	p.Email, p.HasPassword, p.PasskeysAvailable = found.User.Email, means.Password, a.Passkeys.Available()
	a.show(w, r, status, "security", p)
}

// respondToChange redirects to the settings after a change, or to the step-up page if the last proof of identity is too
// old, or shows the refusal.
func (a *App) respondToChange(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case err == nil:
		a.seeOther(w, SecurityPath)
	case core.AsError(err).Code == "step_up_required":
		a.seeOther(w, stepUpURL(SecurityPath))
	default:
		a.refuse(w, r, err)
	}
}

func (a *App) changePassword(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	err := a.Auth.Passwords.Change(r.Context(), actorOf(found), r.PostForm.Get("password"))
	switch {
	case core.IsKind(err, core.KindInvalid):
		a.showSecurityPage(w, r, found, http.StatusUnprocessableEntity,
			securityPage{PasswordError: textsFor(r).firstField(err)})
	case err != nil:
		a.respondToChange(w, r, err)
	default:
		a.showSecurityPage(w, r, found, http.StatusOK, securityPage{PasswordSaved: true})
	}
}

func (a *App) beginNewPasskey(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	c, err := a.Passkeys.BeginEnrol(r.Context(), actorOf(found))
	if err != nil {
		a.respondToChange(w, r, err)
		return
	}
	t := textsFor(r)
	a.showCeremony(w, r, c, ceremonyPage{
		Title: t.text("security.add_passkey"), Text: t.text("passkey.add_text"), Button: t.text("passkey.create"),
		Action: SecurityPath + "/passkeys/finish", Kind: "create", AskName: true, Back: SecurityPath,
		BackText: t.text("back"),
	})
}

func (a *App) addPasskey(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	token, _ := a.pending.read(r)
	a.pending.clear(w)
	_, err := a.Passkeys.FinishEnrol(r.Context(), actorOf(found), token, r.PostForm.Get("name"),
		[]byte(r.PostForm.Get("answer")))
	a.respondToChange(w, r, err)
}

func (a *App) removePasskey(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	a.respondToChange(w, r, a.Passkeys.Remove(r.Context(), actorOf(found), r.PostForm.Get("id")))
}
