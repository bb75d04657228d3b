-- +goose Up

-- The messages of a thread's current branch have no parent_turn: the turn before theirs is the previous one of the
-- branch. The messages of other branches have the turn before theirs, '' for the first. Turns with the same turn before
-- them are versions of each other.
ALTER TABLE message ADD COLUMN parent_turn TEXT;
CREATE INDEX message_version ON message (thread_id, parent_turn) WHERE parent_turn IS NOT NULL;
