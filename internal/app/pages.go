package app

import (
	"context"
	"log/slog"

	"carrel/internal/account"
	"carrel/internal/config"
	"carrel/internal/secretbox"
	"carrel/internal/server"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
	"carrel/internal/signin/upstream"
	"carrel/internal/webapp"
)

// wireSignIn creates the services that manage accounts and verify identities.
func (in *installation) wireSignIn(cfg config.Config, secret []byte, log *slog.Logger) error {
	sealer, err := secretbox.New(secret, "authenticator apps")
	if err != nil {
		return err
	}
	in.signIn = signin.NewService(signin.Deps{
		Store: in.store, Clock: in.clock, Audit: in.audit, Sessions: in.sessions, Sealer: sealer,
		Key: secret, Issuer: "Carrel", OfferTOTP: cfg.TOTP, LimitAttempts: cfg.RateLimits,
	})
	in.accounts = account.NewService(account.Deps{
		Store: in.store, Clock: in.clock, Audit: in.audit, Passwords: in.signIn.Passwords, DefaultPlan: cfg.DefaultPlan,
	})
	if o := cfg.OIDC; o.On() {
		in.upstream = upstream.New(upstream.Deps{
			Store: in.store, Pending: in.signIn.Pending, Clock: in.clock, Audit: in.audit, Log: log,
			Options: upstream.Options{
				Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret, Name: o.Label(),
				SignUp: o.SignUp, Plan: cfg.DefaultPlan, RedirectURL: cfg.BaseURL + webapp.UpstreamPath,
			},
		})
		in.closers = append(in.closers, in.upstream.Close)
	}
	in.passkeys, err = passkey.New(passkey.Deps{
		Store: in.store, Pending: in.signIn.Pending, Clock: in.clock, Audit: in.audit, BaseURL: cfg.BaseURL,
	})
	return err
}

// newPages returns the pages of a server.
func (in *installation) newPages(cfg config.Config, log *slog.Logger) (*webapp.App, error) {
	return webapp.New(webapp.Services{
		Accounts: in.accounts, Sessions: in.sessions, Auth: in.signIn, Passkeys: in.passkeys, Upstream: in.upstream,
		Audit: in.audit, Clock: in.clock, Log: log,
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
