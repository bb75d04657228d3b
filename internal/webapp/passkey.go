package webapp

import (
	"errors"
	"net/http"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
)

// withPasskey is what the audit log calls signing in with a passkey.
const withPasskey = "passkey"

// ceremonyPage is the page that makes or uses a passkey: the only one with a script, because browsers have no other way.
type ceremonyPage struct {
	Title, Lead, Button string
	// Action takes the form with the answer.
	Action string
	// Kind is what the script does: "get" or "create".
	Kind    string
	Options string
	// Name is whether to ask what the passkey shall be called.
	Name     bool
	ReturnTo string
	// Back is where to go without a passkey.
	Back, BackText string
	Error          string
}

// ceremonyPolicy lets the page use its own script as well.
var ceremonyPolicy = pagePolicy("") + "; script-src 'self'"

// showCeremony sends the page of a ceremony and binds it to the browser.
func (a *App) showCeremony(w http.ResponseWriter, r *http.Request, c passkey.Ceremony, p ceremonyPage) {
	p.Options = string(c.Options)
	a.pending.write(w, c.Token)
	w.Header().Set("Content-Security-Policy", ceremonyPolicy)
	a.render(w, r, http.StatusOK, "passkey", p)
}

// beginPasskey takes a form, not a link: a challenge is kept for it, and no GET of ours changes anything.
func (a *App) beginPasskey(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if !form(w, r) {
		a.badForm(w, r)
		return
	}
	returnTo := localPath(r.PostForm.Get(returnField))
	if !a.fromNetwork(w, r, func(detail string) {
		a.showSignInForm(w, r, http.StatusTooManyRequests, signInPage{ReturnTo: returnTo, Error: detail})
	}) {
		return
	}
	c, err := a.Passkeys.BeginSignIn(r.Context())
	if err != nil {
		a.notNow(w, r, err)
		return
	}
	a.showCeremony(w, r, c, ceremonyPage{
		Title: "Sign in with a passkey", Lead: "Your browser asks for it in a moment.", Button: "Use a passkey",
		Action: SignInPath + "/passkey/finish", Kind: "get", ReturnTo: returnTo, Back: signInURL(returnTo), BackText: "Use your password instead",
	})
}

func (a *App) signInWithPasskey(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if !form(w, r) {
		a.badForm(w, r)
		return
	}
	p := signInPage{ReturnTo: localPath(r.PostForm.Get(returnField))}
	if !a.fromNetwork(w, r, func(detail string) {
		p.Error = detail
		a.showSignInForm(w, r, http.StatusTooManyRequests, p)
	}) {
		return
	}
	token, _ := a.pending.read(r)
	a.pending.clear(w)
	user, err := a.Passkeys.FinishSignIn(r.Context(), token, []byte(r.PostForm.Get("answer")))
	switch {
	case errors.Is(err, signin.ErrPending), core.IsKind(err, core.KindForbidden):
		a.Audit.Note(r.Context(), audit.Record{Event: audit.SignInFailed, Detail: map[string]string{"reason": withPasskey}})
		p.Error = core.AsError(err).Detail
		a.showSignInForm(w, r, http.StatusUnprocessableEntity, p)
	case err != nil:
		a.trouble(w, r, err)
	default:
		a.admit(w, r, user, halfway{With: withPasskey, ReturnTo: p.ReturnTo})
	}
}

// notNow says why something can't be done, where there is no form to say it on.
func (a *App) notNow(w http.ResponseWriter, r *http.Request, err error) {
	if !refused(err) {
		a.trouble(w, r, err)
		return
	}
	a.fail(w, r, http.StatusUnprocessableEntity, "This can't be done now", core.AsError(err).Detail)
}
