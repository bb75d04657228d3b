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

// errNoPostgres is returned if PostgreSQL is not installed.
var errNoPostgres = errors.New("PostgreSQL is not installed (Debian: apt-get install postgresql)")

// postgres is a PostgreSQL server for this run. It listens on a Unix socket in its own folder, so it needs no port
// and is not reachable from outside.
type postgres struct {
	*process
	dir     string
	bin     string
	attr    *syscall.SysProcAttr
	version string
}

// findPostgres returns the folder of PostgreSQL's binaries: the newest version of Debian's packages, or the one in
// PATH.
func findPostgres() (string, error) {
	versions, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	newest, bin := 0, ""
	for _, dir := range versions {
		var version int
		if _, err := fmt.Sscan(filepath.Base(filepath.Dir(dir)), &version); err == nil &&
			version > newest && hasPostgres(dir) {
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

// hasPostgres reports whether a folder has all required binaries.
func hasPostgres(bin string) bool {
	for _, name := range []string{"postgres", "initdb", "createdb", "pg_isready"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return false
		}
	}
	return true
}

// startPostgres creates a cluster below dir and starts a server with default settings, which sync every commit. It
// returns errNoPostgres if PostgreSQL is not installed.
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
		// The postgres user needs execute permission on our folder.
		if err := errors.Join(os.Chmod(dir, 0o711), os.Chown(pg.dir, uid, gid)); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(pg.dir, "data")
	if err := pg.run(ctx, "initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8",
		"--locale=C", "-D", data); err != nil {
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
		cmd: pg.command(context.WithoutCancel(ctx), "postgres", "-D", data, "-k", pg.dir, "-c",
			"listen_addresses=", "-c", "max_connections=200"),
	}
	return pg, pg.start(ctx, func(ctx context.Context) bool {
		return pg.command(ctx, "pg_isready", "-q", "-h", pg.dir).Run() == nil
	})
}

// command returns a PostgreSQL command that runs as its user and in its folder.
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

// create creates a database and returns its URL.
func (pg *postgres) create(ctx context.Context, database string) (string, error) {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.User("postgres"),
		Path:     "/" + database,
		RawQuery: url.Values{"host": {pg.dir}}.Encode(),
	}
	return u.String(), pg.run(ctx, "createdb", "-h", pg.dir, "-U", "postgres", database)
}
