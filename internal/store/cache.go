package store

import (
	"context"
	"sync"
)

// maxCachedRows limits a cache. It is meant for rows that are read repeatedly between writes.
const maxCachedRows = 4096

// rowCache holds rows of one kind of one version: that of DB.Version, which changes with every write, or that of some
// tables, such as DB.AccessVersion. On PostgreSQL, where versions are not known without a query, it stays empty, and
// concurrent readers share most queries instead.
type rowCache[K comparable, T any] struct {
	mu      sync.RWMutex
	version uint64
	rows    map[K]T
}

// get returns the row of a key if it is cached. Callers ask for it before they prepare the arguments of cached, which
// take longer than this. The result is shared: callers must not modify what it points to.
func (m *rowCache[K, T]) get(version uint64, known bool, key K) (row T, ok bool) {
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

// cached calls load for a row that is not in the cache, and caches its result. The version is that of get. Each kind of
// row has its own type of keys.
func cached[K comparable, T any](
	ctx context.Context, db *DB, m *rowCache[K, T], version uint64, known bool, key K,
	load func(context.Context) (T, error),
) (T, error) {
	if !known {
		return share(ctx, db, key, load)
	}
	value, err := load(ctx)
	if err != nil {
		return value, err
	}
	m.put(version, key, value)
	return value, nil
}

// put caches a row. The version is that of get, from before the read, so that a concurrent write invalidates the row.
func (m *rowCache[K, T]) put(version uint64, key K, row T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.version != version || m.rows == nil || len(m.rows) >= maxCachedRows {
		m.version, m.rows = version, make(map[K]T)
	}
	m.rows[key] = row
}
