-- +goose Up

-- The result of importing an upload: added, updated, unchanged or failed, and '' until then. The row is kept for two days
-- without its bytes, so that a client learns the result after a lost connection.
ALTER TABLE upload ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
ALTER TABLE upload ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE upload ADD COLUMN documents INTEGER NOT NULL DEFAULT 0;
ALTER TABLE upload ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;

-- The uploads that wait for their import.
CREATE INDEX upload_waiting ON upload (source_id, id) WHERE ready = 1 AND outcome = '';
