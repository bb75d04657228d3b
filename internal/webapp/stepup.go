package webapp

import (
	"errors"
	"net/http"
	"net/url"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/signin"
)

// stepUpPage is what the form shows with which somebody proves once more who they are.
type stepUpPage struct {
	Title    string
	Email    string
	ReturnTo string
	// Password, Code and Passkey are what the account has.
	Password, Code, Passkey bool
	// Upstream is the name of the provider that can be asked again, if there is one.
	Upstream                        string
	Error, PasswordError, CodeError string
}

// actorOf is the signed-in person as services see them.
func actorOf(found credential.FoundSession) core.Actor {
	u := found.User
	return core.Actor{
		UserID: u.ID, Role: u.Role, Plan: u.Plan, CredentialID: found.Session.ID, Credential: core.CredentialSession,
		Scopes: u.Role.Scopes(), AuthenticatedAt: found.Session.AuthenticatedAt,
	}
}

// own is a page for people who are signed in; others sign in and come back to it.
func (a *App) own(page string, h func(w http.ResponseWriter, r *http.Request, found credential.FoundSession)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		found, ok := a.signedIn(r)
		if !ok {
			back := page
			if r.Method == http.MethodGet {
				back = r.URL.RequestURI()
			}
			a.seeOther(w, signInURL(back))
			return
		}
		if r.Method == http.MethodPost && !form(w, r) {
			a.badForm(w, r)
			return
		}
		h(w, r, found)
	}
}

// stepUpURL is the page of the proof that comes back to a local path.
func stepUpURL(returnTo string) string {
	return StepUpPath + "?" + url.Values{returnField: {localPath(returnTo)}}.Encode()
}

func (a *App) showStepUp(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	a.showStepUpForm(w, r, found, http.StatusOK, stepUpPage{ReturnTo: localPath(r.URL.Query().Get(returnField))})
}

func (a *App) showStepUpForm(w http.ResponseWriter, r *http.Request, found credential.FoundSession, status int, p stepUpPage) {
	means, err := a.Auth.Proofs.Means(r.Context(), actorOf(found))
	if err != nil {
		a.trouble(w, r, err)
		return
	}
	if a.Passkeys.Available() {
		passkeys, err := a.Passkeys.List(r.Context(), actorOf(found))
		if err != nil {
			a.trouble(w, r, err)
			return
		}
		p.Passkey = len(passkeys) > 0
	}
	p.Title, p.Email, p.Password, p.Code, p.Upstream = "Confirm that it is you", found.User.Email, means.Password, means.Code, a.upstreamName()
	a.show(w, r, status, "stepup", p)
}

func (a *App) stepUp(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	p := stepUpPage{ReturnTo: localPath(r.PostForm.Get(returnField))}
	password := r.PostForm.Get("password")
	if password == "" {
		p.PasswordError = "Type your password."
		a.showStepUpForm(w, r, found, http.StatusUnprocessableEntity, p)
		return
	}
	err := a.Auth.Proofs.WithPassword(r.Context(), actorOf(found), a.opts.Address(r.Context()), password, r.PostForm.Get("code"))
	status := http.StatusUnprocessableEntity
	switch {
	case err == nil:
		a.seeOther(w, p.ReturnTo)
		return
	case errors.Is(err, signin.ErrProof):
		p.PasswordError = signin.ErrProof.Detail
	case core.IsKind(err, core.KindRateLimited):
		p.Error, status = retryAfter(w, err), http.StatusTooManyRequests
	case core.IsKind(err, core.KindInvalid):
		p.CodeError = core.AsError(err).Fields[0].Detail
	default:
		a.trouble(w, r, err)
		return
	}
	a.showStepUpForm(w, r, found, status, p)
}

func (a *App) beginStepUpPasskey(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	c, err := a.Passkeys.BeginProof(r.Context(), actorOf(found))
	if err != nil {
		a.notNow(w, r, err)
		return
	}
	returnTo := localPath(r.PostForm.Get(returnField))
	a.showCeremony(w, r, c, ceremonyPage{
		Title: "Confirm that it is you", Lead: "Your browser asks for your passkey in a moment.", Button: "Use a passkey",
		Action: StepUpPath + "/passkey/finish", Kind: "get", ReturnTo: returnTo, Back: stepUpURL(returnTo), BackText: "Go back",
	})
}

func (a *App) stepUpWithPasskey(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	p := stepUpPage{ReturnTo: localPath(r.PostForm.Get(returnField))}
	token, _ := a.pending.read(r)
	a.pending.clear(w)
	err := a.Auth.Limits.FromNetwork(r.Context(), a.opts.Address(r.Context()))
	if err == nil {
		err = a.Passkeys.FinishProof(r.Context(), actorOf(found), token, []byte(r.PostForm.Get("answer")))
	}
	if err == nil {
		err = a.Auth.Proofs.Accept(r.Context(), actorOf(found), withPasskey)
	}
	switch {
	case err == nil:
		a.seeOther(w, p.ReturnTo)
	case core.IsKind(err, core.KindRateLimited):
		p.Error = retryAfter(w, err)
		a.showStepUpForm(w, r, found, http.StatusTooManyRequests, p)
	case refused(err):
		p.Error = core.AsError(err).Detail
		a.showStepUpForm(w, r, found, http.StatusUnprocessableEntity, p)
	default:
		a.trouble(w, r, err)
	}
}
