-- +goose Up

-- The rate limits that nodes share. full_at is the time in microseconds at which a bucket is full again, and taken the
-- use in the last report. A limit that is lost in a crash of the server counts from zero, so the table needs no log.
CREATE UNLOGGED TABLE rate_limit (
  key     TEXT NOT NULL PRIMARY KEY,
  full_at BIGINT NOT NULL,
  taken   BIGINT NOT NULL
);

CREATE INDEX rate_limit_full ON rate_limit (full_at);
