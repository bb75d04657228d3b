-- +goose Up

-- The fields of a document that a public catalogue has filled, and its name, as JSON; '' for none.
ALTER TABLE document ADD COLUMN completed TEXT NOT NULL DEFAULT '';
