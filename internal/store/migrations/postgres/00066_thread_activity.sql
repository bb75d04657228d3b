-- +goose Up

-- thread_activity is dropped on SQLite only.
