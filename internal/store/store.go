// Package store keeps everything in a database: SQLite in a file, or PostgreSQL. All SQL of Carrel is here, written
// once for both engines. Each method of DB is one statement or one transaction.
package store

import (
	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/credential"
	"carrel/internal/favourite"
	"carrel/internal/memory"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
	"carrel/internal/signin/upstream"
	"carrel/internal/source"
	"carrel/internal/thread"
)

// DB is what each feature asks of its store.
var (
	_ account.Store    = (*DB)(nil)
	_ agent.Store      = (*DB)(nil)
	_ audit.Store      = (*DB)(nil)
	_ credential.Store = (*DB)(nil)
	_ favourite.Store  = (*DB)(nil)
	_ memory.Store     = (*DB)(nil)
	_ passkey.Store    = (*DB)(nil)
	_ source.Store     = (*DB)(nil)
	_ thread.Store     = (*DB)(nil)
	_ upstream.Store   = (*DB)(nil)

	_ credential.SessionStore = (*DB)(nil)
	_ signin.PendingStore     = (*DB)(nil)
	_ signin.FactorStore      = (*DB)(nil)
	_ signin.ResetStore       = (*DB)(nil)
)
