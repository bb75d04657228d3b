-- +goose Up

-- A refresh token is replaced if its successor exists. Tokens have no index by grant, which every refresh would write.
CREATE TABLE oauth_refresh_new (
    hash       BLOB NOT NULL PRIMARY KEY,
    grant_id   TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO oauth_refresh_new SELECT hash, grant_id, created_at FROM oauth_refresh;
DROP TABLE oauth_refresh;
ALTER TABLE oauth_refresh_new RENAME TO oauth_refresh;
CREATE INDEX oauth_refresh_created ON oauth_refresh (created_at);

CREATE TABLE oauth_token_new (
    hash       BLOB NOT NULL PRIMARY KEY,
    grant_id   TEXT NOT NULL,
    scopes     TEXT NOT NULL,
    resources  TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO oauth_token_new SELECT hash, grant_id, scopes, resources, created_at, expires_at FROM oauth_token;
DROP TABLE oauth_token;
ALTER TABLE oauth_token_new RENAME TO oauth_token;
CREATE INDEX oauth_token_expires ON oauth_token (expires_at);

-- Pruning sets prune_at to expires_at, which every refresh moves and which has no index for that reason.
ALTER TABLE oauth_grant ADD COLUMN prune_at INTEGER NOT NULL DEFAULT 0;
DROP INDEX oauth_grant_expires;
CREATE INDEX oauth_grant_prune ON oauth_grant (prune_at);
