-- +goose Up

-- The threads of an agent by activity are two ranges of thread_pinned, merged: an index of their own made every new
-- thread and every turn slower.
DROP INDEX thread_activity;
