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

// setupLength is 60 bits: out of reach at a guess every three seconds, and short enough to type.
const setupLength = 12

// SetupCode is what the server prints when nobody has an account yet and the first person types. It is not part of a
// link, because links stay in histories, in logs of proxies and in chats. It follows from the installation's secret, so
// that all nodes and every start print the same, and it is good once: with the first account its use is over.
func SetupCode(secret []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("carrel set-up code"))
	return signin.SpellCode(mac.Sum(nil)[:setupLength])
}

// setupPage is what the form of the first account shows.
type setupPage struct {
	Title                                                  string
	Email, Name                                            string
	Error, CodeError, EmailError, NameError, PasswordError string
}

func (a *App) showSetup(w http.ResponseWriter, r *http.Request) {
	if a.settledOr(w, r) {
		a.showSetupForm(w, r, http.StatusOK, setupPage{})
	}
}

// settledOr answers the request and returns false unless there is still a first account to make.
func (a *App) settledOr(w http.ResponseWriter, r *http.Request) bool {
	some, err := a.hasAccounts(r.Context())
	switch {
	case err != nil:
		a.trouble(w, r, err)
	case some:
		a.seeOther(w, SignInPath)
	default:
		return true
	}
	return false
}

func (a *App) showSetupForm(w http.ResponseWriter, r *http.Request, status int, p setupPage) {
	p.Title = "Set up Carrel"
	a.show(w, r, status, "setup", p)
}

func (a *App) setUp(w http.ResponseWriter, r *http.Request) {
	if !form(w, r) {
		a.badForm(w, r)
		return
	}
	if !a.settledOr(w, r) {
		return
	}
	p := setupPage{Email: r.PostForm.Get("email"), Name: r.PostForm.Get("name")}
	if !a.fromNetwork(w, r, func(detail string) {
		p.Error = detail
		a.showSetupForm(w, r, http.StatusTooManyRequests, p)
	}) {
		return
	}
	code := signin.PlainCode(r.PostForm.Get("code"))
	if subtle.ConstantTimeCompare([]byte(code), []byte(signin.PlainCode(a.opts.SetupCode))) != 1 {
		if code != "" {
			a.Audit.Note(r.Context(), audit.Record{Event: audit.SetUpFailed, Detail: map[string]string{"reason": "wrong code"}})
		}
		p.CodeError = "This is not the code that the server printed. It has twelve letters and digits."
		a.showSetupForm(w, r, http.StatusUnprocessableEntity, p)
		return
	}
	user, err := a.Accounts.CreateFirst(r.Context(), account.NewUser{
		Email: p.Email, Name: p.Name, Password: r.PostForm.Get("password"),
	})
	switch {
	case err == nil:
		a.settled.Store(true)
		a.begin(w, r, user.ID, audit.Record{Event: audit.SetUp}, "/")
	case core.IsKind(err, core.KindConflict):
		a.fail(w, r, http.StatusConflict, "Somebody was quicker", core.AsError(err).Detail)
	case core.IsKind(err, core.KindInvalid):
		p.fields(core.AsError(err))
		a.showSetupForm(w, r, http.StatusUnprocessableEntity, p)
	default:
		a.trouble(w, r, err)
	}
}

// fields puts what is wrong next to the field that it is about.
func (p *setupPage) fields(e *core.Error) {
	for _, f := range e.Fields {
		switch f.Pointer {
		case "/email":
			p.EmailError = f.Detail
		case "/name":
			p.NameError = f.Detail
		case "/password":
			p.PasswordError = f.Detail
		default:
			p.Error = f.Detail
		}
	}
	if len(e.Fields) == 0 {
		p.Error = e.Detail
	}
}
