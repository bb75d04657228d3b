package app

import (
	"context"
	"log/slog"

	"carrel/internal/account"
	"carrel/internal/config"
	"carrel/internal/server"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
	"carrel/internal/signin/upstream"
	"carrel/internal/store"
	"carrel/internal/webapp"
)

// wireSignIn creates the services for accounts, passwords, second factors, passkeys and the OpenID provider.
func (in *App) wireSignIn(cfg config.Config, k keys, log *slog.Logger) error {
	sealer, err := k.box(string(store.SealedTOTP))
	if err != nil {
		return err
	}
	in.SignIn = signin.NewService(signin.Deps{
		Store: in.Store, Clock: in.Clock, Audit: in.Audit, Sessions: in.sessions, Sealer: sealer,
		Key: k.hash, Issuer: "Carrel", OfferTOTP: cfg.TOTP, LimitAttempts: cfg.RateLimits,
	})
	in.Accounts = account.NewService(account.Deps{
		Store: in.Store, Clock: in.Clock, Audit: in.Audit, Passwords: in.SignIn.Passwords, DefaultPlan: cfg.DefaultPlan,
	})
	if o := cfg.OIDC; o.On() {
		in.upstream = upstream.New(upstream.Deps{
			Store: in.Store, Pending: in.SignIn.Pending, Clock: in.Clock, Audit: in.Audit, Log: log,
			Options: upstream.Options{
				Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret, Name: o.Label(),
				SignUp: o.SignUp, Plan: cfg.DefaultPlan, RedirectURL: cfg.BaseURL + webapp.UpstreamPath,
			},
		})
		in.closers = append(in.closers, in.upstream.Close)
	}
	in.passkeys, err = passkey.New(passkey.Deps{
		Store: in.Store, Pending: in.SignIn.Pending, Clock: in.Clock, Audit: in.Audit, BaseURL: cfg.BaseURL,
	})
	return err
}

// newPages creates the server-rendered pages.
func (in *App) newPages(cfg config.Config, log *slog.Logger) (*webapp.App, error) {
	return webapp.New(webapp.Services{
		Accounts: in.Accounts, Sessions: in.sessions, Auth: in.SignIn, Passkeys: in.passkeys, Upstream: in.upstream,
		Links: in.links,
		Audit: in.Audit, Clock: in.Clock, Log: log,
	}, webapp.Options{
		BaseURL: cfg.BaseURL, Home: webapp.AppHome, NoBin: cfg.Retention.BinDays == 0, SetupCode: in.SetupCode,
		Address: server.ClientAddr,
	})
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
