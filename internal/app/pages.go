package app

import (
	"context"
	"log/slog"

	"carrel/internal/config"
	"carrel/internal/server"
	"carrel/internal/webapp"
)

// newPages returns the pages of a server.
func (in *installation) newPages(cfg config.Config, log *slog.Logger) (*webapp.App, error) {
	return webapp.New(webapp.Services{
		Accounts: in.accounts, Sessions: in.sessions, Audit: in.audit, Clock: in.clock, Log: log,
	}, webapp.Options{BaseURL: cfg.BaseURL, SetupCode: in.setupCode, Limits: cfg.RateLimits, Address: server.ClientAddr})
}

// clientAddress is where the request of a context came from; commands come from nowhere.
func clientAddress(ctx context.Context) string {
	if addr := server.ClientAddr(ctx); addr.IsValid() {
		return addr.String()
	}
	return ""
}
