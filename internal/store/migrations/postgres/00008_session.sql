-- +goose Up

-- A browser that somebody signed in with. The secret is in its cookie; here is its keyed hash. expires_at is the absolute
-- end; the idle one follows from seen_at. address and agent are shown to the user, who tells browsers apart by them.
CREATE TABLE web_session (
    id               TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id          TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    hash             BYTEA NOT NULL UNIQUE,
    address          TEXT NOT NULL,
    agent            TEXT NOT NULL,
    created_at       BIGINT NOT NULL,
    authenticated_at BIGINT NOT NULL,
    seen_at          BIGINT NOT NULL,
    expires_at       BIGINT NOT NULL,
    revoked_at       BIGINT
);

CREATE INDEX web_session_user ON web_session (user_id, id);
CREATE INDEX web_session_expiry ON web_session (expires_at);

-- Whoever inserts the only row makes the first account on the web. It is a record, not a reference.
CREATE TABLE setup (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    user_id TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL
);

-- What happened to accounts and credentials. Each row's hash covers the row and the hash before it. Rows outlive the
-- users that they are about.
CREATE TABLE audit (
    seq       BIGINT NOT NULL PRIMARY KEY,
    at        BIGINT NOT NULL,
    user_id   TEXT COLLATE "C" NOT NULL,
    actor     TEXT NOT NULL,
    event     TEXT NOT NULL,
    detail    TEXT NOT NULL,
    address   TEXT NOT NULL,
    prev_hash BYTEA NOT NULL,
    hash      BYTEA NOT NULL
);

CREATE INDEX audit_user ON audit (user_id, seq);

-- The end of the chain: locked by whoever appends, and proof that the last rows were not cut off.
CREATE TABLE audit_head (
    id   INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    seq  BIGINT NOT NULL,
    hash BYTEA NOT NULL
);

INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, '');
