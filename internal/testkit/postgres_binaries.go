package testkit

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// minPostgres is the oldest supported major version.
const minPostgres = 15

// ErrNoPostgres means that PostgreSQL is not installed; the message says what to install.
var ErrNoPostgres = errors.New("PostgreSQL 15 or later is not installed (on Debian: apt-get install postgresql)")

// postgresPlaces are the installation folders of packages. Debian does not add initdb and postgres to the PATH.
var postgresPlaces = []string{
	"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                   // Red Hat
	"/opt/homebrew/opt/postgresql@*/bin", // macOS
	"/usr/local/opt/postgresql@*/bin",
}

// findPostgres returns the folder of the newest supported PostgreSQL, or ErrNoPostgres.
func findPostgres(ctx context.Context) (string, error) {
	var dirs []string
	for _, place := range postgresPlaces {
		found, _ := filepath.Glob(place) // the patterns are valid
		dirs = append(dirs, found...)
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	best, bestVersion := "", minPostgres-1
	for _, dir := range dirs {
		if v := postgresVersion(ctx, dir); v > bestVersion {
			best, bestVersion = dir, v
		}
	}
	if best == "" {
		return "", ErrNoPostgres
	}
	return best, nil
}

// postgresVersion returns the major version of the server in dir, or 0 if it is missing or incomplete.
func postgresVersion(ctx context.Context, dir string) int {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return 0
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0
	}
	return majorVersion(string(out))
}

// majorVersion parses the major version from a text such as "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)" or
// "postgres (PostgreSQL) 18beta1"; 0 if there is none.
func majorVersion(text string) int {
	_, rest, ok := strings.Cut(text, "(PostgreSQL) ")
	if !ok {
		return 0
	}
	digits := 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	v, _ := strconv.Atoi(rest[:digits])
	return v
}
