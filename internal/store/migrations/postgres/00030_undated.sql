-- +goose Up

-- Lists and counts the documents without a year. Documents with a year are not in it.
CREATE INDEX document_undated ON document (source_id, id) WHERE year IS NULL AND expires_at IS NULL;
