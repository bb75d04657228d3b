-- +goose Up

-- The bin: deleted items that the user who deleted them can restore. A thread stays in its table, with deleted_at; a memory
-- or favourite is the JSON in content, and a document is in bin_document. bytes is the size of a document, which counts
-- towards the storage of the owner of the agent.
CREATE TABLE bin_item (
    id         TEXT NOT NULL PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    agent_id   TEXT NOT NULL REFERENCES agent (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL CHECK (kind IN ('thread', 'memory', 'favourite', 'document')),
    item_id    TEXT NOT NULL,
    title      TEXT NOT NULL,
    bytes      INTEGER NOT NULL,
    deleted_at INTEGER NOT NULL,
    thread_id  TEXT REFERENCES thread (id) ON DELETE CASCADE,
    source_id  TEXT REFERENCES source (id) ON DELETE CASCADE,
    content    TEXT NOT NULL
) STRICT;

CREATE INDEX bin_item_user ON bin_item (user_id, agent_id, id);
CREATE INDEX bin_item_agent ON bin_item (agent_id, bytes);
CREATE INDEX bin_item_deleted ON bin_item (deleted_at);
CREATE INDEX bin_item_thread ON bin_item (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX bin_item_source ON bin_item (source_id) WHERE source_id IS NOT NULL;

-- A deleted document: the columns of document, and the name and size of the file that it was read from.
CREATE TABLE bin_document (
    bin_id          TEXT NOT NULL PRIMARY KEY REFERENCES bin_item (id) ON DELETE CASCADE,
    file_name       TEXT NOT NULL,
    file_size       INTEGER NOT NULL,
    id              TEXT NOT NULL,
    source_id       TEXT NOT NULL,
    external_id     TEXT NOT NULL,
    title           TEXT NOT NULL,
    authors         TEXT NOT NULL,
    text            TEXT NOT NULL,
    year            INTEGER,
    url             TEXT NOT NULL,
    doi             TEXT NOT NULL,
    venue           TEXT NOT NULL,
    type            TEXT NOT NULL,
    hash            BLOB NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    published_at    TEXT NOT NULL,
    citation_count  INTEGER,
    open_access_url TEXT NOT NULL,
    file            TEXT NOT NULL,
    expires_at      INTEGER,
    original        TEXT REFERENCES blob (hash),
    original_name   TEXT NOT NULL,
    original_size   INTEGER NOT NULL,
    edits           TEXT NOT NULL,
    tags            TEXT NOT NULL,
    completed       TEXT NOT NULL,
    language        TEXT
) STRICT;

CREATE INDEX bin_document_original ON bin_document (original) WHERE original IS NOT NULL;

-- When the thread was moved to the bin, or NULL.
ALTER TABLE thread ADD COLUMN deleted_at INTEGER;
