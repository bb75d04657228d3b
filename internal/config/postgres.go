package config

import "time"

// Postgres are the settings of the connections to PostgreSQL.
type Postgres struct {
	// Direct is the URL of PostgreSQL itself if Database is a connection pooler in transaction mode; otherwise empty.
	Direct string
	// Connections is the maximum number of connections of a node, in addition to one for notifications.
	Connections int
	// StatementTimeout limits each statement; 0 means no limit.
	StatementTimeout time.Duration
}

func (p Postgres) problems(database string) (probs Problems) {
	if p.Direct != "" && database == "" {
		probs.add("database-direct needs database, the URL of the connection pooler")
	}
	return probs
}
