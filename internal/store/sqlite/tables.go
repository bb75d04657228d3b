package sqlite

import (
	"sync"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Tables is a set of tables. The program that calls Watch decides which bit belongs to which table.
type Tables uint64

// Watch makes a connection collect the tables that its statements read and write, including those that triggers and
// foreign keys change. of returns the set to collect for a table that a statement reads or writes. For a statement that
// changes the schema, the table is "" and is written.
func (c *Conn) Watch(of func(table string, written bool) Tables) {
	c.tablesOf = of
	watched.Store(c.db, c)
	lib.Xsqlite3_set_authorizer(c.tls, c.db, pointerTo(authorize), c.db)
}

// Watched returns the tables of the statements that have started since the last call.
func (c *Conn) Watched() Tables {
	t := c.watched
	c.watched = 0
	return t
}

// watched has the connections that Watch was called for by their addresses in SQLite, because memory of SQLite must not
// refer to memory of Go.
var watched sync.Map

// authorize implements the callback of sqlite3_set_authorizer. SQLite calls it while it compiles a statement, once for
// each table and column.
func authorize(_ *libc.TLS, db uintptr, action int32, first, _, _, _ uintptr) int32 {
	found, ok := watched.Load(db)
	if !ok {
		return lib.SQLITE_OK
	}
	c, _ := found.(*Conn)
	switch action {
	case lib.SQLITE_READ:
		c.compiled |= c.tablesOf(libc.GoString(first), false)
	case lib.SQLITE_INSERT, lib.SQLITE_UPDATE, lib.SQLITE_DELETE:
		c.compiled |= c.tablesOf(libc.GoString(first), true)
	case lib.SQLITE_SELECT, lib.SQLITE_FUNCTION, lib.SQLITE_RECURSIVE, lib.SQLITE_TRANSACTION, lib.SQLITE_SAVEPOINT,
		lib.SQLITE_PRAGMA:
	default:
		c.compiled |= c.tablesOf("", true)
	}
	return lib.SQLITE_OK
}
