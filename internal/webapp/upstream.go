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

// UpstreamPath is the redirect URI at the upstream OpenID provider.
const UpstreamPath = SignInPath + "/upstream/callback"

// withUpstream is the sign-in method "upstream provider" in the audit log.
const withUpstream = "upstream"

// leavingPage is the content of the page that redirects to the provider. Browsers apply the form-action policy of a
// form's page to every redirect after it; this page in between lets the sign-in page keep a strict policy.
type leavingPage struct {
	Provider, To string
}

// providerName returns the name of the upstream provider, or "" if there is none.
func (a *App) providerName() string {
	if a.Upstream == nil {
		return ""
	}
	return a.Upstream.Name()
}

func (a *App) beginUpstream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if !parseForm(w, r) {
		a.malformedForm(w, r)
		return
	}
	some, err := a.hasAccounts(r.Context())
	switch {
	case err != nil:
		a.serverError(w, r, err)
	case !some:
		a.seeOther(w, SetupPath) // the first account owns the installation and needs the set-up code
	default:
		a.redirectToProvider(w, r, core.Actor{})
	}
}

func (a *App) beginStepUpUpstream(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	a.redirectToProvider(w, r, actorOf(found))
}

// redirectToProvider sends the browser to the provider: to sign in, or with an actor for a fresh proof of identity.
func (a *App) redirectToProvider(w http.ResponseWriter, r *http.Request, actor core.Actor) {
	if a.Upstream == nil {
		http.NotFound(w, r)
		return
	}
	if !a.allowNetwork(w, r, func(message string) {
		a.fail(w, r, http.StatusTooManyRequests, "rate_limited", "problem", message)
	}) {
		return
	}
	to, token, err := a.Upstream.Begin(r.Context(), actor, localPath(r.PostForm.Get(returnField)))
	if err != nil {
		a.upstreamError(w, r, err)
		return
	}
	a.pending.write(w, token)
	w.Header().Set("Refresh", "0; url="+to)
	a.show(w, r, http.StatusOK, "leaving", leavingPage{Provider: a.Upstream.Name(), To: to})
}

// upstreamCallback handles the provider's response. It is the only GET request that changes something: it completes a
// flow that the same browser has begun, and works once.
func (a *App) upstreamCallback(w http.ResponseWriter, r *http.Request) {
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
			a.Audit.Note(r.Context(), audit.Record{
				Event: audit.SignInFailed, UserID: arrival.UserID,
				Detail: map[string]string{"reason": core.AsError(err).Code},
			})
		}
		a.upstreamError(w, r, err)
		return
	}
	switch {
	case arrival.Proof:
		a.proveWithUpstream(w, r, arrival)
	case arrival.Unlinked != upstream.Identity{}:
		a.beginConnect(w, r, arrival)
	default:
		a.passFirstFactor(w, r, arrival.User, partialSignIn{With: withUpstream, ReturnTo: arrival.ReturnTo})
	}
}

// proveWithUpstream accepts a new sign-in at the provider as a proof of identity for the session that began it.
func (a *App) proveWithUpstream(w http.ResponseWriter, r *http.Request, arrival upstream.Arrival) {
	found, ok := a.signedIn(r)
	if !ok || found.Session.ID != arrival.SessionID {
		a.restart(w, r, signin.ErrPending, SignInPath)
		return
	}
	if err := a.Auth.Proofs.Accept(r.Context(), actorOf(found), withUpstream); err != nil {
		a.serverError(w, r, err)
		return
	}
	a.seeOther(w, arrival.ReturnTo)
}

// upstreamError shows why the sign-in with the provider failed.
func (a *App) upstreamError(w http.ResponseWriter, r *http.Request, err error) {
	e := core.AsError(err)
	switch {
	case errors.Is(err, signin.ErrPending), e.Kind == core.KindForbidden:
		a.fail(w, r, http.StatusUnprocessableEntity, "upstream_refused", "problem", textsFor(r).problem(err))
	case e.Kind == core.KindUpstream:
		a.fail(w, r, http.StatusBadGateway, "upstream_away")
	default:
		a.serverError(w, r, err)
	}
}
