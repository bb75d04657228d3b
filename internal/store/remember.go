package store

import "sync"

// maxRemembered is how many rows are kept at most: those that are read again and again between two writes, such as
// the agent and the thread of a client that polls.
const maxRemembered = 4096

// recent keeps rows that were read since the last write to the database, by this process or another. It is empty
// again after each: see Version. On PostgreSQL, where nobody can tell without asking, it keeps nothing.
type recent struct {
	mu      sync.RWMutex
	version uint64
	rows    map[any]any
}

// remember returns what load reads, or read before if nothing was written since. Keys of different kinds of rows are
// of different types. What is returned is shared: callers must not change what it points to.
func remember[T any](db *DB, key any, load func() (T, error)) (T, error) {
	version, known := db.Version() // before the row is read, so that a write meanwhile is noticed
	if !known {
		return load()
	}
	m := &db.recent
	m.mu.RLock()
	row, ok := m.rows[key]
	ok = ok && m.version == version
	m.mu.RUnlock()
	if ok {
		return row.(T), nil //nolint:forcetypeassert // the key's type stands for the row's
	}
	value, err := load()
	if err != nil {
		return value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.version != version || m.rows == nil || len(m.rows) >= maxRemembered {
		m.version, m.rows = version, make(map[any]any)
	}
	m.rows[key] = value
	return value, nil
}
