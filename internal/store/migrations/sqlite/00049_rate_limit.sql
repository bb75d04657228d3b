-- +goose Up

-- The rate limits that nodes share, which needs PostgreSQL: the table stays empty.
CREATE TABLE rate_limit (
  key     TEXT NOT NULL PRIMARY KEY,
  full_at INTEGER NOT NULL,
  taken   INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX rate_limit_full ON rate_limit (full_at);
