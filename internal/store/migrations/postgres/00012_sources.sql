-- +goose Up

-- How a source is filled: its settings as JSON ('' for none), a secret that is sealed, and when it was and will be synced.
ALTER TABLE source ADD COLUMN settings TEXT NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN secret BYTEA;
ALTER TABLE source ADD COLUMN synced_at BIGINT;
ALTER TABLE source ADD COLUMN next_sync_at BIGINT;

CREATE INDEX source_next_sync ON source (next_sync_at) WHERE next_sync_at IS NOT NULL;

-- The file that a document came from, by its id; '' for one that was handed over by itself.
ALTER TABLE document ADD COLUMN file TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX document_file ON document (source_id, file) WHERE file <> '';

-- The files, pages and entries that a source is made of, as they were when they were last read. version is what tells of
-- a change without reading it (a time, an ETag), hash is of what was read. error is why nothing could be read.
CREATE TABLE source_file (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    source_id  TEXT COLLATE "C" NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    name       TEXT COLLATE "C" NOT NULL,
    size       BIGINT NOT NULL,
    version    TEXT NOT NULL,
    hash       BYTEA NOT NULL,
    documents  BIGINT NOT NULL,
    skipped    BIGINT NOT NULL,
    error      TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (source_id, name)
);

-- Files on their way in. size is -1 while it is not known; ready says that all of it is here and waits to be read.
CREATE TABLE upload (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    source_id  TEXT COLLATE "C" NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    name       TEXT COLLATE "C" NOT NULL,
    size       BIGINT NOT NULL,
    received   BIGINT NOT NULL,
    ready      INTEGER NOT NULL CHECK (ready IN (0, 1)),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX upload_source ON upload (source_id, id);
CREATE INDEX upload_updated ON upload (updated_at);

-- The bytes of uploads, in pieces, from their offsets on.
CREATE TABLE upload_chunk (
    upload_id TEXT COLLATE "C" NOT NULL REFERENCES upload (id) ON DELETE CASCADE,
    start     BIGINT NOT NULL,
    data      BYTEA NOT NULL,
    PRIMARY KEY (upload_id, start)
);

-- What imports did, by their task: a report as JSON, brought up to date while they run.
CREATE TABLE source_import (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    source_id  TEXT COLLATE "C" NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    state      TEXT NOT NULL,
    report     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX source_import_source ON source_import (source_id, id);
