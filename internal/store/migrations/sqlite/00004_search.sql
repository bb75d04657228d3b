-- +goose Up

-- What a document may have besides: the date it was published on as it came (a full-date or a date-time of RFC 3339, or
-- ''), how often it was cited (NULL where nobody said), and where it can be read freely.
ALTER TABLE document ADD COLUMN published_at TEXT NOT NULL DEFAULT '';
ALTER TABLE document ADD COLUMN citation_count INTEGER;
ALTER TABLE document ADD COLUMN open_access_url TEXT NOT NULL DEFAULT '';

-- ISO 639-1; '' until it was said or guessed.
ALTER TABLE source ADD COLUMN language TEXT NOT NULL DEFAULT '';

-- The change log that indexes follow: one row for each document with the number of its latest change. op is 'put',
-- 'delete', or 'drop': a whole source went, and document_id is the source's. Rows outlive what they tell of, so they refer
-- to nothing. The log is read in the order of seq, which is why the table is clustered on that.
CREATE TABLE document_change (
    seq         INTEGER NOT NULL PRIMARY KEY,
    document_id TEXT NOT NULL UNIQUE,
    source_id   TEXT NOT NULL,
    op          TEXT NOT NULL
) STRICT;

CREATE INDEX document_change_source ON document_change (source_id);

-- One row: the number of the latest change of all.
CREATE TABLE document_change_counter (
    id   INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    last INTEGER NOT NULL
) STRICT;

INSERT INTO document_change (seq, document_id, source_id, op)
SELECT row_number() OVER (ORDER BY id), id, source_id, 'put' FROM document;

INSERT INTO document_change_counter (id, last) SELECT 1, count(*) FROM document_change;

-- How far the index of each node has followed the log.
CREATE TABLE search_index (
    node       TEXT NOT NULL PRIMARY KEY,
    seq        INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX search_index_updated ON search_index (updated_at);

-- What users did on a day (UTC, 2006-01-02): how often, and for how much.
CREATE TABLE usage_day (
    user_id TEXT NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    day     TEXT NOT NULL,
    kind    TEXT NOT NULL,
    count   INTEGER NOT NULL,
    micros  INTEGER NOT NULL,
    PRIMARY KEY (user_id, day, kind)
) STRICT, WITHOUT ROWID;
