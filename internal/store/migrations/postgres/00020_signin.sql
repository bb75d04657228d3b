-- +goose Up

-- Whether an administrator, the operator or the OpenID provider set the address. Only then does a first sign-in at the
-- provider find the account by it; an address that its user chose proves nothing. Accounts from before count as set by an
-- administrator unless the audit log says that the address was changed.
ALTER TABLE app_user ADD COLUMN email_verified INTEGER NOT NULL DEFAULT 0 CHECK (email_verified IN (0, 1));

UPDATE app_user SET email_verified = 1
WHERE NOT EXISTS (SELECT 1 FROM audit a WHERE a.user_id = app_user.id AND a.event = 'email_changed');

-- The address that a member asked for and that waits for an administrator, or ''. It reserves nothing, so that nobody
-- learns from it which addresses have accounts.
ALTER TABLE app_user ADD COLUMN pending_email TEXT NOT NULL DEFAULT '';

-- Limits on guessing, for all nodes: one row for each network, account and browser that has made attempts lately. The key
-- is a keyed hash. full_at is when all attempts are available again; from then on the row says nothing and is removed.
CREATE TABLE signin_limit (
    key     BYTEA NOT NULL PRIMARY KEY,
    full_at BIGINT NOT NULL
);

CREATE INDEX signin_limit_full ON signin_limit (full_at);

-- Browsers in which somebody has signed in, by the keyed hash of a cookie. Strangers who guess at an account do not use up
-- the attempts of its known browsers. A new password removes them.
CREATE TABLE signin_browser (
    hash       BYTEA NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (hash, user_id)
);

CREATE INDEX signin_browser_user ON signin_browser (user_id);
CREATE INDEX signin_browser_expiry ON signin_browser (expires_at);

-- The key that another key or a connect code was made with, or ''. Whatever is made with a key ends with it:
-- key_expires_at is the end of the key that will be minted from a code.
ALTER TABLE credential_key ADD COLUMN made_with TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE connect_code ADD COLUMN made_with TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE connect_code ADD COLUMN key_expires_at BIGINT;

CREATE INDEX credential_key_made_with ON credential_key (made_with) WHERE made_with <> '';
CREATE INDEX connect_code_made_with ON connect_code (made_with) WHERE made_with <> '';
