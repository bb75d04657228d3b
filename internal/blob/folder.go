package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Folder stores files in a folder, in subfolders by the first two digits of their keys.
type Folder struct{ dir string }

// NewFolder returns the storage in a folder, which is created when the first file is stored.
func NewFolder(dir string) *Folder { return &Folder{dir: dir} }

func (f *Folder) path(key string) string { return filepath.Join(f.dir, key[:2], key[2:]) }

// Put writes a temporary file, syncs it and renames it, so that a crash leaves no incomplete file under a key. The
// content must match its key: a file that changed while it was imported is refused.
func (f *Folder) Put(ctx context.Context, key string, content io.ReadSeeker, size int64) error {
	if !validKey(key) {
		return invalidKey(key)
	}
	path := f.path(key)
	if info, err := os.Stat(path); err == nil && info.Size() == size {
		return nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }() // fails after the rename
	if err := copyVerified(ctx, temp, content, key); err != nil {
		return errors.Join(err, temp.Close())
	}
	if err := errors.Join(temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return syncFolder(dir)
}

// copyVerified copies content and compares its hash with the key.
func copyVerified(ctx context.Context, to io.Writer, content io.ReadSeeker, key string) error {
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, hash), content); err != nil {
		return err
	}
	if hex.EncodeToString(hash.Sum(nil)) != key {
		return errChanged
	}
	return ctx.Err()
}

// syncFolder makes a rename durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Open opens a file. A file of another size is damaged.
func (f *Folder) Open(_ context.Context, key string, size int64) (io.ReadSeekCloser, error) {
	if !validKey(key) {
		return nil, invalidKey(key)
	}
	file, err := os.Open(f.path(key))
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() != size {
		err = fmt.Errorf("blob: %s has %d bytes instead of %d", key, info.Size(), size)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Delete deletes a file.
func (f *Folder) Delete(_ context.Context, key string) error {
	if !validKey(key) {
		return invalidKey(key)
	}
	if err := os.Remove(f.path(key)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
