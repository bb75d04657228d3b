package store

import "carrel/internal/store/sqlite"

// accessTables are the tables that decide what a caller may do: all that the lookups of credentials and grants read.
// Most writes change none of them, so those lookups stay cached while other rows are written; see AccessVersion.
var accessTables = map[string]bool{
	"credential_key": true, "oauth_token": true, "oauth_grant": true, "oauth_client": true, "app_user": true,
	"budget": true, "credential_cap": true, "credential_budget": true, "subscription": true, "plan": true,
	"agent": true, "agent_grant": true,
}

// accessTable is the bit of all accessTables that a statement writes.
const accessTable sqlite.Tables = 1

// writesAccess is the function for Conn.Watch. A change of the schema may concern any table.
func writesAccess(table string, written bool) sqlite.Tables {
	if written && (table == "" || accessTables[table]) {
		return accessTable
	}
	return 0
}

// accessState is the access version of one version of the database.
type accessState struct{ version, access uint64 }

// AccessVersion returns a hash that changes with every commit of another process, and with every commit of this one
// that writes to one of accessTables. While it is unchanged, credentials and grants read since are current. It is not
// known on PostgreSQL.
func (db *DB) AccessVersion() (version uint64, known bool) {
	version, known = db.Version()
	if !known {
		return 0, false
	}
	if latest := db.wal.latest.Load(); latest != nil && latest.version == version {
		return latest.access, true
	}
	// Another process has written, or this one has just written or has not yet.
	return version, true
}

// begun returns the state of the database when the writer has begun a transaction and no one else can commit.
func (c *walIndex) begun() (h walHeader) {
	if c != nil && c.mapped != nil {
		h = c.read()
	}
	return h
}

// commit runs a commit of a transaction that had begun with a state and wrote to tables. The access version stays the
// same if the transaction followed the previous commit of this process and nothing else has been committed since.
func (c *walIndex) commit(begun walHeader, written sqlite.Tables, commit func() error) error {
	if c == nil || c.mapped == nil {
		return commit()
	}
	if err := commit(); err != nil {
		return err
	}
	now := c.read()
	next := &accessState{version: now.hash()}
	next.access = next.version
	follows := now == begun || now.commits() == begun.commits()+1
	if latest := c.latest.Load(); latest != nil && latest.version == begun.hash() && follows && written&accessTable == 0 {
		next.access = latest.access
	}
	c.latest.Store(next)
	return nil
}
