package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// errNoPostgres says that there is nothing to start.
var errNoPostgres = errors.New("PostgreSQL is not installed (Debian: apt-get install postgresql)")

// postgres is a PostgreSQL server of this run. It listens on a Unix socket in its
// own folder: no port to clash over, and no door left open.
type postgres struct {
	*process
	dir     string
	bin     string
	attr    *syscall.SysProcAttr
	version string
}

// findPostgres returns the folder of PostgreSQL's binaries: of those that Debian
// keeps by version the newest, or what the path names.
func findPostgres() (string, error) {
	versions, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	newest, bin := 0, ""
	for _, dir := range versions {
		var version int
		if _, err := fmt.Sscan(filepath.Base(filepath.Dir(dir)), &version); err == nil && version > newest && hasPostgres(dir) {
			newest, bin = version, dir
		}
	}
	if bin != "" {
		return bin, nil
	}
	if path, err := exec.LookPath("postgres"); err == nil && hasPostgres(filepath.Dir(path)) {
		return filepath.Dir(path), nil
	}
	return "", errNoPostgres
}

// hasPostgres says whether a folder has all that a server of our own needs.
func hasPostgres(bin string) bool {
	for _, name := range []string{"postgres", "initdb", "createdb", "pg_isready"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return false
		}
	}
	return true
}

// startPostgres makes a new cluster in a folder below dir and starts a server on
// it, with the settings that PostgreSQL comes with: a commit is on the disk. The
// error is errNoPostgres where there is none to start.
func startPostgres(ctx context.Context, dir string) (*postgres, error) {
	bin, err := findPostgres()
	if err != nil {
		return nil, err
	}
	attr, uid, gid, err := asPostgres()
	if err != nil {
		return nil, err
	}
	pg := &postgres{dir: filepath.Join(dir, "pg"), bin: bin, attr: attr}
	if err := os.Mkdir(pg.dir, 0o700); err != nil {
		return nil, err
	}
	if uid >= 0 {
		// Its user must pass through our folder, which nobody else can list.
		if err := errors.Join(os.Chmod(dir, 0o711), os.Chown(pg.dir, uid, gid)); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(pg.dir, "data")
	if err := pg.run(ctx, "initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D", data); err != nil {
		return nil, err
	}
	version, err := pg.command(ctx, "postgres", "--version").Output()
	if err != nil {
		return nil, err
	}
	pg.version = strings.TrimSpace(strings.TrimPrefix(string(version), "postgres (PostgreSQL) "))
	pg.process = &process{
		// SIGINT ends open connections; SIGTERM would wait for them.
		name: "PostgreSQL", ends: syscall.SIGINT, logs: filepath.Join(dir, "postgres.log"),
		cmd: pg.command(context.WithoutCancel(ctx), "postgres", "-D", data, "-k", pg.dir, "-c", "listen_addresses=", "-c", "max_connections=200"),
	}
	return pg, pg.start(ctx, func(ctx context.Context) bool {
		return pg.command(ctx, "pg_isready", "-q", "-h", pg.dir).Run() == nil
	})
}

// command is one of PostgreSQL's, run as its user and in its folder, because
// ours may be closed to that user.
func (pg *postgres) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(pg.bin, name), args...)
	cmd.Dir = pg.dir
	cmd.Env = cleanEnv()
	cmd.SysProcAttr = pg.attr
	return cmd
}

func (pg *postgres) run(ctx context.Context, name string, args ...string) error {
	if out, err := pg.command(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// create makes a database and returns its address.
func (pg *postgres) create(ctx context.Context, database string) (string, error) {
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/" + database, RawQuery: url.Values{"host": {pg.dir}}.Encode()}
	return u.String(), pg.run(ctx, "createdb", "-h", pg.dir, "-U", "postgres", database)
}
