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

// wireSignIn makes the services with which people prove who they are.
func (in *installation) wireSignIn(cfg config.Config, secret []byte, log *slog.Logger) error {
	sealer, err := secretbox.New(secret, "authenticator apps")
	if err != nil {
		return err
	}
	in.accounts.RecordTo(in.audit)
	in.browsers = credential.NewBrowsers(in.store, in.clock, secret)
	in.limits = account.NewLimits(in.store, in.browsers, in.clock, secret, cfg.RateLimits)
	in.pendings = credential.NewPendings(in.store, in.clock, secret)
	in.factors = account.NewFactors(in.store, in.clock, sealer, in.audit, account.FactorOptions{Key: secret, Issuer: "Carrel", Offered: cfg.TOTP})
	in.resets = account.NewResets(in.store, in.accounts, in.clock, secret, in.audit)
	in.proofs = account.NewProofs(in.store, in.accounts, in.factors, in.limits, in.sessions, in.clock, in.audit)
	if o := cfg.OIDC; o.On() {
		in.upstream = upstream.New(upstream.Options{
			Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret, Name: o.Label(), SignUp: o.SignUp, Plan: cfg.DefaultPlan,
			RedirectURL: cfg.BaseURL + webapp.UpstreamPath,
		}, in.store, in.pendings, in.clock, in.audit, log)
		in.closers = append(in.closers, in.upstream.Close)
	}
	in.passkeys, err = passkey.New(in.store, in.pendings, in.clock, in.audit, cfg.BaseURL)
	return err
}

// newPages returns the pages of a server.
func (in *installation) newPages(cfg config.Config, log *slog.Logger) (*webapp.App, error) {
	return webapp.New(webapp.Services{
		Accounts: in.accounts, Sessions: in.sessions, Limits: in.limits, Factors: in.factors, Resets: in.resets, Proofs: in.proofs,
		Pendings: in.pendings, Browsers: in.browsers, Passkeys: in.passkeys, Upstream: in.upstream, Audit: in.audit, Clock: in.clock, Log: log,
	}, webapp.Options{BaseURL: cfg.BaseURL, Home: webapp.AppHome, SetupCode: in.setupCode, Address: server.ClientAddr})
}

// caller is where the request of a context came from, and what its program says of itself.
func caller(ctx context.Context) (address, program string) {
	return clientAddress(ctx), server.Program(ctx)
}

// clientAddress is where the request of a context came from; commands come from nowhere.
func clientAddress(ctx context.Context) string {
	if addr := server.ClientAddr(ctx); addr.IsValid() {
		return addr.String()
	}
	return ""
}
