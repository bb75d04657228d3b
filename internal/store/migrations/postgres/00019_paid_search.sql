-- +goose Up
-- A turn has one call of a model open at a time, and beside it any number of paid searches, which are settled one by one.
DROP INDEX spend_row_open;
DROP INDEX spend_row_hold;
CREATE UNIQUE INDEX spend_row_open ON spend_row (turn_id) WHERE state = 'reserved' AND turn_id <> '' AND kind = 'model';
CREATE INDEX spend_row_hold ON spend_row (created_at) WHERE state = 'reserved' AND kind <> 'model';
