package store

import "carrel/internal/store/sqlite"

// accessTables are the tables that decide what a caller may do: all that the lookups of credentials and grants read.
// Most writes change none of them, so those lookups stay cached while other rows are written; see AccessVersion.
var accessTables = map[string]bool{
	"credential_key": true, "oauth_token": true, "oauth_grant": true, "oauth_client": true, "app_user": true,
	"budget": true, "credential_cap": true, "credential_budget": true, "subscription": true, "plan": true,
	"agent": true, "agent_grant": true,
}

// The bits of tables that a statement writes.
const (
	accessTable sqlite.Tables = 1 << iota // any of accessTables
	clientTable                           // oauth_client
)

// writtenTables is the function for Conn.Watch. A change of the schema may concern any table.
func writtenTables(table string, written bool) (bits sqlite.Tables) {
	if written && (table == "" || accessTables[table]) {
		bits |= accessTable
	}
	if written && (table == "" || table == "oauth_client") {
		bits |= clientTable
	}
	return bits
}

// contentState is the versions of some tables in one version of the database.
type contentState struct{ version, access, clients uint64 }

// AccessVersion returns a hash that changes with every commit of another process, and with every commit of this one
// that writes to one of accessTables. While it is unchanged, credentials and grants read since are current. It is not
// known on PostgreSQL.
func (db *DB) AccessVersion() (version uint64, known bool) {
	state, known := db.contentState()
	return state.access, known
}

// clientVersion returns a hash like that of AccessVersion, which changes only with writes to the table oauth_client.
func (db *DB) clientVersion() (version uint64, known bool) {
	state, known := db.contentState()
	return state.clients, known
}

func (db *DB) contentState() (state contentState, known bool) {
	version, known := db.Version()
	if !known {
		return state, false
	}
	if latest := db.wal.latest.Load(); latest != nil && latest.version == version {
		return *latest, true
	}
	// Another process has written, or this one has just written or has not yet.
	return contentState{version, version, version}, true
}

// begun returns the state of the database when the writer has begun a transaction and no one else can commit.
func (c *walIndex) begun() (h walHeader) {
	if c != nil && c.mapped != nil {
		h = c.read()
	}
	return h
}

// commit runs a commit of a transaction that had begun with a state and wrote to tables. The versions of other tables
// stay the same if the transaction followed the previous commit of this process and nothing else has been committed
// since.
func (c *walIndex) commit(begun walHeader, written sqlite.Tables, commit func() error) error {
	if c == nil || c.mapped == nil {
		return commit()
	}
	if err := commit(); err != nil {
		return err
	}
	now := c.read()
	version := now.hash()
	next := &contentState{version, version, version}
	latest := c.latest.Load()
	if latest != nil && latest.version == begun.hash() && (now == begun || now.commits() == begun.commits()+1) {
		if written&accessTable == 0 {
			next.access = latest.access
		}
		if written&clientTable == 0 {
			next.clients = latest.clients
		}
	}
	c.latest.Store(next)
	return nil
}
