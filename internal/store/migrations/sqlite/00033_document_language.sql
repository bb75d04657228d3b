-- +goose Up

-- The language of a document as an ISO 639-1 code; '' if it is unknown, NULL if it has not been detected yet, as for
-- documents of earlier versions.
ALTER TABLE document ADD COLUMN language TEXT;

-- Lists the documents of a language, and finds the ones whose language has not been detected yet.
CREATE INDEX document_language ON document (language, source_id, id) WHERE expires_at IS NULL;
