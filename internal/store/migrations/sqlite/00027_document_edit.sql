-- +goose Up

-- The fields of a document that a person has set, as JSON, which imports keep; '' for none. tags is a list.
ALTER TABLE document ADD COLUMN edits TEXT NOT NULL DEFAULT '';
ALTER TABLE document ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
