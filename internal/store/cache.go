package store

import (
	"context"
	"sync"
)

// maxCachedRows limits the cache. It is meant for rows that are read repeatedly between writes, such as the agent and
// thread of a polling client.
const maxCachedRows = 4096

// rowCache holds rows read since the last write to the database by any process; see DB.Version. On PostgreSQL, where
// the version is not known without a query, it stays empty and concurrent readers share queries instead.
type rowCache struct {
	mu      sync.RWMutex
	version uint64
	rows    map[any]any
}

// cached returns the cached row of a key, or calls load and caches its result. Each kind of row uses its own key type.
// The result is shared: callers must not modify what it points to.
func cached[T any](ctx context.Context, db *DB, key any, load func(context.Context) (T, error)) (T, error) {
	version, known := db.Version() // taken before the read, so that a concurrent write invalidates the row
	if !known {
		return share(ctx, db, key, load)
	}
	m := &db.cache
	m.mu.RLock()
	row, ok := m.rows[key]
	ok = ok && m.version == version
	m.mu.RUnlock()
	if ok {
		return row.(T), nil //nolint:forcetypeassert // each key type has one row type
	}
	value, err := load(ctx)
	if err != nil {
		return value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.version != version || m.rows == nil || len(m.rows) >= maxCachedRows {
		m.version, m.rows = version, make(map[any]any)
	}
	m.rows[key] = value
	return value, nil
}
