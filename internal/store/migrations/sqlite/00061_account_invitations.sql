-- +goose Up

-- Invitations to create an account. An invitation is found by the keyed hash of its code and deleted by its use, so that
-- it works once on all nodes. created_by is NULL for the operator. An invitation is deleted with its creator.
CREATE TABLE account_invitation (
    id         TEXT NOT NULL PRIMARY KEY,
    hash       BLOB NOT NULL UNIQUE,
    email      TEXT NOT NULL,
    role       TEXT NOT NULL,
    plan       TEXT NOT NULL,
    created_by TEXT REFERENCES app_user (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX account_invitation_expiry ON account_invitation (expires_at);
CREATE INDEX account_invitation_creator ON account_invitation (created_by);
