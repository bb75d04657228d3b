-- +goose Up

-- Durable work. A key has at most one running task; number counts the tasks of a key. idem_key and request_hash tell
-- a request that was sent twice. crashes counts the nodes lost since the last step that ended. What has ended and
-- still has its deltas has a prune_at.
CREATE TABLE task (
    id                  TEXT NOT NULL PRIMARY KEY,
    kind                TEXT NOT NULL,
    key                 TEXT NOT NULL,
    number              INTEGER NOT NULL,
    user_id             TEXT REFERENCES app_user (id) ON DELETE CASCADE,
    idem_key            TEXT,
    request_hash        BLOB,
    input               BLOB,
    state               TEXT NOT NULL CHECK (state IN ('queued', 'running', 'complete', 'failed', 'cancelled')),
    owner               TEXT,
    attempt             INTEGER NOT NULL,
    crashes             INTEGER NOT NULL,
    run_at              INTEGER NOT NULL,
    deadline_at         INTEGER NOT NULL,
    cancel_requested_at INTEGER,
    result              BLOB,
    error_code          TEXT NOT NULL,
    error_detail        TEXT NOT NULL,
    created_at          INTEGER NOT NULL,
    started_at          INTEGER,
    finished_at         INTEGER,
    prune_at            INTEGER,
    UNIQUE (key, number),
    UNIQUE (user_id, idem_key),
    CHECK ((state = 'running') = (owner IS NOT NULL)),
    CHECK ((state IN ('queued', 'running')) = (finished_at IS NULL))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX task_running ON task (key) WHERE state = 'running';
CREATE INDEX task_owner ON task (owner) WHERE state = 'running';
CREATE INDEX task_queue ON task (run_at, id) WHERE state = 'queued';
CREATE INDEX task_queued_key ON task (key, number) WHERE state = 'queued';
CREATE INDEX task_deadline ON task (deadline_at) WHERE state = 'queued';
CREATE INDEX task_cancel ON task (id) WHERE cancel_requested_at IS NOT NULL AND finished_at IS NULL;
CREATE INDEX task_prune ON task (prune_at) WHERE prune_at IS NOT NULL;

-- The journal. last_seq is the task's last event when the step ended. estimate and cost are what the step may cost
-- and did.
CREATE TABLE task_step (
    task_id    TEXT NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    n          INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    label      TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('started', 'finished', 'failed')),
    output     BLOB,
    last_seq   INTEGER NOT NULL,
    estimate   INTEGER,
    cost       INTEGER,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    PRIMARY KEY (task_id, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE task_event (
    task_id TEXT NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (task_id, seq)
) STRICT, WITHOUT ROWID;

-- A row is one lease of a process. An id whose lease has ended is never used again.
CREATE TABLE node (
    id          TEXT NOT NULL PRIMARY KEY,
    version     TEXT NOT NULL,
    lease_until INTEGER NOT NULL,
    joined_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Why a turn failed or was cancelled stands with its reply.
ALTER TABLE message ADD COLUMN error_code TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN error_detail TEXT NOT NULL DEFAULT '';
