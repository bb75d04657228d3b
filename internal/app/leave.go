package app

import (
	"context"
	"log/slog"
	"time"

	"carrel/internal/config"
	"carrel/internal/accountdata"
)

// scrub removes what deleted accounts left in free space of the database's files. It fails where the disk has no room
// for a second copy of the database; the next round tries again.
func (in *installation) scrub(ctx context.Context, log *slog.Logger) error {
	due, err := in.store.ScrubDue(ctx)
	if err != nil || !due {
		return err
	}
	started := time.Now()
	if err := in.store.Scrub(ctx); err != nil {
		return err
	}
	log.InfoContext(ctx, "remnants of deleted accounts were removed from the database's files",
		slog.Duration("took", time.Since(started)))
	return nil
}

// wireLeave makes what accounts are exported and deleted with.
func (in *installation) wireLeave(cfg config.Config, log *slog.Logger) {
	in.archives = accountdata.NewArchives(accountdata.Contents{
		Profiles: in.profiles, Usages: in.usages, Plans: in.plans, Agents: in.agents, Sources: in.sources, Memories: in.memories,
		Favourites: in.favourites, Threads: in.threads, Credentials: in.credentials, Sessions: in.sessions, Webhooks: in.webhooks,
		Audit: in.audit, Store: in.store,
	}, in.clock)
	o := accountdata.ExportOptions{Keep: time.Duration(cfg.ExportDays) * 24 * time.Hour}
	if cfg.Database == "" {
		// Another database has its room elsewhere.
		o.Free = func() (uint64, error) { return freeSpace(cfg.Data) }
	}
	in.exports = accountdata.NewExports(accountdata.ExportDeps{
		Store: in.store, Archives: in.archives, Tasks: in.tasks, Clock: in.clock, Audit: in.audit,
	}, o)
	in.tasks.Register(in.exports.Kind())
	in.deletions = accountdata.NewDeletions(accountdata.DeletionDeps{Store: in.store, Tasks: in.tasks, Clock: in.clock, Log: log})
	in.tasks.Register(in.deletions.Kind())
}
