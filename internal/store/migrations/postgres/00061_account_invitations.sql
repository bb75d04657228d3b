-- +goose Up

-- Invitations to create an account. An invitation is found by the keyed hash of its code and deleted by its use, so that
-- it works once on all nodes. created_by is NULL for the operator. An invitation is deleted with its creator.
CREATE TABLE account_invitation (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    hash       BYTEA NOT NULL UNIQUE,
    email      TEXT COLLATE "C" NOT NULL,
    role       TEXT COLLATE "C" NOT NULL,
    plan       TEXT COLLATE "C" NOT NULL,
    created_by TEXT COLLATE "C" REFERENCES app_user (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX account_invitation_expiry ON account_invitation (expires_at);
CREATE INDEX account_invitation_creator ON account_invitation (created_by);
