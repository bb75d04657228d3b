package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"
	"time"

	"carrel/internal/app"
	"carrel/internal/backup"
	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/secretbox"
	"carrel/internal/store"
)

// backupCommand groups the commands for backups.
type backupCommand struct {
	Data     *string `placeholder:"DIR" help:"${help_data}"`
	Database *string `placeholder:"URL" help:"${help_database}"`

	Create  backupCreate  `cmd:"" help:"Make a backup, also while the server runs."`
	List    backupList    `cmd:"" help:"List the backups of a place, newest first."`
	Verify  backupVerify  `cmd:"" help:"Check a backup: checksums, database, audit log, spend totals, documents and originals."`
	Restore backupRestore `cmd:"" help:"Restore a backup into an empty data folder or an empty PostgreSQL database."`
}

func (c *backupCommand) settings(env *Env) (config.Config, error) {
	return flags{"data": c.Data, "database": c.Database}.load(env)
}

// place returns the settings with the place of backups of a flag, or of the setting.
func (c *backupCommand) place(env *Env, flag string) (config.Config, error) {
	cfg, err := c.settings(env)
	if err != nil {
		return cfg, err
	}
	if flag != "" {
		if cfg.Backup, err = cfg.Backup.At(flag); err != nil {
			return cfg, fmt.Errorf("the place of backups: %w", err)
		}
	}
	if cfg.Backup.Place == "" {
		return cfg, errors.New("name the place of backups, a folder or s3://bucket/prefix, or set CARREL_BACKUP")
	}
	return cfg, nil
}

// open opens the place of backups that is named by a flag, or by the settings if the flag is empty. The caller calls
// closeIdle at the end.
func (c *backupCommand) open(
	env *Env, flag string,
) (cfg config.Config, target *backup.Target, closeIdle func(), err error) {
	if cfg, err = c.place(env, flag); err != nil {
		return cfg, nil, nil, err
	}
	target, closeIdle, err = app.BackupTarget(cfg.Backup)
	return cfg, target, closeIdle, err
}

// stages draws a progress bar for each stage of a backup. Bars are drawn on a terminal only.
type stages struct {
	env   *Env
	stage string
	bar   bar
}

func (s *stages) report(stage string, done, total int64) {
	if stage != s.stage {
		s.finish()
		s.stage, s.bar = stage, progressBar(s.env, -1, stage)
	}
	if total > 0 {
		s.bar.of(uint64(done), uint64(total))
	}
}

func (s *stages) finish() {
	if s.stage != "" {
		s.bar.finish()
	}
}

type backupCreate struct {
	To   string `placeholder:"PLACE" help:"A folder or s3://bucket/prefix. Default: the setting backup."`
	Keep int    `placeholder:"N" help:"Delete all but the newest N backups of the place afterwards. Default: delete none."`
	JSON bool   `help:"Print one JSON object: {\"backup\":{…}}."`
}

// Run makes a backup.
func (c backupCreate) Run(ctx context.Context, env *Env, parent *backupCommand) error {
	if c.Keep < 0 {
		return core.InvalidField("/keep", "Must be 1 or more.")
	}
	cfg, err := parent.place(env, c.To)
	if err != nil {
		return err
	}
	opener := adminCommand{Data: parent.Data, Database: parent.Database}
	return opener.run(ctx, env, false, func(a admin) error {
		service, err := a.NewBackups(cfg.Backup, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		shown := &stages{env: env}
		r, err := service.Create(ctx, c.Keep, shown.report)
		shown.finish()
		if err != nil {
			return err
		}
		m := r.Manifest
		object := manifestJSON(m)
		object["copied"], object["lost"], object["removed"] = r.Copied, r.Lost, append([]string{}, r.Removed...)
		if err := a.print(c.JSON, map[string]any{"backup": object},
			"Made the backup %s: database %s, %d originals of which %d were copied.", m.ID, megabytes(m.Bytes()),
			m.Originals.Count, r.Copied); err != nil || c.JSON {
			return err
		}
		if r.Lost > 0 {
			_, _ = fmt.Fprintf(env.Err, "carrel: %d originals are missing in the installation and in the backup\n", r.Lost)
		}
		_, err = fmt.Fprintln(env.Out, keyNote(m))
		return err
	})
}

// keyNote says what must be kept in addition to a backup.
func keyNote(m backup.Manifest) string {
	if m.KeyIncluded {
		return "It contains the secret key of the installation: who can read it can use its stored secrets."
	}
	return "It does not contain secret-key. Keep that key in another place: without it, stored secrets can't be read."
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func manifestJSON(m backup.Manifest) map[string]any {
	return map[string]any{
		"id": m.ID, "createdAt": date(m.CreatedAt), "version": m.Version, "engine": m.Database.Engine,
		"schema": m.Database.Schema, "bytes": m.Bytes(), "originals": m.Originals.Count,
		"originalBytes": m.Originals.Bytes, "missing": len(m.Originals.Missing), "keyIncluded": m.KeyIncluded,
	}
}

type backupList struct {
	From string `placeholder:"PLACE" help:"A folder or s3://bucket/prefix. Default: the setting backup."`
	JSON bool   `help:"Print one JSON object: {\"backups\":[…]}."`
}

// Run lists backups.
func (c backupList) Run(ctx context.Context, env *Env, parent *backupCommand) error {
	_, target, closeIdle, err := parent.open(env, c.From)
	if err != nil {
		return err
	}
	defer closeIdle()
	list, err := target.List(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		objects := make([]map[string]any, len(list))
		for i, m := range list {
			objects[i] = manifestJSON(m)
		}
		return json.NewEncoder(env.Out).Encode(map[string]any{"backups": objects})
	}
	w := tabwriter.NewWriter(env.Out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tMADE\tENGINE\tDATABASE\tORIGINALS\tCARREL") // Flush returns the error
	for _, m := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", m.ID, date(m.CreatedAt), m.Database.Engine,
			megabytes(m.Bytes()), strconv.Itoa(m.Originals.Count), m.Version)
	}
	return w.Flush()
}

type backupVerify struct {
	ID      string `arg:"" optional:"" help:"The id of the backup. Default: the newest."`
	From    string `placeholder:"PLACE" help:"A folder or s3://bucket/prefix. Default: the setting backup."`
	All     bool   `help:"Read every original, not only those of a sample of documents."`
	Scratch string `placeholder:"URL" help:"For PostgreSQL: an empty database to restore the backup into. Default: one that is created on the server of the setting database and dropped afterwards."`
	JSON    bool   `help:"Print one JSON object: {\"ok\":true,…}."`
}

// Run checks a backup without touching the installation.
func (c backupVerify) Run(ctx context.Context, env *Env, parent *backupCommand) (err error) {
	cfg, target, closeIdle, err := parent.open(env, c.From)
	if err != nil {
		return err
	}
	defer closeIdle()
	m, err := target.Find(ctx, c.ID)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "carrel-verify-") // mode 0700
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	shown := &stages{env: env}
	defer shown.finish()
	report, err := c.check(ctx, cfg, target, m, dir, shown)
	shown.finish()
	if err != nil {
		return err
	}
	return c.show(env, cfg, m, report)
}

// check opens the database copy in a temporary folder or database.
func (c backupVerify) check(
	ctx context.Context, cfg config.Config, target *backup.Target, m backup.Manifest, dir string, shown *stages,
) (report backup.Report, err error) {
	path := filepath.Join(dir, "carrel.db")
	if err := target.FetchDatabase(ctx, m, path, shown.report); err != nil {
		return report, err
	}
	options := store.Options{Path: path}
	if m.Database.Engine == backup.EnginePostgres {
		drop := func() error { return nil }
		if options.URL = c.Scratch; options.URL == "" {
			if cfg.Database == "" {
				return report, errors.New("the backup is of PostgreSQL; set --database, on whose server it is restored into a " +
					"temporary database, or name an empty database with --scratch")
			}
			if options.URL, drop, err = store.ScratchPostgres(ctx, cfg.Database); err != nil {
				return report, err
			}
		}
		defer func() { err = errors.Join(err, drop()) }()
		shown.report("Restoring into a temporary database", 0, 0)
		if err := store.RestorePostgres(ctx, options.URL, path); err != nil {
			return report, err
		}
	} else if err := store.CheckSQLite(ctx, path); err != nil {
		return report, err
	}
	db, err := store.Open(ctx, options)
	if err != nil {
		return report, err
	}
	report, err = target.Verify(ctx, m, db, c.All, shown.report)
	return report, errors.Join(err, db.Close())
}

func (c backupVerify) show(env *Env, cfg config.Config, m backup.Manifest, r backup.Report) error {
	keyMatches := m.KeyIncluded || cfg.SecretKey != "" && secretbox.Fingerprint([]byte(cfg.SecretKey)) == m.Key
	var err error
	if len(r.Problems) > 0 {
		err = fmt.Errorf("the backup %s has %d problems", m.ID, len(r.Problems))
	}
	if c.JSON {
		return errors.Join(json.NewEncoder(env.Out).Encode(map[string]any{
			"ok": len(r.Problems) == 0, "backup": manifestJSON(m), "auditEntries": r.AuditEntries, "documents": r.Documents,
			"originalsRead": r.Originals, "keyAvailable": keyMatches, "problems": append([]string{}, r.Problems...),
		}), err)
	}
	for _, problem := range r.Problems {
		_, _ = fmt.Fprintf(env.Out, "Problem: %s\n", problem) // printed again by the error below
	}
	if err != nil {
		return err
	}
	if !keyMatches {
		_, _ = fmt.Fprintln(env.Err, "carrel: the backup does not contain the secret key of the installation, and the "+
			"settings have another or none; restore it with that key as secret-key")
	}
	_, err = fmt.Fprintf(env.Out, "The backup %s of %s is intact: %d audit entries, %d originals; read %d documents and "+
		"%d originals.\n",
		m.ID, m.CreatedAt.Format(time.RFC3339), r.AuditEntries, m.Originals.Count, r.Documents, r.Originals)
	return err
}

type backupRestore struct {
	ID      string `arg:"" optional:"" help:"The id of the backup. Default: the newest."`
	From    string `placeholder:"PLACE" help:"A folder or s3://bucket/prefix. Default: the setting backup."`
	Replace bool   `help:"Restore into a data folder that is not empty. Its database is kept under another name."`
	JSON    bool   `help:"Print one JSON object: {\"restored\":{…}}."`
}

// Run restores a backup. The server must be stopped.
func (c backupRestore) Run(ctx context.Context, env *Env, parent *backupCommand) error {
	cfg, target, closeIdle, err := parent.open(env, c.From)
	if err != nil {
		return err
	}
	defer closeIdle()
	m, err := target.Find(ctx, c.ID)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	lock, err := lockFolder(cfg.Data)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // the kernel releases the lock in any case
	shown := &stages{env: env}
	replaced, err := app.Restore(ctx, cfg, target, m, c.Replace, shown.report)
	shown.finish()
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(env.Out).Encode(map[string]any{"restored": manifestJSON(m), "replaced": replaced})
	}
	_, _ = fmt.Fprintf(env.Out, "Restored the backup %s of %s.\n", m.ID, m.CreatedAt.Format(time.RFC3339))
	if replaced != "" {
		_, _ = fmt.Fprintf(env.Out, "The earlier database is %s. Delete it when you no longer need it.\n", replaced)
	}
	if !m.KeyIncluded {
		_, _ = fmt.Fprintln(env.Out, "Start the server with the secret-key of the installation, which is not in the backup.")
	}
	return nil
}
