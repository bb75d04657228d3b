-- +goose Up

-- The attachments that the text of a file's document contains, as JSON; '' for none. An unchanged attachment is taken
-- from the text instead of being downloaded again.
ALTER TABLE source_file ADD COLUMN parts TEXT NOT NULL DEFAULT '';
