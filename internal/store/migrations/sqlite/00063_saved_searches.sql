-- +goose Up

-- Searches that a user has saved with an agent. search is a search request in JSON.
CREATE TABLE saved_search (
    user_id    TEXT NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    agent_id   TEXT NOT NULL REFERENCES agent (id) ON DELETE CASCADE,
    id         TEXT NOT NULL,
    name       TEXT NOT NULL,
    search     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, agent_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX saved_search_agent ON saved_search (agent_id);
