// Package backup copies an installation to a folder or an S3 bucket, checks such copies and restores them. A backup is
// a consistent copy of the database and the original files that its documents refer to. All backups of a target share
// one content-addressed store of originals, so that each original is copied once.
//
// A target has these files:
//
//	originals/…                  the original files by SHA-256, as in internal/blob
//	backups/<id>/originals.txt   the originals that the backup needs, written before they are copied
//	backups/<id>/database-<n>    the parts of the database copy
//	backups/<id>/manifest.json   written last; without it the backup is incomplete
package backup

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"carrel/internal/audit"
	"carrel/internal/blob"
	"carrel/internal/core"
	"carrel/internal/lazyregexp"
)

// formatVersion is the version of the layout of a target. A newer one is refused.
const formatVersion = 1

// Database is the live database.
type Database interface {
	// LockBackup returns an error if another process makes a backup of the database. Otherwise it prevents that until
	// unlock is called or the process ends.
	LockBackup(ctx context.Context) (unlock func() error, err error)
	// DumpTo writes a consistent copy of the database to a new file, readable by its owner only. It calls original for
	// each original file that a document of the copy refers to, in the order of their hashes.
	DumpTo(ctx context.Context, path string, original func(Original) error) (DumpInfo, error)
	// NeedsBlob reports whether a document of the live database refers to an original file.
	NeedsBlob(ctx context.Context, hash string) (bool, error)
}

// Original is an original file: its SHA-256 in hex and its size.
type Original struct {
	Hash string
	Size int64
}

// The engines of a database copy.
const (
	EngineSQLite   = "sqlite"
	EnginePostgres = "postgres"
)

// DumpInfo describes a copy of a database.
type DumpInfo struct {
	// Engine is EngineSQLite for a database file, EnginePostgres for a custom-format dump of pg_dump.
	Engine string `json:"engine"`
	// Schema is the schema version of the copy.
	Schema int64 `json:"schema"`
	// Installation identifies the installation.
	Installation string `json:"installation"`
}

// Manifest describes a complete backup.
type Manifest struct {
	Format    int       `json:"format"`
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
	// Version is the version of Carrel that made the backup.
	Version  string   `json:"version"`
	Database DumpInfo `json:"database"`
	// Parts are the pieces of the database copy, in order. Buckets limit the size of an object.
	Parts     []File        `json:"parts"`
	Originals OriginalsInfo `json:"originals"`
	// Key identifies the installation's secret key without revealing it. KeyIncluded is set if the key is stored in the
	// database, and so in the backup.
	Key         string `json:"key"`
	KeyIncluded bool   `json:"keyIncluded"`
}

// Bytes returns the size of the database copy.
func (m Manifest) Bytes() int64 {
	var n int64
	for _, p := range m.Parts {
		n += p.Size
	}
	return n
}

// File is a file of a backup.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// OriginalsInfo describes the originals of a backup.
type OriginalsInfo struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
	List  File  `json:"list"`
	// Missing are originals of the list that could not be copied. Their documents were deleted while the backup was
	// made, or the file was lost before.
	Missing []string `json:"missing,omitempty"`
}

// Progress is called with the work done so far. Total is 0 if it is not known.
type Progress func(stage string, done, total int64)

// Deps are the dependencies of a Service.
type Deps struct {
	Database Database
	// Originals holds the original files of the installation.
	Originals blob.Storage
	Target    *Target
	Clock     core.Clock
	Audit     audit.Recorder
	Log       *slog.Logger
	// Staging is a folder for the database copy before it is in a bucket.
	Staging string `dep:"optional"`
}

// Options describe the installation in its backups.
type Options struct {
	// Version is the version of Carrel.
	Version string
	// Key and KeyIncluded are the fields of Manifest.
	Key         string
	KeyIncluded bool
	// Every is the interval of scheduled backups. Keep is the number of backups that they leave in the target.
	Every time.Duration
	Keep  int
}

// Service makes backups of one installation in one target.
type Service struct {
	Deps
	options Options
	stats   stats
}

// NewService returns a Service. It panics if a dependency is missing.
func NewService(d Deps, o Options) *Service {
	core.RequireDeps(d)
	return &Service{Deps: d, options: o}
}

// idForm is the form of an id: the time of the backup in UTC to the millisecond, so that ids sort by age, and a random
// suffix.
var idForm = lazyregexp.New(`^[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8}$`)

func newID(now time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // documented never to fail
	return strings.Replace(now.UTC().Format("20060102T150405.000Z"), ".", "", 1) + "-" + hex.EncodeToString(random[:])
}

// ErrNone means that a target has no complete backup.
var ErrNone = errors.New("there is no backup in this place")

// damaged is the error of a file that differs from its description in the manifest.
func damaged(name, how string) error { return fmt.Errorf("the backup is damaged: %s %s", name, how) }
