-- +goose Up

-- Programs that may ask users for access: registered by themselves (kind 'registered') or described by a document at the
-- address that is their id (kind 'document', read again after fetched_at plus a while). used_at is when one first got a
-- token; those that never do are deleted after a week.
CREATE TABLE oauth_client (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    kind          TEXT COLLATE "C" NOT NULL CHECK (kind IN ('registered', 'document')),
    name          TEXT NOT NULL,
    uri           TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    auth_method   TEXT COLLATE "C" NOT NULL CHECK (auth_method IN ('none', 'client_secret_basic', 'client_secret_post')),
    secret_hash   BYTEA,
    created_at    BIGINT NOT NULL,
    fetched_at    BIGINT,
    used_at       BIGINT
);

CREATE INDEX oauth_client_unused ON oauth_client (created_at) WHERE used_at IS NULL;

-- What a user has allowed a client. It begins when a code is redeemed and ends at expires_at, which every refresh moves.
-- scopes and resources are JSON lists. auth_time is when the user had signed in.
CREATE TABLE oauth_grant (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    client_id    TEXT COLLATE "C" NOT NULL REFERENCES oauth_client (id) ON DELETE CASCADE,
    scopes       TEXT NOT NULL,
    resources    TEXT NOT NULL,
    auth_time    BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at   BIGINT
);

CREATE INDEX oauth_grant_user ON oauth_grant (user_id, id);
CREATE INDEX oauth_grant_client ON oauth_grant (client_id);
CREATE INDEX oauth_grant_expires ON oauth_grant (expires_at);

-- Authorization codes by their keyed hash. A used one stays for a while: who shows it again ends the grant.
CREATE TABLE oauth_code (
    hash         BYTEA NOT NULL PRIMARY KEY,
    grant_id     TEXT COLLATE "C" NOT NULL,
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    client_id    TEXT COLLATE "C" NOT NULL REFERENCES oauth_client (id) ON DELETE CASCADE,
    redirect_uri TEXT NOT NULL,
    challenge    TEXT NOT NULL,
    nonce        TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    resources    TEXT NOT NULL,
    auth_time    BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    used_at      BIGINT
);

CREATE INDEX oauth_code_user ON oauth_code (user_id);
CREATE INDEX oauth_code_client ON oauth_code (client_id);
CREATE INDEX oauth_code_expires ON oauth_code (expires_at);

-- Access tokens by their keyed hash, with what they may do of what the grant allows.
CREATE TABLE oauth_token (
    hash       BYTEA NOT NULL PRIMARY KEY,
    grant_id   TEXT COLLATE "C" NOT NULL REFERENCES oauth_grant (id) ON DELETE CASCADE,
    scopes     TEXT NOT NULL,
    resources  TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX oauth_token_grant ON oauth_token (grant_id);
CREATE INDEX oauth_token_expires ON oauth_token (expires_at);

-- Refresh tokens by their keyed hash. One works once: replaced_at is when. Its successor follows from it by a keyed hash.
CREATE TABLE oauth_refresh (
    hash        BYTEA NOT NULL PRIMARY KEY,
    grant_id    TEXT COLLATE "C" NOT NULL REFERENCES oauth_grant (id) ON DELETE CASCADE,
    created_at  BIGINT NOT NULL,
    replaced_at BIGINT
);

CREATE INDEX oauth_refresh_grant ON oauth_refresh (grant_id);
CREATE INDEX oauth_refresh_replaced ON oauth_refresh (replaced_at) WHERE replaced_at IS NOT NULL;

-- Keys that id tokens are signed with, the private half encrypted. Each follows the one before: two nodes that make the
-- same number clash, and one of them wins. A key signs from active_at on, and is published before and for a while after.
CREATE TABLE oauth_key (
    number     BIGINT NOT NULL PRIMARY KEY,
    id         TEXT COLLATE "C" NOT NULL UNIQUE,
    sealed     BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    active_at  BIGINT NOT NULL
);
