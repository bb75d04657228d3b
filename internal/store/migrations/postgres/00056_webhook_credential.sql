-- +goose Up

-- A webhook that a connected program has created receives only the events of turns that were started with its
-- credential, and is deleted with it. It is empty for the webhooks of the account.
ALTER TABLE webhook ADD COLUMN credential_id TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX webhook_credential ON webhook (credential_id) WHERE credential_id <> '';
