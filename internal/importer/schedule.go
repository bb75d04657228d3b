package importer

import (
	"context"
	"time"

	"carrel/internal/core"
)

const (
	// lookEvery is how often a server looks for sources that are due.
	syncInterval  = 30 * time.Second
	maxDueSources = 50
	// uploadLife is how long an upload may pause before it is thrown away.
	uploadLife = 48 * time.Hour
	pruneEvery = time.Hour
)

// Run has sources synced when they are due, and throws old uploads away, until the context ends.
func (s *Service) Run(ctx context.Context) error {
	look, prune := time.NewTicker(syncInterval), time.NewTicker(pruneEvery)
	defer look.Stop()
	defer prune.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			err = s.SyncDue(ctx)
		case <-prune.C:
			err = s.store.PruneUploads(ctx, s.clock.Now().Add(-uploadLife))
		}
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "could not look after the sources; it is tried again", "error", err)
		}
	}
}

// SyncDue starts the imports of sources that are due. A source whose import still runs is left to it.
func (s *Service) SyncDue(ctx context.Context) error {
	due, err := s.store.DueSources(ctx, s.clock.Now(), maxDueSources)
	if err != nil {
		return err
	}
	for _, src := range due {
		_, err := s.store.ActiveTask(ctx, src.ID)
		if err == nil {
			continue
		}
		if !core.IsKind(err, core.KindNotFound) {
			return err
		}
		_, userID, err := s.store.SourceByID(ctx, src.ID)
		if err != nil {
			return err
		}
		if _, err := s.start(ctx, userID, src.ID); err != nil {
			return err
		}
	}
	return nil
}
