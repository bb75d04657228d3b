-- +goose Up

-- The documents of a file are asked for in the order of the ids that they came with. Without that column in the index the
-- documents of the whole source are walked over instead, and their texts with them.
DROP INDEX document_file;
CREATE INDEX document_file ON document (source_id, file, external_id) WHERE file <> '';
