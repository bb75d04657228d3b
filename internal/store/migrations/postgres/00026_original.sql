-- +goose Up

-- The stored original files by the SHA-256 of their content in hex. used_at is when an import last stored the content
-- without a document that refers to it yet, and 0 afterwards.
CREATE TABLE blob (
    hash    TEXT NOT NULL PRIMARY KEY,
    size    BIGINT NOT NULL,
    used_at BIGINT NOT NULL
);

-- The file that a document was read from; NULL if it was not kept. original_size counts in the size of the source.
ALTER TABLE document ADD COLUMN original TEXT REFERENCES blob (hash);
ALTER TABLE document ADD COLUMN original_name TEXT NOT NULL DEFAULT '';
ALTER TABLE document ADD COLUMN original_size BIGINT NOT NULL DEFAULT 0;

CREATE INDEX document_original ON document (original) WHERE original IS NOT NULL;
