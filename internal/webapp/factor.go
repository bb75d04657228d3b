package webapp

import (
	"errors"
	"net/http"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
	"carrel/internal/signin/upstream"
)

// codePath is the page that asks for the second factor.
const codePath = SignInPath + "/code"

// partialSignIn is the stored state of a sign-in between the first and the second factor.
type partialSignIn struct {
	// Email is the account's address, which the rate limits count by.
	Email string `json:"email"`
	// With is the method of the first factor, for the audit log.
	With     string `json:"with"`
	ReturnTo string `json:"returnTo"`
	// Link is an upstream identity to link to the account after the sign-in.
	Link *upstream.Identity `json:"link,omitempty"`
}

// codePage is the content of the second-factor form.
type codePage struct {
	Error, CodeError string
}

// passFirstFactor continues after the first factor: with the second one if it is set up, and else with the session. A
// passkey counts as two factors, because the device verifies its user by fingerprint, face or PIN.
func (a *App) passFirstFactor(w http.ResponseWriter, r *http.Request, user account.User, partial partialSignIn) {
	needed := false
	if partial.With != withPasskey {
		var err error
		if needed, err = a.Auth.Factors.Needed(r.Context(), user.ID); err != nil {
			a.serverError(w, r, err)
			return
		}
	}
	if !needed {
		a.finishSignIn(w, r, user.ID, partial)
		return
	}
	partial.Email = user.Email
	token, err := a.Auth.Pending.Begin(r.Context(), signin.PendingFactor, user.ID, "", partial)
	if err != nil {
		a.serverError(w, r, err)
		return
	}
	a.pending.write(w, token)
	a.seeOther(w, codePath)
}

// finishSignIn starts the session after all factors, and links the upstream identity if there is one.
func (a *App) finishSignIn(w http.ResponseWriter, r *http.Request, userID string, partial partialSignIn) {
	if partial.Link != nil {
		if a.Upstream == nil {
			http.NotFound(w, r)
			return
		}
		if err := a.Upstream.Link(r.Context(), *partial.Link, userID); err != nil {
			a.upstreamError(w, r, err)
			return
		}
	}
	event := audit.Record{Event: audit.SignedIn, Detail: map[string]string{"with": partial.With}}
	a.startSession(w, r, userID, event, partial.ReturnTo)
}

func (a *App) showCode(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if _, _, ok := a.partialSignIn(w, r); ok {
		a.show(w, r, http.StatusOK, "code", codePage{})
	}
}

// partialSignIn returns the sign-in that waits for its second factor in this browser. Without one it redirects to the
// sign-in page.
func (a *App) partialSignIn(w http.ResponseWriter, r *http.Request) (signin.Pending, partialSignIn, bool) {
	var partial partialSignIn
	token, _ := a.pending.read(r)
	pending, err := a.Auth.Pending.Get(r.Context(), signin.PendingFactor, token, &partial)
	switch {
	case errors.Is(err, signin.ErrPending):
		a.pending.clear(w)
		a.seeOther(w, SignInPath)
	case err != nil:
		a.serverError(w, r, err)
	}
	return pending, partial, err == nil
}

func (a *App) enterCode(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if !parseForm(w, r) {
		a.malformedForm(w, r)
		return
	}
	pending, partial, ok := a.partialSignIn(w, r)
	if !ok {
		return
	}
	code := r.PostForm.Get("code")
	if code == "" {
		a.show(w, r, http.StatusUnprocessableEntity, "code", codePage{CodeError: textsFor(r).text("enter_code")})
		return
	}
	counted, err := a.Auth.Limits.Attempt(r.Context(), a.guess(r, partial.Email))
	if err != nil {
		a.limitError(w, r, err, func(message string) {
			a.show(w, r, http.StatusTooManyRequests, "code", codePage{Error: message})
		})
		return
	}
	err = a.Auth.Factors.Check(r.Context(), pending.UserID, code)
	switch {
	case errors.Is(err, signin.ErrCode):
		a.Audit.Note(r.Context(), audit.Record{
			Event: audit.SignInFailed, UserID: pending.UserID, Detail: map[string]string{"reason": "wrong code"},
		})
		a.show(w, r, http.StatusUnprocessableEntity, "code", codePage{CodeError: textsFor(r).text("wrong_code")})
		return
	case err != nil:
		a.serverError(w, r, err)
		return
	}
	token, _ := a.pending.read(r)
	if _, err := a.Auth.Pending.Take(r.Context(), signin.PendingFactor, token, nil); err != nil {
		a.restart(w, r, err, SignInPath)
		return
	}
	if err := a.Auth.Limits.Forgive(r.Context(), counted); err != nil {
		a.serverError(w, r, err)
		return
	}
	a.pending.clear(w)
	partial.With += " and code"
	a.finishSignIn(w, r, pending.UserID, partial)
}

// restart redirects to the first page of a flow that has expired or is already finished.
func (a *App) restart(w http.ResponseWriter, r *http.Request, err error, first string) {
	if errors.Is(err, signin.ErrPending) {
		a.seeOther(w, first)
		return
	}
	a.serverError(w, r, err)
}

// isRefusal reports whether a service refused a request for a reason that the user can act on.
func isRefusal(err error) bool {
	switch core.AsError(err).Kind {
	case core.KindInvalid, core.KindForbidden, core.KindConflict, core.KindUnauthenticated, core.KindNotFound:
		return true
	}
	return false
}
