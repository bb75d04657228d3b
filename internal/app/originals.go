package app

import (
	"context"
	"time"

	"carrel/internal/blob"
	"carrel/internal/config"
)

// originalsFolder is the folder of original files in the data folder.
const originalsFolder = "originals"

// wireOriginals creates the storage of original files.
func (in *App) wireOriginals(cfg config.Config) error {
	storage, closeIdle, err := OriginalsStorage(cfg)
	if err != nil {
		return err
	}
	in.closers = append(in.closers, closeIdle)
	in.originals = storage
	in.Originals = blob.NewService(blob.Deps{Storage: storage, Store: in.Store, Clock: in.Clock}, cfg.Originals.Keep)
	return nil
}

// wait waits for d or until the context ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
