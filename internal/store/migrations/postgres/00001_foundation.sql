-- +goose Up

-- Times are milliseconds since 1970 from the clock of Carrel; lists are JSON; hashes are raw bytes. Keys and what
-- lists are ordered by compare as bytes (COLLATE "C"), so that both engines sort alike.

-- One row: what the installation has of its own.
CREATE TABLE installation (
    id     INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    secret BYTEA NOT NULL
);

CREATE TABLE app_user (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    email         TEXT COLLATE "C" NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    role          TEXT COLLATE "C" NOT NULL,
    plan          TEXT NOT NULL,
    spend_cap     BIGINT,
    password_hash TEXT NOT NULL,
    disabled_at   BIGINT,
    created_at    BIGINT NOT NULL
);

CREATE TABLE credential_key (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    kind         TEXT NOT NULL,
    name         TEXT NOT NULL,
    hint         TEXT NOT NULL,
    hash         BYTEA NOT NULL UNIQUE,
    scopes       TEXT NOT NULL,
    agents       TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,
    revoked_at   BIGINT,
    last_used_at BIGINT
);

CREATE INDEX credential_key_user ON credential_key (user_id, id);

-- key_id is a record of what came of the code, not a reference: the key is stored after the code is used up.
CREATE TABLE connect_code (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id    TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    hash       BYTEA NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT,
    key_id     TEXT COLLATE "C"
);

CREATE INDEX connect_code_user ON connect_code (user_id);

CREATE TABLE budget (
    user_id  TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    period   TEXT COLLATE "C" NOT NULL,
    reserved BIGINT NOT NULL,
    spent    BIGINT NOT NULL,
    PRIMARY KEY (user_id, period)
);

-- (user_id, id) serves the list and is what everything below an agent refers to, so that the database itself keeps
-- a row from hanging on the agent of somebody else.
CREATE TABLE agent (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    description  TEXT NOT NULL,
    instructions TEXT NOT NULL,
    model        TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    UNIQUE (user_id, id)
);

CREATE TABLE source (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    agent_id   TEXT COLLATE "C" NOT NULL REFERENCES agent (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    is_default SMALLINT NOT NULL CHECK (is_default IN (0, 1)),
    documents  INTEGER NOT NULL,
    status     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX source_agent ON source (agent_id, id);
CREATE UNIQUE INDEX source_default ON source (agent_id) WHERE is_default = 1;

CREATE TABLE document (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    source_id   TEXT COLLATE "C" NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    external_id TEXT COLLATE "C" NOT NULL,
    title       TEXT NOT NULL,
    authors     TEXT NOT NULL,
    text        TEXT NOT NULL,
    year        INTEGER,
    url         TEXT NOT NULL,
    doi         TEXT NOT NULL,
    venue       TEXT NOT NULL,
    type        TEXT NOT NULL,
    hash        BYTEA NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    UNIQUE (source_id, external_id)
);

CREATE INDEX document_source ON document (source_id, id);

CREATE TABLE thread (
    id              TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id         TEXT COLLATE "C" NOT NULL,
    agent_id        TEXT COLLATE "C" NOT NULL,
    title           TEXT NOT NULL,
    status          TEXT NOT NULL,
    activity_at     BIGINT NOT NULL,
    next_seq        INTEGER NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    last_message_at BIGINT,
    FOREIGN KEY (user_id, agent_id) REFERENCES agent (user_id, id) ON DELETE CASCADE
);

CREATE INDEX thread_activity ON thread (user_id, agent_id, activity_at, id);

CREATE TABLE message (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    thread_id  TEXT COLLATE "C" NOT NULL REFERENCES thread (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    role       TEXT COLLATE "C" NOT NULL,
    text       TEXT NOT NULL,
    status     TEXT NOT NULL,
    turn_id    TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (thread_id, seq),
    UNIQUE (turn_id, role)
);

-- The text is unique in its folded form; a hash of it keeps the index small.
CREATE TABLE memory (
    user_id     TEXT COLLATE "C" NOT NULL,
    agent_id    TEXT COLLATE "C" NOT NULL,
    id          TEXT COLLATE "C" NOT NULL,
    text        TEXT NOT NULL,
    folded_hash BYTEA NOT NULL,
    origin      TEXT NOT NULL,
    thread_id   TEXT COLLATE "C" REFERENCES thread (id) ON DELETE SET NULL,
    message_id  TEXT COLLATE "C" REFERENCES message (id) ON DELETE SET NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    PRIMARY KEY (user_id, agent_id, id),
    UNIQUE (user_id, agent_id, folded_hash),
    FOREIGN KEY (user_id, agent_id) REFERENCES agent (user_id, id) ON DELETE CASCADE
);

CREATE INDEX memory_thread ON memory (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX memory_message ON memory (message_id) WHERE message_id IS NOT NULL;

CREATE TABLE favourite (
    user_id    TEXT COLLATE "C" NOT NULL,
    agent_id   TEXT COLLATE "C" NOT NULL,
    card_id    TEXT COLLATE "C" NOT NULL,
    card       TEXT NOT NULL,
    thread_id  TEXT COLLATE "C" REFERENCES thread (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, agent_id, card_id),
    FOREIGN KEY (user_id, agent_id) REFERENCES agent (user_id, id) ON DELETE CASCADE
);

CREATE INDEX favourite_created ON favourite (user_id, agent_id, created_at, card_id);
CREATE INDEX favourite_thread ON favourite (thread_id) WHERE thread_id IS NOT NULL;

CREATE TABLE idempotency (
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    key          TEXT COLLATE "C" NOT NULL,
    hash         BYTEA NOT NULL,
    seed         TEXT NOT NULL,
    status       INTEGER NOT NULL,
    body         BYTEA,
    locked_until BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (user_id, key)
);

CREATE INDEX idempotency_created ON idempotency (created_at);
