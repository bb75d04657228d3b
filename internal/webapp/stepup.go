package webapp

import (
	"errors"
	"net/http"
	"net/url"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/signin"
)

// stepUpPage is the content of the form that asks for a fresh proof of identity.
type stepUpPage struct {
	Email    string
	ReturnTo string
	// Password, Code and Passkey are the methods that the account has.
	Password, Code, Passkey bool
	// Provider is the name of the upstream provider; empty if there is none.
	Provider                        string
	Error, PasswordError, CodeError string
}

// actorOf returns the signed-in user as an actor.
func actorOf(found credential.FoundSession) core.Actor {
	u := found.User
	return core.Actor{
		UserID: u.ID, Role: u.Role, Plan: u.Plan, CredentialID: found.Session.ID, Credential: core.CredentialSession,
		Scopes: u.Role.Scopes(), AuthenticatedAt: found.Session.AuthenticatedAt,
	}
}

// sessionHandler is an http.HandlerFunc for a signed-in user.
type sessionHandler func(w http.ResponseWriter, r *http.Request, found credential.FoundSession)

// requireSession passes the session to h. Without one it redirects to the sign-in page, which returns to the requested
// URL, or to the sign-in settings after a POST.
func (a *App) requireSession(h sessionHandler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		found, ok := a.signedIn(r)
		if !ok {
			back := SecurityPath
			if r.Method == http.MethodGet {
				back = r.URL.RequestURI()
			}
			a.seeOther(w, signInURL(back))
			return
		}
		if r.Method == http.MethodPost && !parseForm(w, r) {
			a.malformedForm(w, r)
			return
		}
		h(w, r, found)
	}
}

// stepUpURL returns the URL of the step-up page that returns to a local path.
func stepUpURL(returnTo string) string {
	return StepUpPath + "?" + url.Values{returnField: {localPath(returnTo)}}.Encode()
}

func (a *App) showStepUp(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	a.showStepUpForm(w, r, found, http.StatusOK, stepUpPage{ReturnTo: localPath(r.URL.Query().Get(returnField))})
}

func (a *App) showStepUpForm(
	w http.ResponseWriter, r *http.Request, found credential.FoundSession, status int, p stepUpPage,
) {
	means, err := a.Auth.Proofs.Means(r.Context(), actorOf(found))
	if err != nil {
		a.serverError(w, r, err)
		return
	}
	if a.Passkeys.Available() {
		passkeys, err := a.Passkeys.List(r.Context(), actorOf(found))
		if err != nil {
			a.serverError(w, r, err)
			return
		}
		p.Passkey = len(passkeys) > 0
	}
	p.Email, p.Password, p.Code, p.Provider = found.User.Email, means.Password, means.Code, a.providerName()
	a.show(w, r, status, "stepup", p)
}

func (a *App) stepUp(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	t := textsFor(r)
	p := stepUpPage{ReturnTo: localPath(r.PostForm.Get(returnField))}
	password := r.PostForm.Get("password")
	if password == "" {
		p.PasswordError = t.text("enter_password")
		a.showStepUpForm(w, r, found, http.StatusUnprocessableEntity, p)
		return
	}
	err := a.Auth.Proofs.WithPassword(r.Context(), actorOf(found), a.opts.Address(r.Context()), password,
		r.PostForm.Get("code"))
	status := http.StatusUnprocessableEntity
	switch {
	case err == nil:
		a.seeOther(w, p.ReturnTo)
		return
	case errors.Is(err, signin.ErrProof):
		p.PasswordError = t.text("wrong_password")
	case isRateLimited(err):
		p.Error, status = retryAfter(w, r, err), http.StatusTooManyRequests
	case core.IsKind(err, core.KindInvalid):
		p.CodeError = t.firstField(err)
	default:
		a.serverError(w, r, err)
		return
	}
	a.showStepUpForm(w, r, found, status, p)
}

func (a *App) beginStepUpPasskey(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	c, err := a.Passkeys.BeginProof(r.Context(), actorOf(found))
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	t, returnTo := textsFor(r), localPath(r.PostForm.Get(returnField))
	a.showCeremony(w, r, c, ceremonyPage{
		Title: t.text("stepup.title"), Text: t.text("passkey.text"), Button: t.text("use_passkey"),
		Action: StepUpPath + "/passkey/finish", Kind: "get", ReturnTo: returnTo, Back: stepUpURL(returnTo),
		BackText: t.text("back"),
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
	case isRateLimited(err):
		p.Error = retryAfter(w, r, err)
		a.showStepUpForm(w, r, found, http.StatusTooManyRequests, p)
	case isRefusal(err):
		p.Error = textsFor(r).problem(err)
		a.showStepUpForm(w, r, found, http.StatusUnprocessableEntity, p)
	default:
		a.serverError(w, r, err)
	}
}
