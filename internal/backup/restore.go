package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"carrel/internal/blob"
)

// FetchDatabase writes the database copy of a backup to a new file with mode 0600, syncs it, and compares the
// checksums.
func (t *Target) FetchDatabase(ctx context.Context, m Manifest, path string, progress Progress) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	counted := &countingWriter{w: f, total: m.Bytes(), progress: progress}
	for _, part := range m.Parts {
		if err := t.copyFile(ctx, m.ID, part, counted); err != nil {
			return err
		}
	}
	return f.Sync()
}

// countingWriter reports the bytes written.
type countingWriter struct {
	w           io.Writer
	done, total int64
	progress    Progress
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.done += int64(n)
	c.progress("Reading the database", c.done, c.total)
	return n, err
}

// RestoreOriginals copies the originals of a backup to the storage of an installation, which keeps the files it has.
// The content of every copied file is compared with its hash.
func (t *Target) RestoreOriginals(ctx context.Context, m Manifest, to blob.Storage, progress Progress) error {
	missing := hashSet{}
	for _, hash := range m.Originals.Missing {
		missing.add(hash)
	}
	done := int64(0)
	return t.eachOriginalOf(ctx, m, func(o Original) error {
		defer func() { done++; progress("Restoring originals", done, int64(m.Originals.Count)) }()
		if missing.has(o.Hash) {
			return nil
		}
		content, err := t.originals.Open(ctx, o.Hash, o.Size)
		if errors.Is(err, os.ErrNotExist) {
			return damaged(originalsName+"/"+o.Hash, "is missing")
		}
		if err != nil {
			return err
		}
		if err := errors.Join(to.Put(ctx, o.Hash, content, o.Size), content.Close()); err != nil {
			return fmt.Errorf("restore the original %s: %w", o.Hash, err)
		}
		return nil
	})
}
