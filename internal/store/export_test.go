package store

import (
	"context"
)

// Count returns the number of rows of a table.
func (db *DB) Count(ctx context.Context, table string) (n int, err error) {
	err = get(ctx, db.read, "SELECT count(*) FROM "+table, nil, &n)
	return n, err
}

// Tables returns the names of all tables.
func (db *DB) Tables(ctx context.Context) ([]string, error) {
	query := `SELECT name FROM sqlite_schema WHERE type = 'table'`
	if db.onPostgres() {
		query = `
			SELECT CAST(table_name AS TEXT) FROM information_schema.tables
			WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`
	}
	return readIDs(ctx, db.read, query, nil)
}

// ForgetLanguages makes documents look like those of versions without languages.
func (db *DB) ForgetLanguages(ctx context.Context, ids ...string) error {
	_, err := db.exec(ctx, `UPDATE document SET language = NULL WHERE id IN `+db.dialect.in("$1"), encodeList(ids))
	return err
}
