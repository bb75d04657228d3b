package backup_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/audit"
	"carrel/internal/backup"
	"carrel/internal/blob"
	"carrel/internal/s3"
	"carrel/internal/testkit"
	"carrel/internal/testkit/s3fake"
)

// installation is a database and its originals. Each dump has the originals of the documents at that time.
type installation struct {
	t         *testing.T
	clock     *testkit.Clock
	originals blob.Storage
	service   *backup.Service
	// needed are the originals that documents refer to, by content.
	needed  []string
	secret  string
	locked  bool
	dumpErr error
	events  []audit.Event
}

func (in *installation) LockBackup(context.Context) (func() error, error) {
	if in.locked {
		return nil, errors.New("another backup")
	}
	in.locked = true
	return func() error { in.locked = false; return nil }, nil
}

func (in *installation) NeedsBlob(_ context.Context, hash string) (bool, error) {
	return slices.ContainsFunc(in.needed, func(c string) bool { return hashOf(c) == hash }), nil
}

func (in *installation) DumpTo(
	_ context.Context, path string, original func(backup.Original) error,
) (backup.DumpInfo, error) {
	if in.dumpErr != nil {
		return backup.DumpInfo{}, in.dumpErr
	}
	for _, content := range in.needed {
		if err := original(backup.Original{Hash: hashOf(content), Size: int64(len(content))}); err != nil {
			return backup.DumpInfo{}, err
		}
	}
	content := "database with " + strings.Join(in.needed, ", ")
	return backup.DumpInfo{Engine: backup.EngineSQLite, Schema: 1, Installation: in.secret},
		os.WriteFile(path, []byte(content), 0o600)
}

func (in *installation) Note(_ context.Context, r audit.Record) {
	in.events = append(in.events, r.Event)
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// refer stores an original that documents refer to from now on.
func (in *installation) refer(content string) {
	in.t.Helper()
	err := in.originals.Put(in.t.Context(), hashOf(content), strings.NewReader(content), int64(len(content)))
	if err != nil {
		in.t.Fatal(err)
	}
	in.needed = append(in.needed, content)
}

func newInstallation(t *testing.T, target *backup.Target) *installation {
	t.Helper()
	in := &installation{
		t: t, clock: testkit.NewClock(), originals: blob.NewFolder(filepath.Join(t.TempDir(), "originals")), secret: "one",
	}
	in.service = backup.NewService(backup.Deps{
		Database: in, Originals: in.originals, Target: target, Clock: in.clock, Audit: in,
		Log: slog.New(slog.DiscardHandler), Staging: t.TempDir(),
	}, backup.Options{Version: "test", Key: "k", Every: time.Hour, Keep: 2})
	return in
}

func quiet(string, int64, int64) {}

func (in *installation) create(keep int) backup.Result {
	in.t.Helper()
	r, err := in.service.Create(in.t.Context(), keep, quiet)
	if err != nil {
		in.t.Fatal(err)
	}
	in.clock.Advance(time.Millisecond)
	return r
}

// targets runs a test on every kind of target. stored returns the names of the stored originals.
func targets(t *testing.T, run func(t *testing.T, target *backup.Target, stored func() []string)) {
	t.Helper()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "backups")
		run(t, backup.NewFolder(dir), func() []string { return files(t, filepath.Join(dir, "originals")) })
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		store := s3fake.New(t, 2)
		b, err := s3.Open(s3.Options{
			Client: &http.Client{}, Bucket: s3fake.Bucket, Endpoint: store.URL, Region: s3fake.Region, KeyID: s3fake.KeyID,
			Secret: s3fake.Secret, Now: time.Now, Wait: func(context.Context, time.Duration) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, backup.NewBucket(b, "carrel/"), func() []string {
			var names []string
			for o, err := range b.List(t.Context(), "carrel/originals/") {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, strings.TrimPrefix(o.Key, "carrel/originals/"))
			}
			return names
		})
	})
}

// files returns the hashes of the originals in a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() {
			names = append(names, filepath.Base(filepath.Dir(path))+d.Name())
			if info, _ := d.Info(); info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %o", path, info.Mode().Perm())
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func sameHashes(t *testing.T, what string, got []string, contents ...string) {
	t.Helper()
	var want []string
	for _, c := range contents {
		want = append(want, hashOf(c))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: originals %q, want those of %q", what, got, contents)
	}
}

func TestOriginalsAreCopiedOnceAndSharedByBackups(t *testing.T) {
	t.Parallel()
	targets(t, func(t *testing.T, target *backup.Target, stored func() []string) {
		in := newInstallation(t, target)
		in.refer("a")
		in.refer("b")
		if r := in.create(0); r.Copied != 2 || r.Manifest.Originals.Bytes != 2 {
			t.Errorf("the first backup copied %d originals", r.Copied)
		}
		in.refer("c")
		if r := in.create(0); r.Copied != 1 || r.Manifest.Originals.Count != 3 {
			t.Errorf("the second backup copied %d of %d originals", r.Copied, r.Manifest.Originals.Count)
		}
		sameHashes(t, "stored", stored(), "a", "b", "c")
		list, err := target.List(t.Context())
		if err != nil || len(list) != 2 || list[0].Originals.Count != 3 {
			t.Errorf("%d backups, %v", len(list), err)
		}
	})
}

func TestRetentionKeepsTheOriginalsOfKeptBackups(t *testing.T) {
	t.Parallel()
	targets(t, func(t *testing.T, target *backup.Target, stored func() []string) {
		in := newInstallation(t, target)
		in.refer("old")
		in.refer("both")
		first := in.create(2)
		in.needed = []string{"both"}
		in.create(2)
		in.refer("new")
		r := in.create(2)
		if !slices.Equal(r.Removed, []string{first.Manifest.ID}) {
			t.Errorf("removed %q, want %q", r.Removed, first.Manifest.ID)
		}
		sameHashes(t, "stored", stored(), "both", "new")
		for _, m := range must(target.List(t.Context())) {
			to := blob.NewFolder(t.TempDir())
			if err := target.RestoreOriginals(t.Context(), m, to, quiet); err != nil {
				t.Errorf("restoring %s: %v", m.ID, err)
			}
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A killed backup leaves its list and some originals. The next one completes or removes them.
func TestInterruptedBackupIsNotListedAndIsCollected(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	target := backup.NewFolder(dir)
	in := newInstallation(t, target)
	in.refer("kept")
	in.create(0)
	in.refer("interrupted")
	r := in.create(0)
	if err := os.Remove(filepath.Join(dir, "backups", r.Manifest.ID, "manifest.json")); err != nil {
		t.Fatal(err)
	}
	if list := must(target.List(t.Context())); len(list) != 1 {
		t.Errorf("%d backups are listed, want 1", len(list))
	}
	in.needed = []string{"kept"}
	in.create(0)
	sameHashes(t, "after the next backup", files(t, filepath.Join(dir, "originals")), "kept")
	if _, err := os.Stat(filepath.Join(dir, "backups", r.Manifest.ID)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the interrupted backup is still there: %v", err)
	}
}

// Without the list of a kept backup, retention does not know which originals it needs.
func TestRetentionDeletesNothingIfAListIsDamaged(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	in := newInstallation(t, backup.NewFolder(dir))
	in.refer("old")
	in.create(0)
	in.needed = nil
	in.refer("new")
	second := in.create(0)
	list := filepath.Join(dir, "backups", second.Manifest.ID, "originals.txt")
	if err := os.WriteFile(list, []byte(hashOf("x")+" 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := in.service.Create(t.Context(), 2, quiet); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged list: %v", err)
	}
	sameHashes(t, "stored", files(t, filepath.Join(dir, "originals")), "old", "new")
}

func TestOriginalsThatAreDeletedMeanwhileAreListedAsMissing(t *testing.T) {
	t.Parallel()
	targets(t, func(t *testing.T, target *backup.Target, _ func() []string) {
		in := newInstallation(t, target)
		in.refer("kept")
		in.refer("lost")
		if err := in.originals.Delete(t.Context(), hashOf("lost")); err != nil {
			t.Fatal(err)
		}
		r := in.create(0)
		if r.Lost != 1 || !slices.Equal(r.Manifest.Originals.Missing, []string{hashOf("lost")}) {
			t.Errorf("%d lost, missing %q", r.Lost, r.Manifest.Originals.Missing)
		}
		if err := target.RestoreOriginals(t.Context(), r.Manifest, blob.NewFolder(t.TempDir()), quiet); err != nil {
			t.Error(err)
		}
		in.refer("lost") // it is imported again
		if r := in.create(0); r.Copied != 1 || r.Lost != 0 {
			t.Errorf("the next backup: %+v", r)
		}
	})
}

func TestDamagedFilesOfABackupAreFound(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(dir, id string) error{
		"database": func(dir, id string) error {
			return os.WriteFile(filepath.Join(dir, "backups", id, "database-0"), []byte("database with c"), 0o600)
		},
		"missing part": func(dir, id string) error { return os.Remove(filepath.Join(dir, "backups", id, "database-0")) },
		"original": func(dir, _ string) error {
			h := hashOf("a")
			return os.WriteFile(filepath.Join(dir, "originals", h[:2], h[2:]), []byte("x"), 0o600)
		},
		"missing original": func(dir, _ string) error {
			h := hashOf("a")
			return os.Remove(filepath.Join(dir, "originals", h[:2], h[2:]))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "backups")
			target := backup.NewFolder(dir)
			in := newInstallation(t, target)
			in.refer("a")
			m := in.create(0).Manifest
			if err := damage(dir, m.ID); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "copy")
			err := errors.Join(target.FetchDatabase(t.Context(), m, path, quiet),
				target.RestoreOriginals(t.Context(), m, blob.NewFolder(t.TempDir()), quiet))
			if err == nil {
				t.Error("the damage was not noticed")
			}
		})
	}
}

func TestBackupsOfAnotherInstallationAreNotMixed(t *testing.T) {
	t.Parallel()
	targets(t, func(t *testing.T, target *backup.Target, _ func() []string) {
		in := newInstallation(t, target)
		in.create(0)
		in.secret = "two"
		if _, err := in.service.Create(t.Context(), 0, quiet); err == nil ||
			!strings.Contains(err.Error(), "another installation") {
			t.Errorf("a second installation: %v", err)
		}
	})
}

func TestOutcomesAreInTheAuditLogAndTheMetrics(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, backup.NewFolder(filepath.Join(t.TempDir(), "b")))
	in.create(0)
	in.dumpErr = errors.New("no")
	if _, err := in.service.Create(t.Context(), 0, quiet); !errors.Is(err, in.dumpErr) {
		t.Error(err)
	}
	if !slices.Equal(in.events, []audit.Event{audit.BackupCreated, audit.BackupFailed}) {
		t.Errorf("audit events: %q", in.events)
	}
	if s := in.service.Stats(); s.Made != 1 || s.Failed != 1 || s.LastBytes == 0 {
		t.Errorf("%+v", s)
	}
	if in.locked {
		t.Error("the lock is still held")
	}
}

func TestUnknownIDsAndNewerFormatsAreRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	target := backup.NewFolder(dir)
	if _, err := target.Find(t.Context(), ""); !errors.Is(err, backup.ErrNone) {
		t.Errorf("an empty place: %v", err)
	}
	for _, id := range []string{"../../etc", "20260101T000000000Z-00000000"} {
		if _, err := target.Find(t.Context(), id); err == nil {
			t.Errorf("%s was found", id)
		}
	}
	in := newInstallation(t, target)
	m := in.create(0).Manifest
	path := filepath.Join(dir, "backups", m.ID, "manifest.json")
	newer := strings.Replace(string(must(os.ReadFile(path))), `"format": 1`, `"format": 2`, 1)
	if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := target.Find(t.Context(), m.ID); err == nil || !strings.Contains(err.Error(), "newer carrel") {
		t.Errorf("a newer format: %v", err)
	}
}

// A part is as large as the target takes, and the parts together are the database.
func TestDatabaseIsStoredInParts(t *testing.T) {
	t.Parallel()
	targets(t, func(t *testing.T, target *backup.Target, _ func() []string) {
		backup.SetPart(target, 10)
		in := newInstallation(t, target)
		in.refer("a")
		m := in.create(0).Manifest
		if len(m.Parts) != 2 {
			t.Errorf("%d parts", len(m.Parts))
		}
		path := filepath.Join(t.TempDir(), "copy")
		if err := target.FetchDatabase(t.Context(), m, path, quiet); err != nil {
			t.Fatal(err)
		}
		if got := string(must(os.ReadFile(path))); got != "database with a" {
			t.Errorf("the copy is %q", got)
		}
	})
}
