package app

import (
	"context"
	"log/slog"

	"carrel/internal/account"
	"carrel/internal/config"
	"carrel/internal/credential"
	"carrel/internal/passkey"
	"carrel/internal/secretbox"
	"carrel/internal/server"
	"carrel/internal/upstream"
	"carrel/internal/webapp"
)

// wireSignIn creates the services for passwords, second factors, passkeys and the OpenID provider.
func (in *App) wireSignIn(cfg config.Config, secret []byte, log *slog.Logger) error {
	sealer, err := secretbox.New(secret, "authenticator apps")
	if err != nil {
		return err
	}
	in.Accounts.RecordTo(in.Audit)
	in.browsers = credential.NewBrowsers(in.Store, in.Clock, secret)
	in.limits = account.NewLimits(in.Store, in.browsers, in.Clock, secret, cfg.RateLimits)
	in.pendings = credential.NewPendings(in.Store, in.Clock, secret)
	in.factors = account.NewFactors(in.Store, in.Clock, sealer, in.Audit, account.FactorOptions{Key: secret, Issuer: "Carrel", Offered: cfg.TOTP})
	in.Resets = account.NewResets(in.Store, in.Accounts, in.Clock, secret, in.Audit)
	in.proofs = account.NewProofs(in.Store, in.Accounts, in.factors, in.limits, in.sessions, in.Clock, in.Audit)
	if o := cfg.OIDC; o.On() {
		in.upstream = upstream.New(upstream.Options{
			Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret, Name: o.Label(), SignUp: o.SignUp, Plan: cfg.DefaultPlan,
			RedirectURL: cfg.BaseURL + webapp.UpstreamPath,
		}, in.Store, in.pendings, in.Clock, in.Audit, log)
		in.closers = append(in.closers, in.upstream.Close)
	}
	in.passkeys, err = passkey.New(in.Store, in.pendings, in.Clock, in.Audit, cfg.BaseURL)
	return err
}

// newPages creates the server-rendered pages.
func (in *App) newPages(cfg config.Config, log *slog.Logger) (*webapp.App, error) {
	return webapp.New(webapp.Services{
		Accounts: in.Accounts, Sessions: in.sessions, Limits: in.limits, Factors: in.factors, Resets: in.Resets, Proofs: in.proofs,
		Pendings: in.pendings, Browsers: in.browsers, Passkeys: in.passkeys, Upstream: in.upstream, Audit: in.Audit, Clock: in.Clock, Log: log,
	}, webapp.Options{BaseURL: cfg.BaseURL, Home: webapp.AppHome, SetupCode: in.SetupCode, Address: server.ClientAddr})
}

// caller returns the client address and the program name of the request in ctx.
func caller(ctx context.Context) (address, program string) {
	return clientAddress(ctx), server.Program(ctx)
}

// clientAddress returns the client address of the request in ctx, or "" for commands.
func clientAddress(ctx context.Context) string {
	if addr := server.ClientAddr(ctx); addr.IsValid() {
		return addr.String()
	}
	return ""
}
