package backup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"carrel/internal/audit"
)

// Result is a finished backup.
type Result struct {
	Manifest Manifest
	// Copied is the number of originals that the target did not have, and CopiedBytes their size.
	Copied      int
	CopiedBytes int64
	// Lost are originals that documents refer to and that the installation does not have.
	Lost int
	// Removed are the ids of the backups that were deleted to keep the number given.
	Removed []string
}

// Create makes a backup while the installation is used, and then deletes the oldest backups beyond keep; 0 keeps all.
// The outcome is in the audit log.
func (s *Service) Create(ctx context.Context, keep int, progress Progress) (Result, error) {
	started := s.Clock.Now()
	r, err := s.locked(ctx, keep, progress)
	if err != nil {
		s.stats.fail()
		s.Audit.Note(ctx, audit.Record{Event: audit.BackupFailed, Actor: "operator"})
		return r, err
	}
	now := s.Clock.Now()
	s.stats.succeed(r, now, now.Sub(started))
	s.Audit.Note(ctx, audit.Record{
		Event: audit.BackupCreated, Actor: "operator", Detail: map[string]string{"id": r.Manifest.ID},
	})
	return r, nil
}

// locked creates and prunes while no other process does, so that no original is deleted that a backup is about to use.
func (s *Service) locked(ctx context.Context, keep int, progress Progress) (r Result, err error) {
	unlock, err := s.Database.LockBackup(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if r, err = s.create(ctx, progress); err != nil {
		return r, err
	}
	r.Removed, err = s.Target.prune(ctx, keep)
	if err != nil {
		err = fmt.Errorf("the backup %s is complete, but old backups could not be deleted: %w", r.Manifest.ID, err)
	}
	return r, err
}

func (s *Service) create(ctx context.Context, progress Progress) (Result, error) {
	m := Manifest{
		Format: formatVersion, ID: newID(s.Clock.Now()), CreatedAt: s.Clock.Now().UTC(), Version: s.options.Version,
		Key: s.options.Key, KeyIncluded: s.options.KeyIncluded,
	}
	before, err := s.Target.Find(ctx, "")
	if err != nil && !errors.Is(err, ErrNone) {
		return Result{}, err
	}
	staging, err := s.staging()
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = os.RemoveAll(staging) }() // a leftover is removed by the next backup
	progress("Copying the database", 0, 0)
	copied := filepath.Join(staging, databaseName)
	list := filepath.Join(staging, listName)
	if err := s.dump(ctx, &m, copied, list); err != nil {
		return Result{}, err
	}
	if before.ID != "" && before.Database.Installation != m.Database.Installation {
		return Result{}, errors.New("this place has backups of another installation; choose another folder or prefix")
	}
	// The list comes first: if the process is killed, the next pruning finds the originals that nobody needs.
	if m.Originals.List, err = s.putFile(ctx, m.ID, listName, list); err != nil {
		return Result{}, err
	}
	if m.Parts, err = s.putParts(ctx, m.ID, copied, progress); err != nil {
		return Result{}, err
	}
	r := Result{}
	if err := s.copyOriginals(ctx, &m, &r, before, list, progress); err != nil {
		return Result{}, err
	}
	encoded, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return Result{}, err
	}
	_, err = s.Target.putBytes(ctx, m.ID, manifestName, append(encoded, '\n'))
	r.Manifest = m
	return r, err
}

// staging returns a new folder for the database copy: in the target, so that the copy need only be linked, or in the
// staging folder if the target is a bucket. It removes those of killed processes; the caller holds the lock.
func (s *Service) staging() (string, error) {
	const pattern = "backup-staging-"
	dir := s.Target.folder
	if dir == "" {
		dir = s.Staging
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), pattern) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return "", err
			}
		}
	}
	return os.MkdirTemp(dir, pattern) // mode 0700
}

// dump copies the database and writes the list of the originals that the copy needs.
func (s *Service) dump(ctx context.Context, m *Manifest, to, list string) error {
	f, err := os.OpenFile(list, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	m.Database, err = s.Database.DumpTo(ctx, to, func(o Original) error {
		m.Originals.Count++
		m.Originals.Bytes += o.Size
		_, err := fmt.Fprintf(w, "%s %d\n", o.Hash, o.Size)
		return err
	})
	return errors.Join(err, w.Flush(), f.Close())
}

// putFile stores a file as a whole.
func (s *Service) putFile(ctx context.Context, id, name, path string) (out File, err error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out = File{Name: name}
	if out.Size, out.SHA256, err = sum(ctx, f); err != nil {
		return File{}, err
	}
	return out, s.Target.files.put(ctx, fileName(id, name), f, out.Size, out.SHA256)
}

func sum(ctx context.Context, r io.Reader) (int64, string, error) {
	hash := sha256.New()
	n, err := io.Copy(hash, &contextReader{ctx, r})
	return n, hex.EncodeToString(hash.Sum(nil)), err
}

// putParts stores the database copy in parts of the size that the target takes.
func (s *Service) putParts(ctx context.Context, id, path string, progress Progress) (parts []File, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	for at := int64(0); at < info.Size() || len(parts) == 0; {
		size := min(s.Target.part, info.Size()-at)
		section := io.NewSectionReader(f, at, size)
		part := File{Name: databaseName + "-" + strconv.Itoa(len(parts)), Size: size}
		if _, part.SHA256, err = sum(ctx, section); err != nil {
			return nil, err
		}
		var content io.ReadSeeker = section
		if size == info.Size() {
			content = f // a folder links it
		}
		if err := s.Target.files.put(ctx, fileName(id, part.Name), content, size, part.SHA256); err != nil {
			return nil, err
		}
		parts = append(parts, part)
		at += size
		progress("Storing the database", at, info.Size())
	}
	return parts, nil
}

// copyOriginals copies the originals of the list that the target does not have. The files of the previous backup are in
// the target, since pruning deletes none that a backup needs; a bucket is not asked for them again.
func (s *Service) copyOriginals(
	ctx context.Context, m *Manifest, r *Result, before Manifest, list string, progress Progress,
) error {
	stored := hashSet{}
	if before.ID != "" && s.Target.remote {
		if err := s.Target.addOriginals(ctx, before, stored); err != nil {
			return err
		}
		for _, hash := range before.Originals.Missing {
			stored.remove(hash)
		}
	}
	f, err := os.Open(list)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	done := int64(0)
	return eachOriginal(f, func(o Original) error {
		defer func() { done++; progress("Copying originals", done, int64(m.Originals.Count)) }()
		if stored.has(o.Hash) {
			return nil
		}
		return s.copyOriginal(ctx, m, r, o)
	})
}

func (s *Service) copyOriginal(ctx context.Context, m *Manifest, r *Result, o Original) error {
	if known, err := s.Target.originals.Open(ctx, o.Hash, o.Size); err == nil {
		return known.Close()
	}
	content, err := s.Originals.Open(ctx, o.Hash, o.Size)
	if errors.Is(err, os.ErrNotExist) {
		m.Originals.Missing = append(m.Originals.Missing, o.Hash)
		needed, err := s.Database.NeedsBlob(ctx, o.Hash)
		if needed {
			r.Lost++
		}
		return err
	}
	if err != nil {
		return err
	}
	err = s.Target.originals.Put(ctx, o.Hash, content, o.Size)
	if err = errors.Join(err, content.Close()); err != nil {
		return fmt.Errorf("copy the original %s: %w", o.Hash, err)
	}
	r.Copied++
	r.CopiedBytes += o.Size
	return nil
}
