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

// halfway is what is kept of somebody who has proved one factor and not the other.
type halfway struct {
	// Email is what attempts are counted by.
	Email    string `json:"email"`
	With     string `json:"with"`
	ReturnTo string `json:"returnTo"`
	// Link is who they are at another provider, which is connected to the account when they are in.
	Link *upstream.Identity `json:"link,omitempty"`
}

// codePage is what the form of the second factor shows.
type codePage struct {
	Title            string
	Error, CodeError string
}

// admit lets somebody in who has proved who they are, or asks for the second factor if they have one. Whoever comes with
// a passkey has shown two already: the device, and to the device their finger, face or PIN.
func (a *App) admit(w http.ResponseWriter, r *http.Request, user account.User, half halfway) {
	needed := false
	if half.With != withPasskey {
		var err error
		if needed, err = a.Auth.Factors.Needed(r.Context(), user.ID); err != nil {
			a.trouble(w, r, err)
			return
		}
	}
	if !needed {
		a.enter(w, r, user.ID, half)
		return
	}
	half.Email = user.Email
	token, err := a.Auth.Pending.Begin(r.Context(), signin.PendingFactor, user.ID, "", half)
	if err != nil {
		a.trouble(w, r, err)
		return
	}
	a.pending.write(w, token)
	a.seeOther(w, codePath)
}

// enter signs somebody in who has proved all that is asked for, and connects the provider that they came from.
func (a *App) enter(w http.ResponseWriter, r *http.Request, userID string, half halfway) {
	if half.Link != nil {
		if a.Upstream == nil {
			http.NotFound(w, r)
			return
		}
		if err := a.Upstream.Link(r.Context(), *half.Link, userID); err != nil {
			a.upstreamTrouble(w, r, err)
			return
		}
	}
	a.begin(w, r, userID, signedInWith(half.With), half.ReturnTo)
}

// signedInWith is what the audit log says of a sign-in.
func signedInWith(with string) audit.Record {
	return audit.Record{Event: audit.SignedIn, Detail: map[string]string{"with": with}}
}

func (a *App) showCode(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if _, _, ok := a.halfIn(w, r); ok {
		a.showCodeForm(w, r, http.StatusOK, codePage{})
	}
}

func (a *App) showCodeForm(w http.ResponseWriter, r *http.Request, status int, p codePage) {
	p.Title = "Enter your code"
	a.show(w, r, status, "code", p)
}

// halfIn returns whoever has proved one factor in this browser; others are sent to begin again.
func (a *App) halfIn(w http.ResponseWriter, r *http.Request) (signin.Pending, halfway, bool) {
	var half halfway
	token, _ := a.pending.read(r)
	pending, err := a.Auth.Pending.Get(r.Context(), signin.PendingFactor, token, &half)
	switch {
	case errors.Is(err, signin.ErrPending):
		a.pending.clear(w)
		a.seeOther(w, SignInPath)
	case err != nil:
		a.trouble(w, r, err)
	}
	return pending, half, err == nil
}

func (a *App) enterCode(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Opener-Policy", openerPolicy)
	if !form(w, r) {
		a.badForm(w, r)
		return
	}
	pending, half, ok := a.halfIn(w, r)
	if !ok {
		return
	}
	code := r.PostForm.Get("code")
	if code == "" {
		a.showCodeForm(w, r, http.StatusUnprocessableEntity, codePage{CodeError: "Type the code that the app shows."})
		return
	}
	counted, err := a.Auth.Limits.Attempt(r.Context(), a.guess(r, half.Email))
	if err != nil {
		a.limited(w, r, err, func(detail string) {
			a.showCodeForm(w, r, http.StatusTooManyRequests, codePage{Error: detail})
		})
		return
	}
	err = a.Auth.Factors.Check(r.Context(), pending.UserID, code)
	switch {
	case errors.Is(err, signin.ErrCode):
		a.Audit.Note(r.Context(), audit.Record{
			Event: audit.SignInFailed, UserID: pending.UserID, Detail: map[string]string{"reason": "wrong code"},
		})
		a.showCodeForm(w, r, http.StatusUnprocessableEntity, codePage{CodeError: signin.ErrCode.Detail})
		return
	case err != nil:
		a.trouble(w, r, err)
		return
	}
	token, _ := a.pending.read(r)
	if _, err := a.Auth.Pending.Take(r.Context(), signin.PendingFactor, token, nil); err != nil {
		a.again(w, r, err, SignInPath)
		return
	}
	if err := a.Auth.Limits.Forgive(r.Context(), counted); err != nil {
		a.trouble(w, r, err)
		return
	}
	a.pending.clear(w)
	half.With += " and code"
	a.enter(w, r, pending.UserID, half)
}

// again answers to something that can't be finished: begun too long ago, or finished already.
func (a *App) again(w http.ResponseWriter, r *http.Request, err error, begin string) {
	if errors.Is(err, signin.ErrPending) {
		a.seeOther(w, begin)
		return
	}
	a.trouble(w, r, err)
}

// refused reports whether a service turned something away for a reason that people can do something about.
func refused(err error) bool {
	return core.IsKind(err, core.KindInvalid) || core.IsKind(err, core.KindForbidden) || core.IsKind(err, core.KindConflict) ||
		core.IsKind(err, core.KindUnauthenticated) || core.IsKind(err, core.KindNotFound)
}
