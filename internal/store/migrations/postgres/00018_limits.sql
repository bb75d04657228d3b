-- +goose Up

-- How many bytes the titles and texts of a source's documents have, as documents counts them.
ALTER TABLE source ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;

UPDATE source SET bytes = coalesce((
    SELECT sum(octet_length(title) + octet_length(text)) FROM document WHERE document.source_id = source.id), 0);

CREATE INDEX task_import_finished ON task (finished_at) WHERE kind = 'import';
