package store

import (
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/testkit"
)

func TestOpenSaysThatTheDiskIsFull(t *testing.T) {
	t.Parallel()
	disk := testkit.NewDisk(t, 8)
	path := filepath.Join(disk.Dir, "carrel.db")
	check := func(when string) {
		t.Helper()
		disk.Fill()
		if db, err := Open(t.Context(), Options{Path: path}); err == nil {
			_ = db.Close()
			t.Errorf("%s is opened on a full disk", when)
		} else if !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("%s: %v", when, err)
		}
		disk.Free()
	}
	check("a new database")
	if err := open(t, Options{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	check("a database that was closed")
	open(t, Options{Path: path})
}

func TestMigrationOnAFullDiskLeavesThePreviousVersion(t *testing.T) {
	t.Parallel()
	disk := testkit.NewDisk(t, 32)
	b := backend{"sqlite", Options{Path: filepath.Join(disk.Dir, "carrel.db")}, sqliteDialect}
	db := open(t, b.options)
	user := account.User{ID: "usr", Email: "a@example.org", Name: strings.Repeat("n", 4<<20)}
	if err := db.InsertUser(t.Context(), user, ""); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before := b.version(t)
	files := b.plus(t, map[string]string{
		"09001_one.sql": "CREATE TABLE one (text TEXT); INSERT INTO one SELECT name FROM app_user;",
	})
	// The first has no space for the copy of the database, the second none for the migration.
	for _, free := range []int64{1 << 20, 7 << 20} {
		disk.FillBut(free)
		if err := b.migrate(t, files); !core.IsDiskFull(fail("migrate", "database", err)) {
			t.Errorf("with %d bytes of free space: %v", free, err)
		}
		disk.Free()
		if got := b.version(t); got != before {
			t.Errorf("with %d bytes of free space the version is %d, and was %d", free, got, before)
		}
		leftovers, err := filepath.Glob(filepath.Join(disk.Dir, "*.copying-*"))
		if err != nil || len(leftovers) > 0 {
			t.Errorf("left behind: %v %v", leftovers, err)
		}
	}
	if err := b.migrate(t, files); err != nil {
		t.Errorf("after space was freed: %v", err)
	}
	var length int
	if err := b.raw(t).QueryRow(`SELECT length(text) FROM one`).Scan(&length); err != nil || length != 4<<20 {
		t.Errorf("the text has %d bytes, %v", length, err)
	}
}
