// Package webapp is the pages that people see before there is an app in their browser, and when there is none: signing
// in and out, making the first account, allowing a client, changing how one signs in, and saying what went wrong. They are
// plain HTML without any script, so that the policy of their content can forbid all of it; passkeys alone need one.
package webapp

import (
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
	"carrel/internal/signin/upstream"
)

// The paths of the pages.
const (
	SignInPath   = "/sign-in"
	SignOutPath  = "/sign-out"
	SetupPath    = "/setup"
	ResetPath    = "/reset"
	StepUpPath   = "/step-up"
	SecurityPath = "/security"
)

// Services is what the pages work with.
type Services struct {
	Accounts *account.Service
	Sessions *credential.Sessions
	Auth     *signin.Service
	Passkeys *passkey.Service
	// Upstream is nil unless the settings name another provider.
	Upstream *upstream.Service
	Audit    *audit.Log
	Clock    core.Clock
	Log      *slog.Logger
}

// Options is how an installation has its pages.
type Options struct {
	// BaseURL is the address that people use. It decides what cookies are like.
	BaseURL string
	// Home is the path of the app, where people go who are signed in; empty means a small page of ours.
	Home string
	// SetupCode is what the first person types to prove that they have seen the server start.
	SetupCode string
	// Address tells where the request of a context came from.
	Address func(context.Context) netip.Addr
}

// App serves the pages.
type App struct {
	Services
	opts   Options
	cookie cookie
	// pending is the cookie of what is begun and not finished.
	pending cookie
	// browser is the cookie of a browser in which somebody has signed in.
	browser cookie
	// prefix is the path of the base URL, which browsers see before ours and handlers do not.
	prefix string
	pages  map[string]*template.Template
	// referrer is the Referrer-Policy of all pages.
	referrer string
	// settled is whether there is an account. It never becomes false again.
	settled    atomic.Bool
	sameOrigin *http.CrossOriginProtection
}

// New returns the pages of an installation.
func New(s Services, o Options) (*App, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.Address == nil {
		o.Address = func(context.Context) netip.Addr { return netip.Addr{} }
	}
	a := &App{
		Services: s, opts: o, cookie: newCookie(base), pending: newPendingCookie(base), browser: newBrowserCookie(base), prefix: base.EscapedPath(), pages: parsePages(base.EscapedPath()),
		referrer: referrerPolicy(base),
	}
	a.sameOrigin = http.NewCrossOriginProtection()
	// A proxy may pass on another Host than the one that browsers see.
	if err := a.sameOrigin.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
		return nil, err
	}
	a.sameOrigin.SetDenyHandler(http.HandlerFunc(a.crossOrigin))
	return a, nil
}

// Routes adds the pages to a mux.
func (a *App) Routes(mux *http.ServeMux) {
	for pattern, h := range map[string]http.HandlerFunc{
		"GET /{$}":            a.home,
		"GET " + SignInPath:   a.showSignIn,
		"POST " + SignInPath:  a.signIn,
		"POST " + SignOutPath: a.signOut,
		"GET " + SetupPath:    a.showSetup,
		"POST " + SetupPath:   a.setUp,

		"GET " + codePath:                           a.showCode,
		"POST " + codePath:                          a.enterCode,
		"POST " + SignInPath + "/passkey":           a.beginPasskey,
		"POST " + SignInPath + "/passkey/finish":    a.signInWithPasskey,
		"POST " + SignInPath + "/upstream":          a.beginUpstream,
		"GET " + UpstreamPath:                       a.arrive,
		"GET " + connectPath:                        a.showConnect,
		"POST " + connectPath:                       a.connect,
		"POST " + StepUpPath + "/upstream":          a.own(SecurityPath, a.beginStepUpUpstream),
		"GET " + ResetPath:                          a.showReset,
		"POST " + ResetPath:                         a.reset,
		"GET " + StepUpPath:                         a.own(SecurityPath, a.showStepUp),
		"POST " + StepUpPath:                        a.own(SecurityPath, a.stepUp),
		"POST " + StepUpPath + "/passkey":           a.own(SecurityPath, a.beginStepUpPasskey),
		"POST " + StepUpPath + "/passkey/finish":    a.own(SecurityPath, a.stepUpWithPasskey),
		"GET " + SecurityPath:                       a.own(SecurityPath, a.showSecurity),
		"POST " + SecurityPath + "/password":        a.own(SecurityPath, a.changePassword),
		"POST " + SecurityPath + "/passkeys":        a.own(SecurityPath, a.beginNewPasskey),
		"POST " + SecurityPath + "/passkeys/finish": a.own(SecurityPath, a.addPasskey),
		"POST " + SecurityPath + "/passkeys/remove": a.own(SecurityPath, a.removePasskey),
		"POST " + totpPath:                          a.own(SecurityPath, a.beginTOTP),
		"GET " + totpPath:                           a.own(SecurityPath, a.showTOTP),
		"POST " + totpPath + "/confirm":             a.own(SecurityPath, a.confirmTOTP),
		"POST " + totpPath + "/codes":               a.own(SecurityPath, a.renewCodes),
		"POST " + totpPath + "/remove":              a.own(SecurityPath, a.removeTOTP),
	} {
		mux.Handle(pattern, a.Guard(h))
	}
	for _, f := range files {
		mux.Handle("GET "+f.path, f)
	}
}

// Guard refuses requests that another site makes a browser send, on every method that changes something. Pages of other
// packages that take forms go through it as well.
func (a *App) Guard(h http.Handler) http.Handler { return a.sameOrigin.Handler(h) }

func (a *App) crossOrigin(w http.ResponseWriter, r *http.Request) {
	a.fail(w, r, http.StatusForbidden, "This form came from another site",
		"To protect you, forms are taken from our own pages alone. Open the page here and try again.")
}

// signedIn returns the session of the request's cookie, if it has one that is good.
func (a *App) signedIn(r *http.Request) (credential.FoundSession, bool) {
	token, ok := a.cookie.read(r)
	if !ok {
		return credential.FoundSession{}, false
	}
	found, err := a.Sessions.Find(r.Context(), token)
	if err != nil {
		if !core.IsKind(err, core.KindUnauthenticated) && r.Context().Err() == nil {
			a.Log.ErrorContext(r.Context(), "a session could not be looked up", slog.Any("error", err))
		}
		return credential.FoundSession{}, false
	}
	return found, true
}

// hasAccounts reports whether anybody has an account.
func (a *App) hasAccounts(ctx context.Context) (bool, error) {
	if a.settled.Load() {
		return true, nil
	}
	users, err := a.Accounts.List(ctx, core.Operator(""))
	if err != nil {
		return false, err
	}
	if len(users) > 0 {
		a.settled.Store(true)
	}
	return len(users) > 0, nil
}

// home is a small place to land on.
func (a *App) home(w http.ResponseWriter, r *http.Request) {
	found, ok := a.signedIn(r)
	if !ok {
		some, err := a.hasAccounts(r.Context())
		if err != nil {
			a.trouble(w, r, err)
			return
		}
		a.show(w, r, http.StatusOK, "welcome", map[string]any{"Title": "Carrel", "SetUp": !some})
		return
	}
	if a.opts.Home != "" {
		a.seeOther(w, a.opts.Home)
		return
	}
	a.show(w, r, http.StatusOK, "home", map[string]any{
		"Title": "Carrel", "User": found.User, "Session": found.Session,
	})
}

// trouble answers with what went wrong on our side, or with the database away.
func (a *App) trouble(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, r.Context().Err()) {
		return // nobody is waiting for an answer
	}
	e := core.AsError(err)
	if e.Kind == core.KindUnavailable {
		a.fail(w, r, http.StatusServiceUnavailable, "Carrel is busy", e.Detail)
		return
	}
	a.Log.ErrorContext(r.Context(), "a page failed", slog.Any("error", err))
	a.fail(w, r, http.StatusInternalServerError, "Something went wrong on our side", "Try again. If it stays, report the number below.")
}

// address is where a request came from, as it is shown and stored.
func (a *App) address(ctx context.Context) string {
	if addr := a.opts.Address(ctx); addr.IsValid() {
		return addr.String()
	}
	return ""
}

// form reads the fields of a posted form.
func form(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	return r.ParseForm() == nil
}

// maxForm bounds a posted form. The longest has an address to come back to.
const maxForm = 64 << 10

// trustworthy reports whether browsers treat the address as safe (W3C Secure Contexts): HTTPS, or this machine.
func trustworthy(base *url.URL) bool {
	host := base.Hostname()
	ip, err := netip.ParseAddr(host)
	return base.Scheme == "https" || err == nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// referrerPolicy is no-referrer wherever browsers send Sec-Fetch-Site. Over plain HTTP to another machine they don't,
// and with no-referrer they also hide the Origin of a form (Fetch, 3.2): our own could not be told from a stranger's.
func referrerPolicy(base *url.URL) string {
	if trustworthy(base) {
		return "no-referrer"
	}
	return "same-origin"
}
