package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"carrel/internal/app"
	"carrel/internal/core"
	"carrel/internal/store"
)

// Limits of the disk and the clock. PostgreSQL and sign-in codes tolerate a few seconds.
const (
	lowDisk      = 1 << 30
	lowDiskShare = 0.1
	noDisk       = 100 << 20
	clockWarn    = 5 * time.Second
	clockFail    = time.Minute
)

// integrityTimeout limits the check of a SQLite file, which reads all of it.
const integrityTimeout = 2 * time.Minute

// checkFolder checks that the data folder can be written, and that only its owner can read it.
func (d *doctor) checkFolder() {
	const name = "data folder"
	dir := d.cfg.Data
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.fail(name, "Set the folder with --data, or start the server to create it.", "%s does not exist", dir)
		return
	case err != nil:
		d.fail(name, "Run the command as the user of the server.", "%v", err)
		return
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		d.fail(name, "Run the command as the user of the server, and give this user write access.",
			"%s can't be written: %v", dir, err)
		return
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	if info.Mode().Perm()&0o077 != 0 {
		d.warn(name, "Run: chmod 700 "+core.ShellQuote(dir), "other users can read %s (mode %04o)", dir, info.Mode().Perm())
		return
	}
	if db, err := os.Stat(filepath.Join(dir, filepath.Base(app.DatabasePath(d.cfg)))); err == nil &&
		db.Mode().Perm()&0o077 != 0 {
		d.warn(name, "Run: chmod 600 "+core.ShellQuote(app.DatabasePath(d.cfg)),
			"other users can read the database (mode %04o)", db.Mode().Perm())
		return
	}
	d.ok(name, "%s is writable and private", dir)
}

// checkDisk checks the free space of the data folder.
func (d *doctor) checkDisk() {
	const name, action = "disk", "Free space or move the data folder to a larger disk."
	free, size, err := app.DiskSpace(d.cfg.Data)
	const mib = 1 << 20
	switch {
	case err != nil:
		d.warn(name, "See the check of the data folder.", "the free space is unknown: %v", err)
	case free < noDisk:
		d.fail(name, action, "%d MiB free", free/mib)
	case free < lowDisk || float64(free) < lowDiskShare*float64(size):
		d.warn(name, action, "%d of %d MiB free", free/mib, size/mib)
	default:
		d.ok(name, "%d of %d MiB free", free/mib, size/mib)
	}
}

// checkDatabase checks the connection, the schema, the integrity and the clock of the database. It reports whether the
// database can be opened without migrating it.
func (d *doctor) checkDatabase(ctx context.Context) (usable bool) {
	const name = "database"
	o := store.Options{Path: app.DatabasePath(d.cfg), URL: d.cfg.Database, DirectURL: d.cfg.Postgres.Direct}
	if o.URL == "" {
		if _, err := os.Stat(o.Path); errors.Is(err, os.ErrNotExist) {
			d.fail(name, "Set the folder with --data, or start the server to create a database.", "%s does not exist", o.Path)
			return false
		}
	}
	i, err := store.Inspect(ctx, o)
	switch {
	case err != nil:
		d.fail(name, "Check that the database runs, and the setting database.", "%v", err)
		return false
	case i.Schema > i.Target:
		d.fail(name, "Use the newer carrel that wrote it.", "the schema has version %d, this carrel knows up to %d",
			i.Schema, i.Target)
		return false
	case i.ReadOnly:
		d.fail(name, "Connect to the primary server.", "%s %s accepts no writes", i.Engine, i.Version)
	case i.Schema < i.Target:
		d.warn(name, "The next start of the server migrates it. Make a backup before.",
			"%s %s, the schema has version %d of %d", i.Engine, i.Version, i.Schema, i.Target)
	default:
		d.ok(name, "%s %s, schema version %d", i.Engine, i.Version, i.Schema)
	}
	if o.URL == "" {
		d.checkIntegrity(ctx, o)
	} else {
		d.checkClock("the database", i.ClockAhead)
	}
	return d.checkDirect(ctx, i) && i.Schema == i.Target
}

// checkDirect checks the address of PostgreSQL itself, if the database is a connection pooler. It reports whether the
// address can be used.
func (d *doctor) checkDirect(ctx context.Context, pooled store.Inspection) bool {
	const name = "direct"
	if d.cfg.Postgres.Direct == "" {
		return true
	}
	i, err := store.Inspect(ctx, store.Options{URL: d.cfg.Postgres.Direct})
	switch {
	case err != nil:
		d.fail(name, "Check that PostgreSQL runs, and the setting database-direct.", "%v", err)
	case i.ReadOnly:
		d.fail(name, "Set database-direct to the primary server.", "%s %s accepts no writes", i.Engine, i.Version)
	case i.Schema != pooled.Schema:
		d.fail(name, "Set database and database-direct to the same database.",
			"the schema has version %d, and version %d through the pooler", i.Schema, pooled.Schema)
	default:
		d.ok(name, "%s %s, schema version %d", i.Engine, i.Version, i.Schema)
		return true
	}
	return false
}

func (d *doctor) checkIntegrity(ctx context.Context, o store.Options) {
	const name = "integrity"
	limited, cancel := context.WithTimeout(ctx, integrityTimeout)
	defer cancel()
	problems, err := store.CheckIntegrity(limited, o)
	switch {
	case limited.Err() != nil:
		d.warn(name, "Run at a quiet time: sqlite3 "+core.ShellQuote(o.Path)+" 'PRAGMA quick_check'",
			"the check of the database did not end within %v", integrityTimeout)
	case err != nil:
		d.fail(name, "Restore a backup.", "%v", err)
	case len(problems) > 0:
		d.fail(name, "Stop the server and restore a backup.", "the database is damaged: %s", problems[0])
	default:
		d.ok(name, "the database is intact")
	}
}

// checkClock compares the clock of this machine with another one.
func (d *doctor) checkClock(other string, ahead time.Duration) {
	const name, action = "clock", "Synchronize both clocks, for example with chrony or systemd-timesyncd."
	off := ahead.Abs().Round(100 * time.Millisecond)
	switch {
	case off >= clockFail:
		d.fail(name, action, "the clocks of this machine and of %s differ by %v", other, off)
	case off >= clockWarn:
		d.warn(name, action, "the clocks of this machine and of %s differ by %v", other, off)
	default:
		d.ok(name, "agrees with %s", other)
	}
}
