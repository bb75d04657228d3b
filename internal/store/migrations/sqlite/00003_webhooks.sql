-- +goose Up

-- Addresses that are told of the ends of turns. secret is encrypted; events is a JSON array. The deliveries are tasks; the
-- last try of any of them stands here.
CREATE TABLE webhook (
    id          TEXT NOT NULL PRIMARY KEY,
    user_id     TEXT NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    url         TEXT NOT NULL,
    events      TEXT NOT NULL,
    secret      BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    disabled_at INTEGER,
    last_at     INTEGER,
    last_status INTEGER NOT NULL DEFAULT 0,
    last_error  TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_user ON webhook (user_id, id);

-- Deliveries that have ended are deleted after a while.
CREATE INDEX task_webhook_finished ON task (finished_at) WHERE kind = 'webhook';
