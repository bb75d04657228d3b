-- +goose Up

-- When an account was closed to be deleted. From then on nobody sees it; its rows go in the background.
ALTER TABLE app_user ADD COLUMN closing_at INTEGER;

CREATE INDEX app_user_closing ON app_user (closing_at) WHERE closing_at IS NOT NULL;

-- The export of an account: one at a time. id is that of its task, too, and attempt the one of the task whose parts count.
-- done and total count what is written of what there was in the beginning, and bytes what the parts hold.
CREATE TABLE account_export (
    id           TEXT NOT NULL PRIMARY KEY,
    user_id      TEXT NOT NULL UNIQUE REFERENCES app_user (id) ON DELETE CASCADE,
    status       TEXT NOT NULL CHECK (status IN ('working', 'complete', 'failed')),
    attempt      INTEGER NOT NULL,
    done         INTEGER NOT NULL,
    total        INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    error_code   TEXT NOT NULL,
    error_detail TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    finished_at  INTEGER,
    expires_at   INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX account_export_expires ON account_export (expires_at) WHERE expires_at IS NOT NULL;

-- The bytes of exports, in parts of one size apart from the last, so that every node can send them, and any part of them.
DROP TABLE account_export_part;
CREATE TABLE account_export_part (
    export_id TEXT NOT NULL REFERENCES account_export (id) ON DELETE CASCADE,
    attempt   INTEGER NOT NULL,
    n         INTEGER NOT NULL,
    data      BLOB NOT NULL,
    PRIMARY KEY (export_id, attempt, n)
) STRICT;

-- The entry that tells of the deletion of the account that this one was about, or 0. What names a person is gone then,
-- and the hash, which covers it, can't be reckoned again.
ALTER TABLE audit ADD COLUMN redacted_by INTEGER NOT NULL DEFAULT 0;

-- Deletions that have ended are deleted after a while.
CREATE INDEX task_deletion_finished ON task (finished_at) WHERE kind = 'account_deletion';
