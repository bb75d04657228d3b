-- +goose Up

-- Addresses that are told of the ends of turns. secret is encrypted; events is a JSON array. The deliveries are tasks; the
-- last try of any of them stands here.
CREATE TABLE webhook (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id     TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    url         TEXT NOT NULL,
    events      TEXT NOT NULL,
    secret      BYTEA NOT NULL,
    created_at  BIGINT NOT NULL,
    disabled_at BIGINT,
    last_at     BIGINT,
    last_status INTEGER NOT NULL DEFAULT 0,
    last_error  TEXT NOT NULL DEFAULT ''
);

CREATE INDEX webhook_user ON webhook (user_id, id);

-- Deliveries that have ended are deleted after a while.
CREATE INDEX task_webhook_finished ON task (finished_at) WHERE kind = 'webhook';
