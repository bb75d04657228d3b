// Package blob stores the original files of documents. A file is stored once under the SHA-256 of its content, in a
// folder or in an S3 bucket, however many documents refer to it. Document rows refer to files by a foreign key; files
// without a document are deleted by Sweep.
package blob

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"carrel/internal/core"
)

// Grace is how long an import may take from storing a file to storing the document that refers to it. Sweep deletes
// unreferenced files only after this time.
const Grace = 24 * time.Hour

const (
	// sweepPage is the number of unused files that Sweep claims at once, sweepTime the time it takes for them at most.
	sweepPage = 100
	sweepTime = 10 * time.Minute
	// claimLife is when the claim of a crashed node ends. It is longer than sweepTime, so that no node deletes a file
	// after its claim has ended.
	claimLife = time.Hour
	// claimWait limits how long an import waits for the deletion of a file that it needs.
	claimWait  = 20 * time.Second
	claimPause = 100 * time.Millisecond
)

// Storage holds the files. Keys are SHA-256 hashes in hex.
type Storage interface {
	// Put stores a file completely or not at all. An existing file is kept.
	Put(ctx context.Context, key string, content io.ReadSeeker, size int64) error
	// Open returns a file of this size, or an error that wraps os.ErrNotExist.
	Open(ctx context.Context, key string, size int64) (io.ReadSeekCloser, error)
	// Delete deletes a file. Deleting a missing file is not an error.
	Delete(ctx context.Context, key string) error
}

// Store records which files are stored. An unused file is claimed, then deleted, then dropped from the records. While a
// file is claimed, no import can use it.
type Store interface {
	// UseBlob records that an import needs a file from now on, before the import stores it. It returns false while the
	// file is claimed for deletion.
	UseBlob(ctx context.Context, hash string, size int64, now time.Time) (bool, error)
	// ClaimBlobs claims up to n files that no document refers to and that were last needed before a time, and files
	// whose claim is older than expired.
	ClaimBlobs(ctx context.Context, before, expired, now time.Time, n int) ([]string, error)
	// DropBlob ends the claim of a deleted file.
	DropBlob(ctx context.Context, hash string) error
}

// Deps are the dependencies of a Service. All are required.
type Deps struct {
	Storage Storage
	Store   Store
	Clock   core.Clock
}

// Service stores, returns and deletes original files.
type Service struct {
	storage Storage
	store   Store
	clock   core.Clock
	keep    bool
}

// NewService returns a Service. Without keep it stores no new files. It panics if a dependency is missing.
func NewService(d Deps, keep bool) *Service {
	core.RequireDeps(d)
	return &Service{storage: d.Storage, store: d.Store, clock: d.Clock, keep: keep}
}

// Keeps reports whether new files are stored.
func (s *Service) Keeps() bool { return s != nil && s.keep }

// errChanged means that a file no longer has the content that was hashed.
var errChanged = errors.New("blob: the file changed while it was read")

// KeepFile stores a copy of the file at path, whose content has this SHA-256, and returns its key and size. The caller
// must store a document that refers to the key within Grace. The key is empty if the file changed after it was hashed.
func (s *Service) KeepFile(ctx context.Context, path string, hash [32]byte) (key string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	info, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	key, size = hex.EncodeToString(hash[:]), info.Size()
	if err := s.use(ctx, key, size); err != nil {
		return "", 0, err
	}
	err = s.storage.Put(ctx, key, f, size)
	if errors.Is(err, errChanged) {
		return "", 0, nil
	}
	if core.IsDiskFull(err) {
		return "", 0, core.DiskFull(err)
	}
	if err != nil {
		return "", 0, fmt.Errorf("store an original file: %w", err)
	}
	return key, size, nil
}

// use records that a file is needed, and waits while another node deletes it.
func (s *Service) use(ctx context.Context, key string, size int64) error {
	ctx, cancel := context.WithTimeout(ctx, claimWait)
	defer cancel()
	for {
		ok, err := s.store.UseBlob(ctx, key, size, s.clock.Now())
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("blob: %s is being deleted: %w", key, ctx.Err())
		case <-time.After(claimPause):
		}
	}
}

// Open returns the file of a key. A missing file is not_found.
func (s *Service) Open(ctx context.Context, key string, size int64) (io.ReadSeekCloser, error) {
	f, err := s.storage.Open(ctx, key, size)
	if errors.Is(err, os.ErrNotExist) {
		return nil, core.NotFound("original")
	}
	return f, err
}

// Sweep deletes the files that no document refers to.
func (s *Service) Sweep(ctx context.Context) error {
	for {
		now := s.clock.Now()
		ctx, cancel := context.WithTimeout(ctx, sweepTime)
		unused, err := s.store.ClaimBlobs(ctx, now.Add(-Grace), now.Add(-claimLife), now, sweepPage)
		for _, hash := range unused {
			if err = s.storage.Delete(ctx, hash); err == nil {
				err = s.store.DropBlob(ctx, hash)
			}
			if err != nil {
				break // the claim ends by itself
			}
		}
		cancel()
		if err != nil || len(unused) < sweepPage {
			return err
		}
	}
}

// validKey reports whether a key is a SHA-256 in hex, so that it is safe in a path.
func validKey(key string) bool {
	b, err := hex.DecodeString(key)
	return err == nil && len(b) == 32 && hex.EncodeToString(b) == key
}

func invalidKey(key string) error { return fmt.Errorf("blob: %q is not a key", key) }
