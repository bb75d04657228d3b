package webapp

import (
	"errors"
	"net/http"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
)

// withPasskey is the sign-in method "passkey" in the audit log.
const withPasskey = "passkey"

// ceremonyPage is the content of the page that creates or uses a passkey. It is the only page with a script.
type ceremonyPage struct {
	Title, Text, Button string
	// Action is the target of the form with the authenticator's response.
	Action string
	// Kind is the script's task: "get" or "create".
	Kind    string
	Options string
	// AskName is whether the form asks for the passkey's name.
	AskName  bool
	ReturnTo string
	// Back is the link to continue without a passkey.
	Back, BackText string
}

// showCeremony sends the ceremony page and binds the ceremony to the browser with a cookie.
func (a *App) showCeremony(w http.ResponseWriter, r *http.Request, c passkey.Ceremony, p ceremonyPage) {
	p.Options = string(c.Options)
	a.pending.write(w, c.Token)
	w.Header().Set("Content-Security-Policy", scriptPolicy)
	a.render(w, r, http.StatusOK, "passkey", p)
}

// beginPasskey is a POST because it stores a challenge, and no GET request changes anything.
func (a *App) beginPasskey(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if !parseForm(w, r) {
		a.malformedForm(w, r)
		return
	}
	returnTo := localPath(r.PostForm.Get(returnField))
	if !a.allowNetwork(w, r, func(message string) {
		a.showSignInForm(w, r, http.StatusTooManyRequests, signInPage{ReturnTo: returnTo, Error: message})
	}) {
		return
	}
	c, err := a.Passkeys.BeginSignIn(r.Context())
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	t := textsFor(r)
	a.showCeremony(w, r, c, ceremonyPage{
		Title: t.text("signin.passkey"), Text: t.text("passkey.text"), Button: t.text("use_passkey"),
		Action: SignInPath + "/passkey/finish", Kind: "get", ReturnTo: returnTo,
		Back: signInURL(returnTo), BackText: t.text("passkey.use_password"),
	})
}

func (a *App) signInWithPasskey(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if !parseForm(w, r) {
		a.malformedForm(w, r)
		return
	}
	p := signInPage{ReturnTo: localPath(r.PostForm.Get(returnField))}
	if !a.allowNetwork(w, r, func(message string) {
		p.Error = message
		a.showSignInForm(w, r, http.StatusTooManyRequests, p)
	}) {
		return
	}
	token, _ := a.pending.read(r)
	a.pending.clear(w)
	user, err := a.Passkeys.FinishSignIn(r.Context(), token, []byte(r.PostForm.Get("answer")))
	switch {
	case errors.Is(err, signin.ErrPending), core.IsKind(err, core.KindForbidden):
		a.Audit.Note(r.Context(), audit.Record{
			Event: audit.SignInFailed, Detail: map[string]string{"reason": withPasskey},
		})
		p.Error = textsFor(r).problem(err)
		a.showSignInForm(w, r, http.StatusUnprocessableEntity, p)
	case err != nil:
		a.serverError(w, r, err)
	default:
		a.passFirstFactor(w, r, user, partialSignIn{With: withPasskey, ReturnTo: p.ReturnTo})
	}
}

// refuse shows a service's refusal on the error page, for requests without a form to show it on.
func (a *App) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if !isRefusal(err) {
		a.serverError(w, r, err)
		return
	}
	a.fail(w, r, http.StatusUnprocessableEntity, "refused", "problem", textsFor(r).problem(err))
}
