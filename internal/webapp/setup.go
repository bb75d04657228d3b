package webapp

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
)

// setupLength is 60 bits: at one guess every three seconds out of reach, and short enough to type.
const setupLength = 12

// SetupCode returns the code that the server prints while there are no accounts, and that the set-up page asks for. It
// is not part of a link, because links stay in histories, proxy logs and chats. It is derived from the installation's
// secret, so every node prints the same code. It has no use after the first account exists.
func SetupCode(secret []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("carrel set-up code"))
	return signin.SpellCode(mac.Sum(nil)[:setupLength])
}

// setupPage is the content of the form for the first account.
type setupPage struct {
	Email, Name                                            string
	Error, CodeError, EmailError, NameError, PasswordError string
}

func (a *App) showSetup(w http.ResponseWriter, r *http.Request) {
	if a.requireNoAccounts(w, r) {
		a.show(w, r, http.StatusOK, "setup", setupPage{})
	}
}

// requireNoAccounts reports whether the installation has no accounts. If it has, it redirects to the sign-in page.
func (a *App) requireNoAccounts(w http.ResponseWriter, r *http.Request) bool {
	some, err := a.hasAccounts(r.Context())
	switch {
	case err != nil:
		a.serverError(w, r, err)
	case some:
		a.seeOther(w, SignInPath)
	default:
		return true
	}
	return false
}

func (a *App) setUp(w http.ResponseWriter, r *http.Request) {
	if !parseForm(w, r) {
		a.malformedForm(w, r)
		return
	}
	if !a.requireNoAccounts(w, r) {
		return
	}
	t := textsFor(r)
	p := setupPage{Email: r.PostForm.Get("email"), Name: r.PostForm.Get("name")}
	if !a.allowNetwork(w, r, func(message string) {
		p.Error = message
		a.show(w, r, http.StatusTooManyRequests, "setup", p)
	}) {
		return
	}
	code := signin.PlainCode(r.PostForm.Get("code"))
	if subtle.ConstantTimeCompare([]byte(code), []byte(signin.PlainCode(a.opts.SetupCode))) != 1 {
		if code != "" {
			a.Audit.Note(r.Context(), audit.Record{
				Event: audit.SetUpFailed, Detail: map[string]string{"reason": "wrong code"},
			})
		}
		p.CodeError = t.text("setup.wrong_code")
		a.show(w, r, http.StatusUnprocessableEntity, "setup", p)
		return
	}
	user, err := a.Accounts.CreateFirst(r.Context(), account.NewUser{
		Email: p.Email, Name: p.Name, Password: r.PostForm.Get("password"),
	})
	switch {
	case err == nil:
		a.accountsExist.Store(true)
		a.startSession(w, r, user.ID, audit.Record{Event: audit.SetUp}, a.firstPage())
	case core.IsKind(err, core.KindConflict):
		a.fail(w, r, http.StatusConflict, "already_set_up")
	case core.IsKind(err, core.KindInvalid):
		p.setErrors(t, core.AsError(err))
		a.show(w, r, http.StatusUnprocessableEntity, "setup", p)
	default:
		a.serverError(w, r, err)
	}
}

// firstPage returns the page that a new account sees first.
func (a *App) firstPage() string {
	if a.opts.Home == "" {
		return "/"
	}
	return StartPath
}

// setErrors assigns the error of each invalid field.
func (p *setupPage) setErrors(t texts, e *core.Error) {
	for _, f := range e.Fields {
		switch f.Pointer {
		case "/email":
			p.EmailError = t.field(f)
		case "/name":
			p.NameError = t.field(f)
		case "/password":
			p.PasswordError = t.field(f)
		default:
			p.Error = t.field(f)
		}
	}
	if len(e.Fields) == 0 {
		p.Error = t.problem(e)
	}
}
