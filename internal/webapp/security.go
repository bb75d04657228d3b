package webapp

import (
	"net/http"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
)

// securityPage is where people see and change how they sign in.
type securityPage struct {
	Title string
	Email string
	// HasPassword is whether there is one to change.
	HasPassword   bool
	PasswordError string
	// Saved is what has just been done.
	Saved string
	// PasskeysHere is whether browsers offer passkeys at this address.
	PasskeysHere bool
	Passkeys     []passkey.Passkey
	Factor       signin.FactorStatus
}

// showSecurity shows the page to whoever has proved lately that it is them, so that what is done on it does not end in
// another question.
func (a *App) showSecurity(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	if !actorOf(found).RecentlyProved(a.Clock.Now()) {
		a.seeOther(w, stepUpURL(SecurityPath))
		return
	}
	a.showSecurityWith(w, r, found, http.StatusOK, securityPage{})
}

func (a *App) showSecurityWith(w http.ResponseWriter, r *http.Request, found credential.FoundSession, status int, p securityPage) {
	actor := actorOf(found)
	means, err := a.Auth.Proofs.Means(r.Context(), actor)
	if err == nil {
		p.Passkeys, err = a.Passkeys.List(r.Context(), actor)
	}
	if err == nil {
		p.Factor, err = a.Auth.Factors.Status(r.Context(), actor)
	}
	if err != nil {
		a.trouble(w, r, err)
		return
	}
	p.Title, p.Email, p.HasPassword, p.PasskeysHere = "Signing in", found.User.Email, means.Password, a.Passkeys.Available()
	a.show(w, r, status, "security", p)
}

// did answers to a change: back to the page, to the proof if the last one is too old, or what was wrong.
func (a *App) did(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case err == nil:
		a.seeOther(w, SecurityPath)
	case core.AsError(err).Code == "step_up_required":
		a.seeOther(w, stepUpURL(SecurityPath))
	default:
		a.notNow(w, r, err)
	}
}

func (a *App) changePassword(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	err := a.Auth.Passwords.Change(r.Context(), actorOf(found), r.PostForm.Get("password"))
	switch {
	case core.IsKind(err, core.KindInvalid):
		a.showSecurityWith(w, r, found, http.StatusUnprocessableEntity, securityPage{PasswordError: core.AsError(err).Fields[0].Detail})
		return
	case err != nil:
		a.did(w, r, err)
		return
	}
	a.showSecurityWith(w, r, found, http.StatusOK, securityPage{Saved: "Your password is changed. You are signed out everywhere else."})
}

func (a *App) beginNewPasskey(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	c, err := a.Passkeys.BeginEnrol(r.Context(), actorOf(found))
	if err != nil {
		a.did(w, r, err)
		return
	}
	a.showCeremony(w, r, c, ceremonyPage{
		Title: "Add a passkey", Lead: "It is kept on this device, on a security key or in your password manager.", Button: "Make the passkey",
		Action: SecurityPath + "/passkeys/finish", Kind: "create", Name: true, Back: SecurityPath, BackText: "Go back",
	})
}

func (a *App) addPasskey(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	token, _ := a.pending.read(r)
	a.pending.clear(w)
	_, err := a.Passkeys.FinishEnrol(r.Context(), actorOf(found), token, r.PostForm.Get("name"), []byte(r.PostForm.Get("answer")))
	a.did(w, r, err)
}

func (a *App) removePasskey(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	a.did(w, r, a.Passkeys.Remove(r.Context(), actorOf(found), r.PostForm.Get("id")))
}
