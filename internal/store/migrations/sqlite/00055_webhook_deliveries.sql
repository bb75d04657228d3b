-- +goose Up

-- The log of deliveries by webhook. The task of the same id contains the message and the state, and its steps are the
-- attempts. message_id is the same for all deliveries of one message.
CREATE TABLE webhook_delivery (
    id         TEXT NOT NULL PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
    webhook_id TEXT NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
    message_id TEXT NOT NULL,
    event      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_delivery_webhook ON webhook_delivery (webhook_id, id);
