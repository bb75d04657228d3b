-- +goose Up

-- Durable work. A key has at most one running task; number counts the tasks of a key. idem_key and request_hash tell
-- a request that was sent twice. crashes counts the nodes lost since the last step that ended. What has ended and
-- still has its deltas has a prune_at.
CREATE TABLE task (
    id                  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    kind                TEXT COLLATE "C" NOT NULL,
    key                 TEXT COLLATE "C" NOT NULL,
    number              BIGINT NOT NULL,
    user_id             TEXT COLLATE "C" REFERENCES app_user (id) ON DELETE CASCADE,
    idem_key            TEXT COLLATE "C",
    request_hash        BYTEA,
    input               BYTEA,
    state               TEXT COLLATE "C" NOT NULL CHECK (state IN ('queued', 'running', 'complete', 'failed', 'cancelled')),
    owner               TEXT COLLATE "C",
    attempt             INTEGER NOT NULL,
    crashes             INTEGER NOT NULL,
    run_at              BIGINT NOT NULL,
    deadline_at         BIGINT NOT NULL,
    cancel_requested_at BIGINT,
    result              BYTEA,
    error_code          TEXT COLLATE "C" NOT NULL,
    error_detail        TEXT NOT NULL,
    created_at          BIGINT NOT NULL,
    started_at          BIGINT,
    finished_at         BIGINT,
    prune_at            BIGINT,
    UNIQUE (key, number),
    UNIQUE (user_id, idem_key),
    CHECK ((state = 'running') = (owner IS NOT NULL)),
    CHECK ((state IN ('queued', 'running')) = (finished_at IS NULL))
);

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
    task_id    TEXT COLLATE "C" NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    n          INTEGER NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    label      TEXT NOT NULL,
    state      TEXT COLLATE "C" NOT NULL CHECK (state IN ('started', 'finished', 'failed')),
    output     BYTEA,
    last_seq   BIGINT NOT NULL,
    estimate   BIGINT,
    cost       BIGINT,
    started_at BIGINT NOT NULL,
    ended_at   BIGINT,
    PRIMARY KEY (task_id, n)
);

CREATE TABLE task_event (
    task_id TEXT COLLATE "C" NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    seq     BIGINT NOT NULL,
    attempt INTEGER NOT NULL,
    kind    TEXT COLLATE "C" NOT NULL,
    payload BYTEA NOT NULL,
    PRIMARY KEY (task_id, seq)
);

-- A row is one lease of a process, by the clock of the database. An id whose lease has ended is never used again.
CREATE TABLE node (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    version     TEXT COLLATE "C" NOT NULL,
    lease_until BIGINT NOT NULL,
    joined_at   BIGINT NOT NULL
);

-- Why a turn failed or was cancelled stands with its reply.
ALTER TABLE message ADD COLUMN error_code TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN error_detail TEXT NOT NULL DEFAULT '';
