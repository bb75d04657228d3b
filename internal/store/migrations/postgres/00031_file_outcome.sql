-- +goose Up

-- The result of a file's last import: added, updated, unchanged or failed; '' for imports of earlier versions.
ALTER TABLE source_file ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
