package app

import (
	"context"
	"log/slog"
	"time"

	"carrel/internal/accountdata"
	"carrel/internal/config"
)

// Scrub erases remnants of deleted accounts from free pages of the database files. It needs disk space for a second
// copy of the database; a failed attempt is repeated by the next housekeeping round.
func (in *App) Scrub(ctx context.Context, log *slog.Logger) error {
	due, err := in.Store.ScrubDue(ctx)
	if err != nil || !due {
		return err
	}
	started := time.Now()
	if err := in.Store.Scrub(ctx); err != nil {
		return err
	}
	log.InfoContext(ctx, "remnants of deleted accounts were erased from the database files",
		slog.Duration("took", time.Since(started)))
	return nil
}

// wireAccountData creates the services that export and delete accounts.
func (in *App) wireAccountData(cfg config.Config, log *slog.Logger) {
	in.Archives = accountdata.NewArchives(accountdata.Contents{
		Accounts: in.Accounts, Billing: in.Billing, Agents: in.Agents, Sources: in.Sources, Memories: in.memories,
		Saved:      in.saved,
		Bin:        in.bin,
		Favourites: in.favourites, Threads: in.threads, Transcripts: in.transcripts, Links: in.links,
		Credentials: in.Credentials,
		Sessions:    in.sessions, Webhooks: in.webhooks,
		Audit: in.Audit, Store: in.Store, Originals: in.Originals,
	}, in.Clock)
	o := accountdata.ExportOptions{Keep: time.Duration(cfg.ExportDays) * 24 * time.Hour}
	if cfg.Database == "" {
		// A PostgreSQL server has its own disk.
		o.Free = func() (uint64, error) {
			free, _, err := DiskSpace(cfg.Data)
			return free, err
		}
	}
	in.exports = accountdata.NewExports(accountdata.ExportDeps{
		Store: in.Store, Archives: in.Archives, Tasks: in.Tasks, Clock: in.Clock, Audit: in.Audit,
	}, o)
	in.Tasks.Register(in.exports.Kind())
	in.Deletions = accountdata.NewDeletions(accountdata.DeletionDeps{
		Store: in.Store,
		Tasks: in.Tasks,
		Clock: in.Clock,
		Log:   log,
		Sweep: in.Originals.Sweep,
	})
	in.Tasks.Register(in.Deletions.Kind())
}
