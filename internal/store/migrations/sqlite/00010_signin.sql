-- +goose Up

-- What somebody has begun in a browser and not finished: a sign-in that waits for its second factor, the challenge of a
-- passkey, a journey to another provider. It is found by the keyed hash of a secret that the browser holds, and finished
-- by deleting it, so that it is good once on all nodes. user_id and session_id are empty where nobody is known yet.
CREATE TABLE signin_pending (
    hash       BLOB NOT NULL PRIMARY KEY,
    kind       TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    session_id TEXT NOT NULL,
    data       BLOB NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX signin_pending_expiry ON signin_pending (expires_at);

-- A code that an admin gave somebody to choose a new password with; a new one takes the place of the one before. With
-- clear_factors its use also removes passkeys and the authenticator app, for people who have lost them.
CREATE TABLE password_reset (
    user_id       TEXT NOT NULL PRIMARY KEY REFERENCES app_user (id) ON DELETE CASCADE,
    hash          BLOB NOT NULL UNIQUE,
    clear_factors INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The authenticator app of a user (RFC 6238). The secret is sealed. last_step is the time step of the last code that was
-- taken: no code at or before it is taken again. Until confirmed_at is set nothing is asked for.
CREATE TABLE totp (
    user_id      TEXT NOT NULL PRIMARY KEY REFERENCES app_user (id) ON DELETE CASCADE,
    secret       BLOB NOT NULL,
    last_step    INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    confirmed_at INTEGER
) STRICT, WITHOUT ROWID;

-- Codes for whoever has lost the authenticator app; one that was used is gone.
CREATE TABLE recovery_code (
    user_id TEXT NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    hash    BLOB NOT NULL,
    PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;

-- Passkeys (WebAuthn). credential_id is the authenticator's own name for it; record is what is checked against.
CREATE TABLE passkey (
    id            TEXT NOT NULL PRIMARY KEY,
    user_id       TEXT NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    credential_id BLOB NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    record        BLOB NOT NULL,
    created_at    INTEGER NOT NULL,
    last_used_at  INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX passkey_user ON passkey (user_id, id);

-- Who somebody is at another OpenID provider. A user has one identity at each.
CREATE TABLE upstream_identity (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    user_id    TEXT NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (user_id, issuer)
) STRICT, WITHOUT ROWID;
