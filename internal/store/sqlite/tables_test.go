package sqlite

import "testing"

// TestWatchedTables checks that a connection collects the tables of its statements, with those that triggers and
// foreign keys change, at the first and at later runs of a statement.
func TestWatchedTables(t *testing.T) {
	t.Parallel()
	c := openNew(t)
	for _, statement := range []string{
		"CREATE TABLE owner (id INTEGER PRIMARY KEY)",
		"CREATE TABLE item (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES owner ON DELETE CASCADE)",
		"CREATE TABLE log (id INTEGER PRIMARY KEY)",
		"CREATE TRIGGER logged AFTER INSERT ON item BEGIN INSERT INTO log VALUES (NULL); END",
	} {
		exec(t, c, statement)
	}
	const readOwner, writeOwner, readItem, writeItem, writeLog, schema Tables = 1, 2, 4, 8, 16, 32
	c.Watch(func(table string, written bool) Tables {
		switch {
		case table == "" && written:
			return schema
		case table == "owner" && written:
			return writeOwner
		case table == "owner":
			return readOwner
		case table == "item" && written:
			return writeItem
		case table == "item":
			return readItem
		case table == "log" && written:
			return writeLog
		}
		return 0
	})
	for range 2 {
		for _, tc := range []struct {
			statement string
			want      Tables
		}{
			{"INSERT INTO owner VALUES (1)", writeOwner},
			{"INSERT INTO item SELECT 1, id FROM owner", readOwner | writeItem | writeLog},
			{"UPDATE owner SET id = 1 WHERE id = 2", readOwner | writeOwner | readItem},
			{"SELECT count(id) FROM item", readItem},
			{"DELETE FROM owner", writeOwner | readOwner | readItem | writeItem},
			{"BEGIN", 0},
			{"COMMIT", 0},
			{"PRAGMA wal_checkpoint(PASSIVE)", 0},
			{"CREATE TABLE other (id INTEGER)", schema},
			{"DROP TABLE other", schema},
		} {
			exec(t, c, tc.statement)
			if got := c.Watched(); got != tc.want {
				t.Errorf("%s: %b, want %b", tc.statement, got, tc.want)
			}
		}
	}
	if got := c.Watched(); got != 0 {
		t.Errorf("after Watched: %b", got)
	}
}
