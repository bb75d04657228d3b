package backup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/blob"
	"carrel/internal/s3"
)

// Names in a target.
const (
	originalsName = "originals"
	backupsName   = "backups"
	manifestName  = "manifest.json"
	listName      = "originals.txt"
	databaseName  = "database"
)

// maxPart is the size of a part of the database copy in a bucket. S3 accepts up to 5 GiB in one request.
const maxPart = 1 << 30

// maxManifest limits the size of a manifest that is read.
const maxManifest = 64 << 20

// files stores the files of backups under names with slashes.
type files interface {
	// put stores a file completely or not at all, with the SHA-256 in hex.
	put(ctx context.Context, name string, content io.ReadSeeker, size int64, hash string) error
	// open returns a file, or an error that wraps os.ErrNotExist.
	open(ctx context.Context, name string) (io.ReadCloser, error)
	// list returns the names below a prefix, which ends in a slash.
	list(ctx context.Context, prefix string) ([]string, error)
	// remove deletes a file. Deleting a missing file is not an error.
	remove(ctx context.Context, name string) error
}

// Target is a place for backups.
type Target struct {
	files     files
	originals blob.Storage
	// folder is the path of a folder, or empty for a bucket.
	folder string
	// remote is set if looking up a file takes a request.
	remote bool
	// part is the maximum size of a part.
	part int64
}

// NewFolder returns the target in a folder, which is created by the first backup.
func NewFolder(dir string) *Target {
	return &Target{
		files: folder{dir}, originals: blob.NewFolder(filepath.Join(dir, originalsName)), folder: dir, part: 1 << 62,
	}
}

// NewBucket returns the target in a bucket. The prefix is empty or ends in a slash.
func NewBucket(b *s3.Bucket, prefix string) *Target {
	return &Target{
		files: bucket{b, prefix}, originals: blob.NewBucket(b, prefix+originalsName+"/"), remote: true, part: maxPart,
	}
}

func fileName(id, name string) string { return backupsName + "/" + id + "/" + name }

// ids returns the ids of all backups, oldest first, and which of them are complete.
func (t *Target) ids(ctx context.Context) (all []string, complete map[string]bool, err error) {
	names, err := t.files.list(ctx, backupsName+"/")
	if err != nil {
		return nil, nil, err
	}
	complete = map[string]bool{}
	for _, name := range names {
		id, file, _ := strings.Cut(strings.TrimPrefix(name, backupsName+"/"), "/")
		if !idForm.MatchString(id) {
			continue
		}
		all = append(all, id)
		if file == manifestName {
			complete[id] = true
		}
	}
	slices.Sort(all)
	return slices.Compact(all), complete, nil
}

// List returns the complete backups, newest first.
func (t *Target) List(ctx context.Context) ([]Manifest, error) {
	all, complete, err := t.ids(ctx)
	if err != nil {
		return nil, err
	}
	var out []Manifest
	for _, id := range slices.Backward(all) {
		if !complete[id] {
			continue
		}
		m, err := t.manifest(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// Find returns the manifest of a backup. An empty id means the newest one.
func (t *Target) Find(ctx context.Context, id string) (Manifest, error) {
	if id != "" {
		if !idForm.MatchString(id) {
			return Manifest{}, fmt.Errorf("%q is not the id of a backup; see: carrel backup list", id)
		}
		m, err := t.manifest(ctx, id)
		if errors.Is(err, os.ErrNotExist) {
			return m, fmt.Errorf("there is no complete backup %s in this place; see: carrel backup list", id)
		}
		return m, err
	}
	all, complete, err := t.ids(ctx)
	if err != nil {
		return Manifest{}, err
	}
	for _, id := range slices.Backward(all) {
		if complete[id] {
			return t.manifest(ctx, id)
		}
	}
	return Manifest{}, ErrNone
}

func (t *Target) manifest(ctx context.Context, id string) (m Manifest, err error) {
	name := fileName(id, manifestName)
	r, err := t.files.open(ctx, name)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := json.NewDecoder(io.LimitReader(r, maxManifest)).Decode(&m); err != nil {
		return m, damaged(name, "can't be read: "+err.Error())
	}
	if m.Format > formatVersion {
		return m, fmt.Errorf("the backup %s has format %d and this carrel knows up to %d: use the newer carrel that made it",
			id, m.Format, formatVersion)
	}
	if m.ID != id || m.Format < 1 || len(m.Parts) == 0 {
		return m, damaged(name, "is incomplete")
	}
	return m, nil
}

// putBytes stores a small file.
func (t *Target) putBytes(ctx context.Context, id, name string, content []byte) (File, error) {
	sum := sha256.Sum256(content)
	f := File{Name: name, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
	return f, t.files.put(ctx, fileName(id, name), bytes.NewReader(content), f.Size, f.SHA256)
}

// copyFile copies a file of a backup to w and compares size and hash with its description.
func (t *Target) copyFile(ctx context.Context, id string, f File, w io.Writer) (err error) {
	name := fileName(id, f.Name)
	r, err := t.files.open(ctx, name)
	if errors.Is(err, os.ErrNotExist) {
		return damaged(name, "is missing")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, hash), &contextReader{ctx, r})
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	case n != f.Size:
		return damaged(name, fmt.Sprintf("has %d bytes instead of %d", n, f.Size))
	case hex.EncodeToString(hash.Sum(nil)) != f.SHA256:
		return damaged(name, "has another checksum")
	}
	return nil
}

// contextReader ends a long copy when its context ends.
type contextReader struct {
	ctx context.Context //nolint:containedctx // the context of one copy
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// folder stores files in a folder. Folders have mode 0700 and files 0600.
type folder struct{ dir string }

func (f folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// put links a file of the same file system, such as the staged database copy, and copies any other. Both appear under
// their name when they are complete and synced.
func (f folder) put(ctx context.Context, name string, content io.ReadSeeker, size int64, hash string) error {
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if staged, ok := content.(*os.File); ok {
		if err := staged.Sync(); err != nil {
			return err
		}
		if os.Link(staged.Name(), path) == nil {
			return syncFolders(f.dir, filepath.Dir(path))
		}
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "new-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }() // fails after the rename
	sum := sha256.New()
	_, err = content.Seek(0, io.SeekStart)
	var n int64
	if err == nil {
		n, err = io.Copy(io.MultiWriter(temp, sum), &contextReader{ctx, content})
	}
	if err == nil && (n != size || hex.EncodeToString(sum.Sum(nil)) != hash) {
		err = fmt.Errorf("%s changed while it was copied", name)
	}
	if err = cmp.Or(err, temp.Sync()); err != nil {
		return errors.Join(err, temp.Close())
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return syncFolders(f.dir, filepath.Dir(path))
}

// syncFolders makes new names durable in a folder and the folders above it, up to top.
func syncFolders(top, dir string) error {
	for {
		d, err := os.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return err
		}
		if dir == top || len(dir) <= len(top) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

func (f folder) open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(f.path(name))
}

func (f folder) list(_ context.Context, prefix string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(f.path(prefix), func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(f.dir, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	return names, err
}

// remove also removes the folder of the file if it is empty then.
func (f folder) remove(_ context.Context, name string) error {
	path := f.path(name)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	_ = os.Remove(filepath.Dir(path)) // fails unless it is empty
	return nil
}

// bucket stores files in an S3 bucket.
type bucket struct {
	bucket *s3.Bucket
	prefix string
}

func (b bucket) put(ctx context.Context, name string, content io.ReadSeeker, size int64, hash string) error {
	return b.bucket.Put(ctx, b.prefix+name, content, size, hash)
}

func (b bucket) open(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := b.bucket.GetFrom(ctx, b.prefix+name, 0)
	if s3.IsNotFound(err) {
		return nil, fmt.Errorf("%s: %w", name, os.ErrNotExist)
	}
	return r, err
}

func (b bucket) list(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	for o, err := range b.bucket.List(ctx, b.prefix+prefix) {
		if err != nil {
			return nil, err
		}
		names = append(names, strings.TrimPrefix(o.Key, b.prefix))
	}
	return names, nil
}

func (b bucket) remove(ctx context.Context, name string) error {
	return b.bucket.Delete(ctx, b.prefix+name)
}
