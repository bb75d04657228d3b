-- +goose Up

-- A running task of a kind with a limit per user occupies a slot, the smallest that none of the user's other running
-- tasks of the kind has. The unique index keeps the limit, even if several nodes start tasks at the same time.
ALTER TABLE task ADD COLUMN slot INTEGER;
DROP INDEX task_running_user;
CREATE UNIQUE INDEX task_slot ON task (user_id, kind, slot) WHERE state = 'running';
-- A new task queues behind the waiting tasks of its user.
CREATE INDEX task_queued_user ON task (user_id, kind) WHERE state = 'queued';
-- Waiting tasks start in the order in which their users were last served.
CREATE INDEX task_served ON task (user_id, kind, started_at) WHERE slot IS NOT NULL;
