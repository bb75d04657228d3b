-- +goose Up

-- tags is a list.
ALTER TABLE favourite ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
ALTER TABLE favourite ADD COLUMN note TEXT NOT NULL DEFAULT '';

-- Collections of favourites across agents. folded is the name in the form in which names are compared.
CREATE TABLE collection (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id    TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    folded     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (user_id, folded)
);

CREATE TABLE collection_favourite (
    collection_id TEXT COLLATE "C" NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    user_id       TEXT COLLATE "C" NOT NULL,
    agent_id      TEXT COLLATE "C" NOT NULL,
    card_id       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, agent_id, card_id, collection_id),
    FOREIGN KEY (user_id, agent_id, card_id) REFERENCES favourite (user_id, agent_id, card_id) ON DELETE CASCADE
);

CREATE INDEX collection_favourite_collection ON collection_favourite (collection_id);
