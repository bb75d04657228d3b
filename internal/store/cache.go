package store

import (
	"context"
	"sync"
)

// maxCachedRows limits a cache. It is meant for rows that are read repeatedly between writes.
const maxCachedRows = 4096

// rowCache holds rows of one kind read since the last write to the database by any process; see DB.Version. On
// PostgreSQL, where the version is not known without a query, it stays empty and concurrent readers share queries
// instead.
type rowCache[K comparable, T any] struct {
	mu      sync.RWMutex
	version uint64
	rows    map[K]T
}

// get returns the row of a key if it is cached. Callers ask for it before they prepare the arguments of cached, which
// take longer than this. The result is shared: callers must not modify what it points to.
func (m *rowCache[K, T]) get(db *DB, key K) (row T, ok bool) {
	version, known := db.Version()
	if !known {
		return row, false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.version != version {
		return row, false
	}
	row, ok = m.rows[key]
	return row, ok
}

// cached calls load for a row that is not in the cache, and caches its result. The key types of all caches differ.
func cached[K comparable, T any](
	ctx context.Context, db *DB, m *rowCache[K, T], key K, load func(context.Context) (T, error),
) (T, error) {
	version, known := db.Version() // taken before the read, so that a concurrent write invalidates the row
	if !known {
		return share(ctx, db, key, load)
	}
	value, err := load(ctx)
	if err != nil {
		return value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.version != version || m.rows == nil || len(m.rows) >= maxCachedRows {
		m.version, m.rows = version, make(map[K]T)
	}
	m.rows[key] = value
	return value, nil
}
