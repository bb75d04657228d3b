-- +goose Up

-- The favourites of all agents, newest first. The tags are part of the index, so that a filter by tag and the list of
-- tags do not read the cards.
CREATE INDEX favourite_newest ON favourite (user_id, created_at, card_id, agent_id, tags);
