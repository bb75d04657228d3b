package importer

import (
	"context"
	"time"

	"carrel/internal/core"
)

const (
	// syncInterval is how often a node checks for sources that are due.
	syncInterval  = 30 * time.Second
	maxDueSources = 50
	// uploadLife is how long an unfinished upload is kept after its last byte, and the result of an imported one.
	uploadLife = 48 * time.Hour
)

// Run syncs due sources until the context ends.
func (s *Service) Run(ctx context.Context) error {
	look := time.NewTicker(syncInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		if err := s.SyncDue(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "syncing due sources failed; retrying", "error", err)
		}
	}
}

// PruneUploads deletes the incomplete and the imported uploads that have not been written to for a while.
func (s *Service) PruneUploads(ctx context.Context) error {
	return s.store.PruneUploads(ctx, s.clock.Now().Add(-uploadLife))
}

// SyncDue starts imports of the sources that are due. A source with an active import is skipped.
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
