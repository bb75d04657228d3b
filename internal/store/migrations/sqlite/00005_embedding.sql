-- +goose Up

-- Vectors of passages, which cost money and so are kept here, not in an index. text_hash is of the title and the passage,
-- in hexadecimal digits; the same text in another document is not paid for again. vector is a float32 (little-endian) and
-- dims numbers of 8 bits that it scales, or empty where the model takes no such text.
CREATE TABLE embedding (
    document_id TEXT NOT NULL REFERENCES document (id) ON DELETE CASCADE,
    model       TEXT NOT NULL,
    text_hash   TEXT NOT NULL,
    dims        INTEGER NOT NULL,
    vector      BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (document_id, model, text_hash)
) STRICT;

CREATE INDEX embedding_text ON embedding (text_hash, model);

-- Documents whose passages have all their vectors, and have had them since this place in the change log. A document that
-- has another place by now is to be looked at again.
CREATE TABLE embedding_document (
    document_id TEXT NOT NULL REFERENCES document (id) ON DELETE CASCADE,
    model       TEXT NOT NULL,
    dims        INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    PRIMARY KEY (document_id, model)
) STRICT, WITHOUT ROWID;

-- Up to which place in the change log nothing lacks vectors, and how long the model's vectors are: all alike.
CREATE TABLE embedding_progress (
    model TEXT NOT NULL PRIMARY KEY,
    dims  INTEGER NOT NULL,
    seq   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Tasks that have ended are deleted after a while.
CREATE INDEX task_embed_finished ON task (finished_at) WHERE kind = 'embed';
