-- +goose Up

-- The fields by which a user keeps threads in order. tags is a list, like favourite.tags.
ALTER TABLE thread ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1));
ALTER TABLE thread ADD COLUMN archived INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1));
ALTER TABLE thread ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';

CREATE INDEX thread_pinned ON thread (user_id, agent_id, pinned, activity_at, id);
CREATE INDEX thread_user ON thread (user_id, activity_at, id);
