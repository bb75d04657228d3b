// Package webapp serves the pages outside the single-page app (set-up, sign-in, OAuth consent, sign-in settings, shared
// threads and errors) and the files of the app itself. The pages are plain HTML in English, German, Spanish and French.
// Their Content-Security-Policy forbids scripts, except on the passkey page, which needs one, and on the pages that read
// a code from their link.
package webapp

import (
	"context"
	"errors"
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
	"carrel/internal/sharelink"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
	"carrel/internal/signin/upstream"
	"carrel/internal/transcript"
)

// Paths of the pages.
const (
	SignInPath   = "/sign-in"
	SignOutPath  = "/sign-out"
	SetupPath    = "/setup"
	ResetPath    = signin.ResetPath
	JoinPath     = signin.JoinPath
	ForgotPath   = "/forgot"
	StepUpPath   = "/step-up"
	SecurityPath = "/security"
	SharedPath   = sharelink.Path
)

// Services are the dependencies of the pages.
type Services struct {
	Accounts *account.Service
	Sessions *credential.Sessions
	Auth     *signin.Service
	Passkeys *passkey.Service
	// Upstream is nil if no OpenID provider is configured.
	Upstream *upstream.Service
	// Links opens the threads that are shared with links.
	Links SharedThreads
	Audit *audit.Log
	Clock core.Clock
	Log   *slog.Logger
}

// SharedThreads opens the threads that are shared with links. An unknown, revoked or expired token is not_found.
type SharedThreads interface {
	Open(ctx context.Context, token string) (sharelink.Link, transcript.Transcript, error)
}

// require panics if a required service is missing.
func (s Services) require() {
	for name, missing := range map[string]bool{
		"Accounts": s.Accounts == nil,
		"Sessions": s.Sessions == nil,
		"Auth":     s.Auth == nil,
		"Passkeys": s.Passkeys == nil,
		"Links":    s.Links == nil,
		"Audit":    s.Audit == nil,
		"Clock":    s.Clock == nil,
		"Log":      s.Log == nil,
	} {
		if missing {
			panic("webapp: Services." + name + " is nil")
		}
	}
}

// Options configure the pages.
type Options struct {
	// BaseURL is the installation's public URL. Cookies are Secure if it is https.
	BaseURL string
	// Home is the path that signed-in users are redirected to from "/"; empty shows a small page instead.
	Home string
	// NoBin makes the app say that deletions are final.
	NoBin bool
	// SetupCode authorizes the creation of the first account.
	SetupCode string
	// Address returns the client address of a request context.
	Address func(context.Context) netip.Addr
}

// App serves the pages.
type App struct {
	Services
	opts   Options
	cookie cookie
	// pending is the cookie of an unfinished sign-in, and browser the cookie of a known browser.
	pending, browser cookie
	// prefix is the path of the base URL. Browsers see it in front of every path; handlers don't.
	prefix string
	// referrer is the Referrer-Policy of all pages.
	referrer string
	// accountsExist caches that there is an account, which stays true once it is.
	accountsExist atomic.Bool
	sameOrigin    *http.CrossOriginProtection
}

// New returns the pages of an installation. It panics if a required service is missing.
func New(s Services, o Options) (*App, error) {
	s.require()
	base, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.Address == nil {
		o.Address = func(context.Context) netip.Addr { return netip.Addr{} }
	}
	a := &App{
		Services: s, opts: o, prefix: base.EscapedPath(), referrer: referrerPolicy(base),
		cookie: newSessionCookie(base), pending: newPendingCookie(base), browser: newBrowserCookie(base),
	}
	a.sameOrigin = http.NewCrossOriginProtection()
	// A proxy may forward another Host than the one in the browser's address bar.
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

		"GET " + SharedPath + "{token}": a.showShared,

		"GET " + codePath:                           a.showCode,
		"POST " + codePath:                          a.enterCode,
		"POST " + SignInPath + "/passkey":           a.beginPasskey,
		"POST " + SignInPath + "/passkey/finish":    a.signInWithPasskey,
		"POST " + SignInPath + "/upstream":          a.beginUpstream,
		"GET " + UpstreamPath:                       a.upstreamCallback,
		"GET " + connectPath:                        a.showConnect,
		"POST " + connectPath:                       a.connect,
		"POST " + StepUpPath + "/upstream":          a.requireSession(a.beginStepUpUpstream),
		"GET " + ResetPath:                          a.showReset,
		"POST " + ResetPath:                         a.reset,
		"GET " + ForgotPath:                         a.showForgot,
		"GET " + JoinPath:                           a.showJoin,
		"POST " + JoinPath:                          a.join,
		"GET " + StepUpPath:                         a.requireSession(a.showStepUp),
		"POST " + StepUpPath:                        a.requireSession(a.stepUp),
		"POST " + StepUpPath + "/passkey":           a.requireSession(a.beginStepUpPasskey),
		"POST " + StepUpPath + "/passkey/finish":    a.requireSession(a.stepUpWithPasskey),
		"GET " + SecurityPath:                       a.requireSession(a.showSecurity),
		"POST " + SecurityPath + "/password":        a.requireSession(a.changePassword),
		"POST " + SecurityPath + "/passkeys":        a.requireSession(a.beginNewPasskey),
		"POST " + SecurityPath + "/passkeys/finish": a.requireSession(a.addPasskey),
		"POST " + SecurityPath + "/passkeys/remove": a.requireSession(a.removePasskey),
		"POST " + totpPath:                          a.requireSession(a.beginTOTP),
		"GET " + totpPath:                           a.requireSession(a.showTOTP),
		"POST " + totpPath + "/confirm":             a.requireSession(a.confirmTOTP),
		"POST " + totpPath + "/codes":               a.requireSession(a.renewCodes),
		"POST " + totpPath + "/remove":              a.requireSession(a.removeTOTP),
	} {
		mux.Handle(pattern, a.Guard(h))
	}
	for _, f := range files {
		mux.Handle("GET "+f.path, f)
	}
}

// Guard refuses cross-origin requests with a method that changes something (CSRF). Other packages with forms use it as
// well.
func (a *App) Guard(h http.Handler) http.Handler { return a.sameOrigin.Handler(h) }

func (a *App) crossOrigin(w http.ResponseWriter, r *http.Request) {
	a.fail(w, r, http.StatusForbidden, "cross_origin")
}

// signedIn returns the session of the request's cookie if it is valid.
func (a *App) signedIn(r *http.Request) (credential.FoundSession, bool) {
	token, ok := a.cookie.read(r)
	if !ok {
		return credential.FoundSession{}, false
	}
	found, err := a.Sessions.Find(r.Context(), token)
	if err != nil {
		if !core.IsKind(err, core.KindUnauthenticated) && r.Context().Err() == nil {
			a.Log.ErrorContext(r.Context(), "session lookup failed", slog.Any("error", err))
		}
		return credential.FoundSession{}, false
	}
	return found, true
}

// hasAccounts reports whether the installation has an account.
func (a *App) hasAccounts(ctx context.Context) (bool, error) {
	if a.accountsExist.Load() {
		return true, nil
	}
	users, err := a.Accounts.List(ctx, core.Operator(""))
	if err != nil {
		return false, err
	}
	if len(users) > 0 {
		a.accountsExist.Store(true)
	}
	return len(users) > 0, nil
}

// welcomePage is the content of the page for visitors.
type welcomePage struct {
	// NoAccounts is set until the first account is created.
	NoAccounts bool
}

// home serves "/": the welcome page, or the app for signed-in users.
func (a *App) home(w http.ResponseWriter, r *http.Request) {
	found, ok := a.signedIn(r)
	if !ok {
		some, err := a.hasAccounts(r.Context())
		if err != nil {
			a.serverError(w, r, err)
			return
		}
		a.show(w, r, http.StatusOK, "welcome", welcomePage{NoAccounts: !some})
		return
	}
	if a.opts.Home != "" {
		a.seeOther(w, a.opts.Home)
		return
	}
	a.show(w, r, http.StatusOK, "home", found)
}

// serverError responds to an internal error, which it logs, or to an unavailable database.
func (a *App) serverError(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, r.Context().Err()) {
		return // the client has disconnected
	}
	if core.IsKind(err, core.KindUnavailable) {
		a.fail(w, r, http.StatusServiceUnavailable, "unavailable")
		return
	}
	a.Log.ErrorContext(r.Context(), "page failed", slog.Any("error", err))
	a.fail(w, r, http.StatusInternalServerError, "internal")
}

// address returns the client address of a request, or "" if it is unknown.
func (a *App) address(ctx context.Context) string {
	if addr := a.opts.Address(ctx); addr.IsValid() {
		return addr.String()
	}
	return ""
}

// parseForm parses a posted form of at most maxForm bytes.
func parseForm(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	return r.ParseForm() == nil
}

// maxForm bounds a posted form. The longest ones have a path to return to or a passkey response.
const maxForm = 64 << 10

// trustworthy reports whether browsers treat a URL as potentially trustworthy (W3C Secure Contexts): https, or this
// machine.
func trustworthy(base *url.URL) bool {
	host := base.Hostname()
	ip, err := netip.ParseAddr(host)
	return base.Scheme == "https" || err == nil && ip.IsLoopback() || host == "localhost" ||
		strings.HasSuffix(host, ".localhost")
}

// referrerPolicy returns no-referrer wherever browsers send Sec-Fetch-Site. Over plain HTTP to another machine they
// don't, and no-referrer would also turn the Origin of a form into null (Fetch, 3.2), so that Guard would refuse our
// own forms.
func referrerPolicy(base *url.URL) string {
	if trustworthy(base) {
		return "no-referrer"
	}
	return "same-origin"
}
