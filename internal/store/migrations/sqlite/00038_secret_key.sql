-- +goose Up

-- key_check is the fingerprint of the installation's secret key, so that a start with another key is refused. hash_key is
-- the key of credential hashes, sealed with the secret key, once the secret key was changed. Until then the two are the
-- same and hash_key is null.
ALTER TABLE installation ADD COLUMN key_check TEXT;
ALTER TABLE installation ADD COLUMN hash_key BLOB;
