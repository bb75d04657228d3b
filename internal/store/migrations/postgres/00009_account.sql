-- +goose Up

-- Where keys and grants were last used from, and by what program. client_name is what a connecting program called itself;
-- its user may give it another name. A grant whose name is '' has that of its client.
ALTER TABLE credential_key ADD COLUMN client_name TEXT NOT NULL DEFAULT '';
ALTER TABLE credential_key ADD COLUMN last_address TEXT NOT NULL DEFAULT '';
ALTER TABLE credential_key ADD COLUMN last_program TEXT NOT NULL DEFAULT '';
UPDATE credential_key SET client_name = name WHERE kind = 'minted';

ALTER TABLE oauth_grant ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE oauth_grant ADD COLUMN last_address TEXT NOT NULL DEFAULT '';
ALTER TABLE oauth_grant ADD COLUMN last_program TEXT NOT NULL DEFAULT '';

-- Codes are listed by their user and forgotten a while after they expire.
DROP INDEX connect_code_user;
CREATE INDEX connect_code_user ON connect_code (user_id, id);
CREATE INDEX connect_code_expires ON connect_code (expires_at);
