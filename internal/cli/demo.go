package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/app"
	"carrel/internal/cli/demo"
	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/format"
	"carrel/internal/webapp"
)

// The demo account. Its random secrets are stored in files of mode 0600 and never logged. The demo listens on loopback
// only.
const (
	demoEmail        = "demo@example.org"
	demoKeyFile      = "demo.key"
	demoPasswordFile = "demo.password"
)

// startDemo creates the missing parts of the demo and prints how to use it. A second start keeps everything.
func startDemo(ctx context.Context, env *Env, cfg config.Config, in *app.App) error {
	passwordFile, keyFile := filepath.Join(cfg.Data, demoPasswordFile), filepath.Join(cfg.Data, demoKeyFile)
	user, err := in.Accounts.ByEmail(ctx, core.Operator(""), demoEmail)
	if core.IsKind(err, core.KindNotFound) {
		user, err = demoAccount(ctx, in, passwordFile)
	}
	if err != nil {
		return fmt.Errorf("create the demo account: %w", err)
	}
	actor := core.Operator(user.ID)
	a, err := demoAgent(ctx, in, actor)
	if err != nil {
		return fmt.Errorf("create the demo agent: %w", err)
	}
	if err := demoKey(ctx, in, actor, keyFile); err != nil {
		return fmt.Errorf("create the demo key: %w", err)
	}
	return showDemo(env, cfg, a, passwordFile, keyFile)
}

func demoAccount(ctx context.Context, in *app.App, passwordFile string) (account.User, error) {
	password := strings.ToLower(rand.Text())
	// The file is written first: a file without an account does no harm, an account with an unknown password would.
	if err := writeSecret(passwordFile, password); err != nil {
		return account.User{}, err
	}
	return in.Accounts.Create(ctx, core.Operator(""), account.NewUser{
		Email: demoEmail, Name: "Demo", Password: password, Role: core.RoleOwner,
	})
}

// demoAgent returns the demo agent and creates and fills it if necessary, so that an interrupted start is completed by
// the next.
func demoAgent(ctx context.Context, in *app.App, actor core.Actor) (agent.Agent, error) {
	agents, _, err := in.Agents.List(ctx, actor, core.Page{Limit: core.MaxLimit})
	if err != nil {
		return agent.Agent{}, err
	}
	for _, a := range agents {
		if a.Name == demo.AgentName {
			return a, fillDemo(ctx, in, actor, a)
		}
	}
	name, description, instructions := demo.AgentName, demo.AgentDescription, demo.AgentInstructions
	a, err := in.Agents.Create(ctx, actor,
		agent.Change{Name: &name, Description: &description, Instructions: &instructions})
	if err != nil {
		return agent.Agent{}, err
	}
	return a, fillDemo(ctx, in, actor, a)
}

func fillDemo(ctx context.Context, in *app.App, actor core.Actor, a agent.Agent) error {
	src, err := in.Sources.Default(ctx, actor, a.ID)
	if err != nil || src.Documents > 0 {
		return err
	}
	library := format.JSONL(ctx, bytes.NewReader(demo.Library()))
	_, err = in.Sources.Import(ctx, actor, src, documents(library), nil)
	return err
}

// demoKey creates an API key unless the file holds a valid one.
func demoKey(ctx context.Context, in *app.App, actor core.Actor, keyFile string) error {
	if b, err := os.ReadFile(keyFile); err == nil {
		if _, err := in.Credentials.Authenticate(ctx, strings.TrimSpace(string(b))); err == nil {
			return nil
		}
	}
	_, token, err := in.Credentials.CreateKey(ctx, actor, credential.NewKey{Name: "demo"})
	if err != nil {
		return err
	}
	return writeSecret(keyFile, token)
}

// writeSecret writes a secret to a file of mode 0600.
func writeSecret(path, secret string) error {
	_, err := writeWhole(path, true, func(w io.Writer) error {
		_, err := io.WriteString(w, secret+"\n")
		return err
	})
	return err
}

func showDemo(env *Env, cfg config.Config, a agent.Agent, passwordFile, keyFile string) error {
	keyFile, err := filepath.Abs(keyFile)
	if err != nil {
		return err
	}
	if passwordFile, err = filepath.Abs(passwordFile); err != nil {
		return err
	}
	get := `curl -s -H "Authorization: Bearer $(cat ` + core.ShellQuote(keyFile) + `)" `
	post := get + `-H 'Content-Type: application/json' `
	agents := cfg.BaseURL + "/api/agents"
	this := agents + "/" + a.ID
	_, err = fmt.Fprintf(env.Out, `
The Carrel demo is running at %s (API reference: %s/docs)

  Sign in   at %s as %s, password in %s
  API key   in %s

Three commands to try:

  # the agent "%s" and its library
  %s

  # search it, limited to some years
  %s

  # start a thread and ask
  %s

Stop with Ctrl-C. Everything stays in %s.

`, cfg.BaseURL, cfg.BaseURL, cfg.BaseURL+webapp.SignInPath, demoEmail, passwordFile, keyFile, a.Name, get+agents,
		post+this+`/search -d '{"query": "relational model of data", "fromYear": 1960, "toYear": 1979, "numResults": 3}'`,
		`THREAD=$(`+post+this+`/threads -d '{}' | grep -o 'thr_[a-z0-9]*' | head -n 1); `+
			post+this+`/threads/$THREAD/messages -d '{"text": "Who proposed the relational model?"}'`,
		cfg.Data)
	return err
}
