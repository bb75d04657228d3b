package store

import (
	"context"
	"encoding/json"
	"time"

	"carrel/internal/core"
)

// ShareUse adds the use of token buckets and returns the time until each bucket is full. Only nodes on PostgreSQL share
// buckets; the clock is the server's, and times are in microseconds.
//
// A bucket is stored as the time at which it is full again. Tokens are added to that time, or to the time of the first
// token if the bucket was full then. The state of the node is a lower bound: it knows when the later tokens were taken.
func (db *DB) ShareUse(ctx context.Context, uses []core.BucketUse) ([]time.Duration, error) {
	type row struct {
		Key     string `json:"key"`
		Taken   int64  `json:"taken"`
		Missing int64  `json:"missing"`
	}
	rows := make([]row, len(uses))
	for i, u := range uses {
		rows[i] = row{u.Key, u.Taken.Microseconds(), max(u.Missing, u.Taken-u.Age).Microseconds()}
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return nil, fail("share the use of limits", "limit", err)
	}
	missing := make(map[string]time.Duration, len(uses))
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var key string
		var micros int64
		// All nodes lock the rows in the order of their keys.
		return tx.each(ctx, `
			WITH clock AS (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now)
			INSERT INTO rate_limit AS stored (key, full_at, taken)
			SELECT u.key, clock.now + u.missing, u.taken
			FROM clock, jsonb_to_recordset($1::jsonb) AS u (key text, missing bigint, taken bigint) ORDER BY u.key
			ON CONFLICT (key) DO UPDATE SET taken = excluded.taken,
				full_at = greatest(stored.full_at + excluded.taken, excluded.full_at)
			RETURNING key, full_at - (SELECT now FROM clock)`, args{string(list)}, []any{&key, &micros}, func() error {
			missing[key] = max(0, time.Duration(micros)*time.Microsecond)
			return nil
		})
	})
	if err != nil {
		return nil, fail("share the use of limits", "limit", err)
	}
	out := make([]time.Duration, len(uses))
	for i, u := range uses {
		out[i] = missing[u.Key]
	}
	return out, nil
}

// PruneRateLimits deletes buckets that were full before a time, which equal missing ones. The time must be well in the
// past, because the clocks of the nodes and the server differ.
func (db *DB) PruneRateLimits(ctx context.Context, before time.Time) error {
	err := db.prune(ctx, prunable{"rate_limit", "key", `full_at < CAST($1 AS BIGINT) * 1000`}, before, pruneBatch)
	return fail("prune rate limits", "limit", err)
}
