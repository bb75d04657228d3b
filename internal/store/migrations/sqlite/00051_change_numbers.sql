-- +goose Up

-- The number of the newest change. On PostgreSQL, numbers come from a sequence, and this is the newest one up to which
-- every change is committed.
ALTER TABLE document_change_counter RENAME TO document_change_head;
