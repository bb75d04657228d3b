-- +goose Up

-- Links that make threads readable without an account. messages is the JSON list of the ids of the shown messages. Only
-- the keyed hash of the token in the address is stored.
CREATE TABLE thread_link (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id    TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    thread_id  TEXT COLLATE "C" NOT NULL REFERENCES thread (id) ON DELETE CASCADE,
    hash       BYTEA NOT NULL UNIQUE,
    messages   TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT
);

CREATE INDEX thread_link_user ON thread_link (user_id, id);
CREATE INDEX thread_link_thread ON thread_link (thread_id, id);
CREATE INDEX thread_link_expiry ON thread_link (expires_at) WHERE expires_at IS NOT NULL;

-- The plan that includes everything.
UPDATE plan SET capabilities = '["search","chat","research","memories","favourites","manage","share","mcp"]'
WHERE name = 'open' AND capabilities = '["search","chat","research","memories","favourites","manage","mcp"]';
