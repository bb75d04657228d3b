package app

import (
	"log/slog"

	"carrel/internal/config"
	"carrel/internal/httpapi"
	"carrel/internal/mcp"
	"carrel/internal/server"
	"carrel/internal/streamwatch"
)

// newMCP creates the MCP endpoint.
func (in *App) newMCP(
	cfg config.Config, log *slog.Logger, api *httpapi.API, problems *httpapi.Problems,
	streams *streamwatch.Slots, draining <-chan struct{},
) *mcp.Server {
	return mcp.New(mcp.Deps{
		BaseURL: cfg.BaseURL, API: api, Threads: in.threads,
		Authenticate: in.Credentials.Authenticate, Admit: server.Admit, Problem: problems.Write,
		Streams: streams, Sealer: in.replies, Draining: draining, Log: log,
	}, mcp.Options{Version: Version(), Wait: cfg.TurnWait, Changed: in.Store.Version})
}
