-- +goose Up

-- The detail of old days is rolled up: one row for all calls of a user, a day, a credential, an agent and a model.
ALTER TABLE spend_row ADD COLUMN calls INTEGER NOT NULL DEFAULT 1;
ALTER TABLE spend_row ADD COLUMN rolled_up INTEGER NOT NULL DEFAULT 0;
CREATE INDEX spend_row_detail ON spend_row (day, user_id) WHERE rolled_up = 0;

-- The last entry that was pruned from the audit log. The chain is verified from there.
ALTER TABLE audit_head ADD COLUMN pruned_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit_head ADD COLUMN pruned_hash BLOB NOT NULL DEFAULT x'';

-- Turns that ended before have their deltas pruned, but not their tasks.
UPDATE task SET prune_at = finished_at WHERE kind = 'turn' AND finished_at IS NOT NULL AND prune_at IS NULL;
