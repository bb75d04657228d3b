package webapp

import (
	"errors"
	"net/http"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/signin"
	"carrel/internal/signin/upstream"
)

// UpstreamPath is where another provider sends people back to.
const UpstreamPath = SignInPath + "/upstream/callback"

// withUpstream is what the audit log calls signing in with another provider.
const withUpstream = "upstream"

// leavingPage is shown for the moment before a browser goes to the provider. Browsers hold every redirect after a form to
// the policy of the page that the form was on; a page of its own in between keeps that of the forms strict.
type leavingPage struct {
	Title, Name, To string
}

// upstreamName is the provider's, or empty without one.
func (a *App) upstreamName() string {
	if a.Upstream == nil {
		return ""
	}
	return a.Upstream.Name()
}

func (a *App) beginUpstream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if !form(w, r) {
		a.badForm(w, r)
		return
	}
	some, err := a.hasAccounts(r.Context())
	switch {
	case err != nil:
		a.trouble(w, r, err)
	case !some:
		a.seeOther(w, SetupPath) // the first account owns the installation, and is made with its code
	default:
		a.leave(w, r, core.Actor{})
	}
}

func (a *App) beginStepUpUpstream(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	a.leave(w, r, actorOf(found))
}

// leave sends the browser to the provider, for a sign-in or, with an actor, for a fresh proof.
func (a *App) leave(w http.ResponseWriter, r *http.Request, actor core.Actor) {
	if a.Upstream == nil {
		http.NotFound(w, r)
		return
	}
	if !a.fromNetwork(w, r, func(detail string) { a.fail(w, r, http.StatusTooManyRequests, "Not so fast", detail) }) {
		return
	}
	to, token, err := a.Upstream.Begin(r.Context(), actor, localPath(r.PostForm.Get(returnField)))
	if err != nil {
		a.upstreamTrouble(w, r, err)
		return
	}
	a.pending.write(w, token)
	w.Header().Set("Refresh", "0; url="+to)
	a.show(w, r, http.StatusOK, "leaving", leavingPage{Title: "Going to " + a.Upstream.Name(), Name: a.Upstream.Name(), To: to})
}

// arrive takes what the provider sent back. It is the one GET of ours that changes something: what it does was begun in
// this very browser, and can be done once.
func (a *App) arrive(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if a.Upstream == nil {
		http.NotFound(w, r)
		return
	}
	token, _ := a.pending.read(r)
	a.pending.clear(w)
	arrival, err := a.Upstream.Finish(r.Context(), token, r.URL.Query())
	if err != nil {
		if core.IsKind(err, core.KindForbidden) {
			a.Audit.Note(r.Context(), audit.Record{Event: audit.SignInFailed, UserID: arrival.UserID, Detail: map[string]string{"reason": core.AsError(err).Code}})
		}
		a.upstreamTrouble(w, r, err)
		return
	}
	switch {
	case arrival.Proof:
		a.proveWithUpstream(w, r, arrival)
	case arrival.Unlinked != upstream.Identity{}:
		a.beginConnect(w, r, arrival)
	default:
		a.admit(w, r, arrival.User, halfway{With: withUpstream, ReturnTo: arrival.ReturnTo})
	}
}

// proveWithUpstream notes that the person of this browser's session has just signed in at the provider once more.
func (a *App) proveWithUpstream(w http.ResponseWriter, r *http.Request, arrival upstream.Arrival) {
	found, ok := a.signedIn(r)
	if !ok || found.Session.ID != arrival.SessionID {
		a.again(w, r, signin.ErrPending, SignInPath)
		return
	}
	if err := a.Auth.Proofs.Accept(r.Context(), actorOf(found), withUpstream); err != nil {
		a.trouble(w, r, err)
		return
	}
	a.seeOther(w, arrival.ReturnTo)
}

// upstreamTrouble says why signing in elsewhere did not work.
func (a *App) upstreamTrouble(w http.ResponseWriter, r *http.Request, err error) {
	e := core.AsError(err)
	switch {
	case errors.Is(err, signin.ErrPending), e.Kind == core.KindForbidden:
		a.fail(w, r, http.StatusUnprocessableEntity, "You are not signed in", e.Detail)
	case e.Kind == core.KindUpstream:
		a.fail(w, r, http.StatusBadGateway, "The provider does not answer", e.Detail)
	default:
		a.trouble(w, r, err)
	}
}
