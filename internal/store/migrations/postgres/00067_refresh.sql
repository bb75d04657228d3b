-- +goose Up

-- A refresh token is replaced if its successor exists. Tokens have no index by grant, which every refresh would write.
DROP INDEX oauth_refresh_replaced;
DROP INDEX oauth_refresh_grant;
ALTER TABLE oauth_refresh DROP COLUMN replaced_at, DROP CONSTRAINT oauth_refresh_grant_id_fkey;
CREATE INDEX oauth_refresh_created ON oauth_refresh (created_at);

DROP INDEX oauth_token_grant;
ALTER TABLE oauth_token DROP CONSTRAINT oauth_token_grant_id_fkey;

-- Pruning sets prune_at to expires_at, which every refresh moves and which has no index for that reason.
ALTER TABLE oauth_grant ADD COLUMN prune_at BIGINT NOT NULL DEFAULT 0;
DROP INDEX oauth_grant_expires;
CREATE INDEX oauth_grant_prune ON oauth_grant (prune_at);
