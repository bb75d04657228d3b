-- +goose Up

-- Numbers of changes come from a sequence, so that writers do not wait for each other. document_change_head holds the
-- newest number up to which every change is committed, as far as a reader has determined it; it never decreases.
ALTER TABLE document_change_counter RENAME TO document_change_head;

CREATE SEQUENCE document_change_number MINVALUE 0;

SELECT setval('document_change_number', last) FROM document_change_head;
