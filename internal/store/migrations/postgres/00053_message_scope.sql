-- +goose Up

-- The sources and documents that a question is limited to, as JSON; '' for all.
ALTER TABLE message ADD COLUMN scope TEXT NOT NULL DEFAULT '';
