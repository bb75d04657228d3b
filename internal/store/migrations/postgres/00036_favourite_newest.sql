-- +goose Up

-- The favourites of all agents, newest first.
CREATE INDEX favourite_newest ON favourite (user_id, created_at, card_id, agent_id);
