-- +goose Up
-- The single row is written by the readiness check, to learn whether the database accepts writes.
CREATE TABLE write_check (
    id         BIGINT PRIMARY KEY CHECK (id = 1),
    checked_at BIGINT NOT NULL
);
