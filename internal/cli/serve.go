package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"carrel/internal/app"
	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/oauth"
	"carrel/internal/obs"
	"carrel/internal/processor"
	"carrel/internal/signin"
	"carrel/internal/webapp"
	"carrel/internal/webhook"
)

type serveCommand struct {
	Addr        *string `placeholder:"HOST:PORT" help:"${help_addr}"`
	Data        *string `placeholder:"DIR" help:"${help_data}"`
	BaseURL     *string `name:"base-url" placeholder:"URL" help:"${help_base_url}"`
	Database    *string `placeholder:"URL" help:"${help_database}"`
	TLSCert     *string `name:"tls-cert" placeholder:"FILE" help:"${help_tls_cert}"`
	TLSKey      *string `name:"tls-key" placeholder:"FILE" help:"${help_tls_key}"`
	MetricsAddr *string `name:"metrics-addr" placeholder:"HOST:PORT" help:"${help_metrics_addr}"`
	LogLevel    *string `name:"log-level" placeholder:"LEVEL" help:"${help_log_level}"`
	LogFormat   *string `name:"log-format" placeholder:"FORMAT" help:"${help_log_format}"`
	Demo        bool    `help:"${help_demo}"`
}

func (c serveCommand) load(env *Env) (config.Config, error) {
	f := flags{
		"addr": c.Addr, "data": c.Data, "base-url": c.BaseURL, "database": c.Database, "tls-cert": c.TLSCert,
		"tls-key": c.TLSKey, "metrics-addr": c.MetricsAddr, "log-level": c.LogLevel, "log-format": c.LogFormat,
	}
	if c.Demo {
		yes := "true"
		f["demo"] = &yes
	}
	return f.load(env)
}

// Run serves until the process receives SIGINT or SIGTERM. SIGHUP reloads the certificate and never ends the process.
func (c serveCommand) Run(ctx context.Context, env *Env) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	defer runtime.KeepAlive(app.TuneGC())
	processor.AddThreads()
	cfg, err := c.load(env)
	if err != nil {
		return err
	}
	log := newLogger(env, cfg)
	for _, w := range cfg.Warnings {
		log.WarnContext(ctx, w)
	}
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	lock, err := lockFolder(cfg.Data)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // the kernel releases the lock in any case
	in, err := app.Open(ctx, cfg, app.Options{Log: log, Answerer: env.Answerer})
	if err != nil {
		return err
	}
	err = in.Serve(ctx, app.ServeOptions{
		Log:       log,
		Listening: func(ctx context.Context, cfg config.Config) error { return welcome(ctx, env, cfg, in) },
		Reload:    hangups,
	})
	return errors.Join(err, in.Close())
}

func newLogger(env *Env, cfg config.Config) *slog.Logger {
	return obs.NewLogger(env.Err, obs.LogOptions{
		Format: cfg.LogFormat, Level: cfg.LogLevel, Terminal: isTerminal(env.Err),
		Prefixes: append([]string{
			cfg.KeyPrefix, cfg.CodePrefix, credential.SessionPrefix, signin.PendingPrefix, signin.BrowserPrefix,
			webhook.SecretPrefix, "sk_live", "sk_test", "rk_live", "rk_test",
		},
			oauth.PrefixesFor(cfg.KeyPrefix).All()...),
	})
}

// welcome prints how to create the first account, or how to use the demo.
func welcome(ctx context.Context, env *Env, cfg config.Config, in *app.App) error {
	if cfg.Demo {
		return startDemo(ctx, env, cfg, in)
	}
	users, err := in.Accounts.List(ctx, core.Operator(""))
	if err != nil || len(users) > 0 {
		return err
	}
	where := "--data " + core.ShellQuote(cfg.Data)
	if cfg.Database != "" {
		where = `--database "$CARREL_DATABASE"`
	}
	_, err = fmt.Fprintf(env.Out, `There is no account yet. Create the first one, which owns this installation:

  Open       %s%s
  and enter  %s

The code works once. Or create the account here; the command asks for the password:

  carrel admin %s user create --email you@example.org --name "Your Name" --password -

Then create an API key:

  carrel admin %s key create --user you@example.org --name laptop

`, cfg.BaseURL, webapp.SetupPath, in.SetupCode, where, where)
	return err
}
