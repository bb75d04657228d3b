package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"carrel/client"
	"carrel/internal/app"
)

// loginCommand stores a credential for a server.
type loginCommand struct {
	Server    string `placeholder:"URL" help:"The address of the server. Default: that of the profile, or http://127.0.0.1:8080." env:"CARREL_SERVER"`
	Profile   string `placeholder:"NAME" help:"The name under which the sign-in is stored. Default: the host of the server." env:"CARREL_PROFILE"`
	Key       bool   `xor:"way" help:"Read an API key from standard input or a prompt, instead of signing in with a browser."`
	Code      string `xor:"way" placeholder:"CODE" help:"Exchange a connect code. - reads it from standard input or a prompt."`
	NoBrowser bool   `name:"no-browser" help:"Print the address of the sign-in page without opening a browser."`
	JSON      bool   `help:"Print JSON."`
}

// defaultServer is the address of a server with default settings on this machine.
const defaultServer = "http://127.0.0.1:8080"

// loginTimeout limits the time that a user has for signing in.
const loginTimeout = 10 * time.Minute

// signInScopes are all scopes that a program can have, with a refresh token.
func signInScopes() []string {
	return []string{"openid", "profile", "email", "offline_access", "agents", "manage"}
}

// signedInPage is the page that the browser shows after the sign-in.
const signedInPage = `<!doctype html><meta charset="utf-8"><title>Carrel</title>
<p style="font: 1rem system-ui; margin: 4rem auto; max-width: 30rem">
Close this page and return to the terminal.`

// Run signs in and stores the credential.
func (c loginCommand) Run(ctx context.Context, env *Env) error {
	store, err := env.profileStore()
	if err != nil {
		return err
	}
	file, err := store.read()
	if err != nil {
		return err
	}
	server := strings.TrimSuffix(c.Server, "/")
	if p, ok := file.Profiles[cmp.Or(c.Profile, file.Default)]; ok && server == "" {
		server = p.Server
	}
	server = cmp.Or(server, defaultServer)
	address, err := url.Parse(server)
	if err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" {
		return &commandError{message: "the address of the server must begin with https:// or http://", code: exitUsage}
	}
	if address.Scheme == "http" && !isLoopback(address.Hostname()) {
		_, _ = fmt.Fprintf(env.Err, "Warning: the connection to %s is not encrypted; others may read the credential.\n",
			address.Host)
	}
	transport := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	defer transport.CloseIdleConnections()
	p, err := c.signIn(ctx, env, transport, server)
	if err != nil {
		return err
	}
	name := cmp.Or(c.Profile, address.Host)
	err = store.update(ctx, func(file *profileFile) error {
		if old, ok := file.Profiles[name]; ok && old.Server == p.Server {
			p.Agent = old.Agent
		}
		file.Profiles[name], file.Default = p, name
		return nil
	})
	if err != nil {
		return err
	}
	s, err := connectFlags{Profile: name, JSON: c.JSON}.open(env)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.done(map[string]any{"profile": name, "server": server, "kind": p.Kind, "account": p.Account},
		"Signed in to %s%s. Ask something: carrel ask \"…\"", server, as(p.Account))
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// as returns " as NAME", or an empty text.
func as(account string) string {
	if account == "" {
		return ""
	}
	return " as " + clean(account)
}

// signIn obtains a credential and verifies it.
func (c loginCommand) signIn(ctx context.Context, env *Env, transport *http.Client, server string) (*profile, error) {
	p := &profile{Server: server, Kind: profileKey}
	opts := client.Options{HTTP: transport, UserAgent: "carrel/" + app.Version()}
	var err error
	switch {
	case c.Key:
		p.Key, err = readSecret(env, "-", "API key")
	case c.Code != "":
		p.Key, err = exchangeCode(ctx, env, client.New(server, nil, opts), c.Code)
	default:
		p.Kind = profileOAuth
		err = c.browserSignIn(ctx, env, transport, p)
	}
	if err != nil {
		return nil, err
	}
	token := cmp.Or(p.Key, p.Access)
	if token == "" {
		return nil, &commandError{message: "the key is empty", code: exitUsage}
	}
	api := client.New(server, client.APIKey(token), opts)
	if _, err := api.ListAgents(ctx, client.ListAgentsParams{Limit: 1}); err != nil {
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Status == http.StatusUnauthorized {
			return nil, err // a key without the scope agents is refused with 403 and may still export
		}
	}
	p.Account, err = accountOf(ctx, api, p.Kind)
	return p, err
}

// accountOf returns the e-mail address of the account, or an empty text if the credential may not read it.
func accountOf(ctx context.Context, api *client.Client, kind string) (string, error) {
	if kind == profileOAuth {
		info, err := api.Userinfo(ctx)
		if err != nil {
			return "", err
		}
		return info.Email, nil
	}
	reply, err := api.GetAccount(ctx)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusForbidden {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return reply.Account.Email, nil
}

func exchangeCode(ctx context.Context, env *Env, api *client.Client, code string) (string, error) {
	code, err := readSecret(env, code, "Connect code")
	if err != nil {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "a machine without a name"
	}
	reply, err := api.ExchangeConnectCode(ctx, client.ConnectExchange{
		Code: strings.TrimSpace(code), Client: oneLine("carrel on "+host, 60),
	})
	if err != nil {
		return "", err
	}
	return reply.Token, nil
}

func (c loginCommand) browserSignIn(ctx context.Context, env *Env, transport *http.Client, p *profile) error {
	ctx, cancel := context.WithTimeoutCause(ctx, loginTimeout, &commandError{
		message: "nobody signed in within ten minutes", code: exitSignIn, hint: "Run: carrel login",
	})
	defer cancel()
	server, err := client.Discover(ctx, transport, p.Server)
	if err != nil {
		return err
	}
	id, tokens, err := server.SignIn(ctx, client.SignIn{
		ClientName: "Carrel CLI", Scopes: signInScopes(), Page: signedInPage,
		Open: func(address string) error {
			_, err := fmt.Fprintf(env.Err, "Sign in at:\n\n  %s\n\nWaiting for the browser…\n", address)
			if err == nil && !c.NoBrowser {
				// The address is printed, so a machine without a browser can go on with another one's.
				_ = openBrowser(ctx, env, address)
			}
			return err
		},
	})
	if err != nil {
		return err
	}
	p.ClientID, p.Access, p.Refresh, p.Expiry = id, tokens.Access, tokens.Refresh, tokens.Expiry
	return nil
}

// openBrowser opens an address with the program in BROWSER, or with the one of the desktop.
func openBrowser(ctx context.Context, env *Env, address string) error {
	program := env.Getenv("BROWSER")
	switch {
	case program != "":
	case runtime.GOOS == "darwin":
		program = "open"
	default:
		program = "xdg-open"
	}
	//nolint:gosec // the user chooses the program, and the address is one argument
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, address)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // a browser may run longer than the command
	return nil
}

type logoutCommand struct {
	Profile string `placeholder:"NAME" help:"The profile. Default: the last sign-in." env:"CARREL_PROFILE"`
}

// Run revokes the tokens of an OAuth sign-in and removes the profile.
func (c logoutCommand) Run(ctx context.Context, env *Env) error {
	store, err := env.profileStore()
	if err != nil {
		return err
	}
	file, err := store.read()
	if err != nil {
		return err
	}
	name, p, err := file.find(c.Profile, "")
	if err != nil {
		return err
	}
	note := " The API key stays valid; revoke it in the settings: " + p.Server + "/settings/connections"
	if p.Kind == profileOAuth {
		note = ""
		if err := revoke(ctx, p); err != nil {
			note = fmt.Sprintf(" The server did not confirm the revocation (%v); revoke it in the settings: %s", err,
				p.Server+"/settings/connections")
		}
	}
	err = store.update(ctx, func(file *profileFile) error {
		delete(file.Profiles, name)
		if file.Default == name {
			file.Default = ""
			if left := file.names(); len(left) > 0 {
				file.Default = left[0]
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "Signed out of %s.%s\n", p.Server, note)
	return err
}

func revoke(ctx context.Context, p *profile) error {
	transport := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	defer transport.CloseIdleConnections()
	server, err := client.Discover(ctx, transport, p.Server)
	if err != nil {
		return err
	}
	return server.Revoke(ctx, p.ClientID, cmp.Or(p.Refresh, p.Access))
}

type whoamiCommand struct{ connectFlags }

// Run prints the account and the credential, after the server has accepted it.
func (c whoamiCommand) Run(ctx context.Context, env *Env) error {
	return c.with(env, func(s *session) error {
		if _, err := s.ListAgents(ctx, client.ListAgentsParams{Limit: 1}); err != nil {
			return err
		}
		account, err := accountOf(ctx, s.Client, s.profile.Kind)
		if err != nil {
			return err
		}
		kind := "API key"
		if s.profile.Kind == profileOAuth {
			kind = "browser sign-in"
		}
		return s.done(
			map[string]any{"server": s.Base(), "profile": s.name, "account": account, "kind": s.profile.Kind},
			"%s on %s (%s%s)", cmp.Or(clean(account), "An account whose address this key may not read"), s.Base(), kind,
			profileNote(s.name))
	})
}

func profileNote(name string) string {
	if name == "" {
		return ""
	}
	return ", profile " + name
}

type profilesCommand struct {
	Use  string `arg:"" optional:"" name:"name" help:"The profile to use from now on."`
	JSON bool   `help:"Print JSON."`
}

// Run lists the profiles, or chooses the default one.
func (c profilesCommand) Run(ctx context.Context, env *Env) error {
	store, err := env.profileStore()
	if err != nil {
		return err
	}
	if c.Use != "" {
		err := store.update(ctx, func(file *profileFile) error {
			_, _, err := file.find(c.Use, "")
			file.Default = c.Use
			return err
		})
		if err != nil {
			return err
		}
	}
	file, err := store.read()
	if err != nil {
		return err
	}
	type row struct {
		Name    string `json:"name"`
		Server  string `json:"server"`
		Kind    string `json:"kind"`
		Account string `json:"account,omitempty"`
		Default bool   `json:"default"`
	}
	var rows []row
	for _, name := range file.names() {
		p := file.Profiles[name]
		rows = append(rows, row{name, p.Server, p.Kind, p.Account, name == file.Default})
	}
	s := &session{env: env, screen: newScreen(env, env.Out), json: c.JSON}
	return list(s, "profiles", rows, "There is no profile. Run: carrel login --server https://your-server",
		[]string{"", "NAME", "SERVER", "SIGN-IN", "ACCOUNT"}, func(r row) []string {
			mark := " "
			if r.Default {
				mark = "*"
			}
			return []string{mark, r.Name, r.Server, r.Kind, r.Account}
		})
}
