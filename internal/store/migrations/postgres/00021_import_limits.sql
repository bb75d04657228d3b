-- +goose Up
-- How many tasks of a kind a user has running is asked whenever one of a limited kind may start.
CREATE INDEX task_running_user ON task (user_id, kind) WHERE state = 'running';
