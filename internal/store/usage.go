package store

import (
	"context"
	"slices"
	"strings"

	"carrel/internal/source"
)

const kindSearch = "search"

// AddSearches adds to the search counts of users and days. Deleted users are skipped.
func (db *DB) AddSearches(ctx context.Context, counts []source.Searches) error {
	// Sorted, so that two nodes cannot deadlock.
	sorted := slices.SortedFunc(slices.Values(counts), func(a, b source.Searches) int {
		return strings.Compare(a.UserID+a.Day, b.UserID+b.Day)
	})
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		for _, c := range sorted {
			_, err := tx.exec(ctx, `
				INSERT INTO usage_day (user_id, day, kind, count, micros)
				SELECT id, $1, $2, $3, 0 FROM app_user WHERE id = $4
				ON CONFLICT (user_id, day, kind) DO UPDATE SET count = usage_day.count + excluded.count`,
				c.Day, kindSearch, c.Count, c.UserID)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return fail("count searches", "user", err)
}

// SearchesOf returns a user's search count of a day.
func (db *DB) SearchesOf(ctx context.Context, userID, day string) (int, error) {
	var n int
	err := get(ctx, db.read, `
		SELECT coalesce((SELECT count FROM usage_day WHERE user_id = $1 AND day = $2 AND kind = $3), 0)`,
		args{userID, day, kindSearch}, &n)
	return n, fail("read the search count", "user", err)
}
