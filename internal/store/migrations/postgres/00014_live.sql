-- +goose Up

-- When a result of a live source goes again; NULL for documents that stay. Those that go are in no change log, and so in
-- no index and no count.
ALTER TABLE document ADD COLUMN expires_at BIGINT;

CREATE INDEX document_expires ON document (expires_at) WHERE expires_at IS NOT NULL;

-- What live sources answered, under the hash of what they were asked, with which settings.
CREATE TABLE live_answer (
    key        BYTEA NOT NULL PRIMARY KEY,
    answer     BYTEA NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX live_answer_expires ON live_answer (expires_at);
