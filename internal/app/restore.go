package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"carrel/internal/backup"
	"carrel/internal/config"
	"carrel/internal/store"
)

// restoringSuffix marks the database of a restore that is not complete.
const restoringSuffix = ".restoring"

// checkRestored refuses a data folder without a database in which a restore was interrupted: a server would create an
// empty installation.
func checkRestored(cfg config.Config) error {
	path := DatabasePath(cfg)
	if exists(path) || !exists(path+restoringSuffix) { // the earlier database may still be in its place
		return nil
	}
	return fmt.Errorf("a restore into %s was interrupted; repeat it with: carrel backup restore --replace", cfg.Data)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Restore writes a backup to the data folder or, with PostgreSQL, to an empty database. The caller holds the lock of
// the data folder. With replace an existing SQLite database is kept under another name, which is returned.
//
// The database appears under its name last, after the originals, so that an interrupted restore leaves no installation
// or the earlier one, and can be repeated.
func Restore(
	ctx context.Context, cfg config.Config, target *backup.Target, m backup.Manifest, replace bool,
	progress backup.Progress,
) (replaced string, err error) {
	engine := backup.EngineSQLite
	if cfg.Database != "" {
		engine = backup.EnginePostgres
	}
	if m.Database.Engine != engine {
		return "", fmt.Errorf("the backup is of %s and the settings name %s; set or unset database",
			m.Database.Engine, engine)
	}
	path := DatabasePath(cfg)
	if err := checkEmpty(ctx, cfg, replace); err != nil {
		return "", err
	}
	originals, closeIdle, err := OriginalsStorage(cfg)
	if err != nil {
		return "", err
	}
	defer closeIdle()
	temp := path + restoringSuffix
	if err := target.FetchDatabase(ctx, m, temp, progress); err != nil {
		return "", errors.Join(err, os.Remove(temp))
	}
	if engine == backup.EngineSQLite {
		if err := store.CheckSQLite(ctx, temp); err != nil {
			return "", errors.Join(err, os.Remove(temp))
		}
	}
	if err := target.RestoreOriginals(ctx, m, originals, progress); err != nil {
		return "", err
	}
	// The index may be of a later state of the same database.
	if err := os.RemoveAll(IndexPath(cfg)); err != nil {
		return "", fmt.Errorf("remove the search index: %w", err)
	}
	if engine == backup.EnginePostgres {
		progress("Restoring the database", 0, 0)
		err := store.RestorePostgres(ctx, cfg.Database, temp)
		return "", errors.Join(err, os.Remove(temp))
	}
	if replaced, err = moveAside(path); err != nil {
		return "", err
	}
	if err := os.Rename(temp, path); err != nil {
		return replaced, err
	}
	return replaced, syncFolder(cfg.Data)
}

// checkEmpty fails if the data folder has files of an installation, or if the PostgreSQL database has tables.
func checkEmpty(ctx context.Context, cfg config.Config, replace bool) error {
	if cfg.Database != "" {
		return store.CheckEmptyPostgres(ctx, cfg.Database)
	}
	entries, err := os.ReadDir(cfg.Data)
	if err != nil || replace {
		return err
	}
	for _, e := range entries {
		switch e.Name() {
		case "carrel.conf", "carrel.lock", "lost+found", databaseFile + restoringSuffix:
		default:
			return fmt.Errorf("the data folder %s is not empty; choose another with --data, or replace its installation with "+
				"--replace", cfg.Data)
		}
	}
	return nil
}

// moveAside renames a database with its write-ahead log, which SQLite finds by the name of the database. The database
// is renamed first, so that no server opens it without its log. It returns "" if there is none.
func moveAside(path string) (string, error) {
	to := path + ".replaced-" + time.Now().UTC().Format("20060102T150405.000Z")
	moved := false
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err := os.Rename(path+suffix, to+suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		moved = moved || err == nil && suffix == ""
	}
	if !moved {
		return "", nil
	}
	return to, nil
}

func syncFolder(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
