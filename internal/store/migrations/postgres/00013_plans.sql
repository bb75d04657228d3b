-- +goose Up

-- What accounts may do and for how much. capabilities and models are JSON lists; no models means all. Caps and the price of
-- a month are micro-dollars, and NULL is no cap. Rates are requests a second, and NULL is the server's own. storage_limit is
-- bytes of documents.
CREATE TABLE plan (
    name          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    capabilities  TEXT NOT NULL,
    models        TEXT NOT NULL,
    spend_cap     BIGINT,
    turn_cap      BIGINT,
    rate_limit    BIGINT,
    rate_burst    BIGINT,
    storage_limit BIGINT,
    price         BIGINT NOT NULL,
    stripe_price  TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL
);

INSERT INTO plan (name, capabilities, models, price, stripe_price, created_at, updated_at)
VALUES ('open', '["search","chat","research","memories","favourites","manage","mcp"]', '[]', 0, '', 0, 0);

-- What an account has for a time; without a row it has the plan that its own row names, for good. A row without ends_at goes
-- on. grace_until is how long one whose payment failed is still served. source is who keeps the row: 'admin' or 'stripe';
-- external_id and event_at are the subscription's name there and the time of the newest event that was taken.
CREATE TABLE subscription (
    user_id       TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES app_user (id) ON DELETE CASCADE,
    plan          TEXT COLLATE "C" NOT NULL REFERENCES plan (name),
    status        TEXT COLLATE "C" NOT NULL CHECK (status IN ('trial', 'active', 'past_due', 'ended')),
    starts_at     BIGINT NOT NULL,
    ends_at       BIGINT,
    cancel_at_end SMALLINT NOT NULL CHECK (cancel_at_end IN (0, 1)),
    grace_until   BIGINT,
    source        TEXT COLLATE "C" NOT NULL,
    external_id   TEXT COLLATE "C" NOT NULL,
    event_at      BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL
);

CREATE INDEX subscription_plan ON subscription (plan);
CREATE INDEX subscription_external ON subscription (external_id) WHERE external_id <> '';

-- Who an account is at the payment provider, and the events of it that were taken: each counts once.
CREATE TABLE billing_customer (
    user_id     TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES app_user (id) ON DELETE CASCADE,
    customer_id TEXT COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE billing_event (
    id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    taken_at BIGINT NOT NULL
);

CREATE INDEX billing_event_taken ON billing_event (taken_at);

-- The credential that a task was asked for with, or ''.
ALTER TABLE task ADD COLUMN credential_id TEXT COLLATE "C" NOT NULL DEFAULT '';

-- The ledger: a row for every call that costs. reserved is the most that it was thought to come to; micros what it came to,
-- 0 while the row is open (state 'reserved'). 'ended' is a row whose turn ended before it was settled: it counts as spent and
-- may still be corrected. turn_id, credential_id and agent_id are '' where there is none, and refer to nothing: rows outlive
-- what they tell of. day is the UTC day that it counts for. price_version tells the price that was reckoned with.
CREATE TABLE spend_row (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id       TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    day           TEXT COLLATE "C" NOT NULL,
    turn_id       TEXT COLLATE "C" NOT NULL,
    credential_id TEXT COLLATE "C" NOT NULL,
    agent_id      TEXT COLLATE "C" NOT NULL,
    kind          TEXT COLLATE "C" NOT NULL CHECK (kind IN ('model', 'embedding', 'search')),
    model         TEXT COLLATE "C" NOT NULL,
    price_version TEXT NOT NULL,
    state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('reserved', 'ended', 'settled')),
    reserved      BIGINT NOT NULL CHECK (reserved >= 0),
    micros        BIGINT NOT NULL CHECK (micros >= 0),
    estimated     SMALLINT NOT NULL CHECK (estimated IN (0, 1)),
    created_at    BIGINT NOT NULL,
    settled_at    BIGINT,
    CHECK (state <> 'reserved' OR micros = 0)
);

CREATE INDEX spend_row_user ON spend_row (user_id, day);
CREATE INDEX spend_row_day ON spend_row (day);
CREATE INDEX spend_row_turn ON spend_row (turn_id) WHERE turn_id <> '';
CREATE UNIQUE INDEX spend_row_open ON spend_row (turn_id) WHERE state = 'reserved' AND turn_id <> '';
CREATE INDEX spend_row_hold ON spend_row (created_at) WHERE state = 'reserved' AND turn_id = '';

-- What was settled before has become one row of its turn, and what is still open another.
INSERT INTO spend_row (id, user_id, day, turn_id, credential_id, agent_id, kind, model, price_version, state, reserved, micros, estimated, created_at, settled_at)
SELECT 'spd_' || substr(turn_id, 5), user_id, period || '-01', turn_id, '', '', 'model', model, '', 'settled', 0,
    micros - CASE WHEN state = 'ended' THEN reserved ELSE 0 END, estimated, created_at, created_at
FROM spend_entry WHERE micros - CASE WHEN state = 'ended' THEN reserved ELSE 0 END > 0;

INSERT INTO spend_row (id, user_id, day, turn_id, credential_id, agent_id, kind, model, price_version, state, reserved, micros, estimated, created_at, settled_at)
SELECT 'spd_' || substr(turn_id, 5) || '0', user_id, period || '-01', turn_id, '', '', 'model', model, '', state, reserved,
    CASE WHEN state = 'ended' THEN reserved ELSE 0 END, 1, created_at, NULL
FROM spend_entry WHERE state <> 'settled';

DROP TABLE spend_entry;

-- What credentials (keys, minted keys, OAuth grants) may spend in a month, and what they have, as budget has it of users.
CREATE TABLE credential_cap (
    credential_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id       TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    micros        BIGINT NOT NULL
);

CREATE INDEX credential_cap_user ON credential_cap (user_id);

CREATE TABLE credential_budget (
    credential_id TEXT COLLATE "C" NOT NULL,
    period        TEXT COLLATE "C" NOT NULL,
    user_id       TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    reserved      BIGINT NOT NULL,
    spent         BIGINT NOT NULL,
    PRIMARY KEY (credential_id, period)
);

CREATE INDEX credential_budget_user ON credential_budget (user_id);

-- Who may use an agent besides its owner; without a user it is everybody of the installation.
CREATE TABLE agent_grant (
    agent_id   TEXT COLLATE "C" NOT NULL REFERENCES agent (id) ON DELETE CASCADE,
    user_id    TEXT COLLATE "C" REFERENCES app_user (id) ON DELETE CASCADE,
    role       TEXT COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'user', 'manager')),
    created_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX agent_grant_agent ON agent_grant (agent_id, user_id);
CREATE UNIQUE INDEX agent_grant_everybody ON agent_grant (agent_id) WHERE user_id IS NULL;
CREATE INDEX agent_grant_user ON agent_grant (user_id, agent_id);

-- The archive of an account, in parts, until it is fetched or too old.
CREATE TABLE account_export_part (
    task_id TEXT COLLATE "C" NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    n       INTEGER NOT NULL,
    data    BYTEA NOT NULL,
    PRIMARY KEY (task_id, n)
);

-- Threads, memories and favourites are a user's own, also with the agent of somebody else.
ALTER TABLE thread DROP CONSTRAINT thread_user_id_agent_id_fkey;
ALTER TABLE thread ADD FOREIGN KEY (user_id) REFERENCES app_user (id) ON DELETE CASCADE;
ALTER TABLE thread ADD FOREIGN KEY (agent_id) REFERENCES agent (id) ON DELETE CASCADE;
ALTER TABLE memory DROP CONSTRAINT memory_user_id_agent_id_fkey;
ALTER TABLE memory ADD FOREIGN KEY (user_id) REFERENCES app_user (id) ON DELETE CASCADE;
ALTER TABLE memory ADD FOREIGN KEY (agent_id) REFERENCES agent (id) ON DELETE CASCADE;
ALTER TABLE favourite DROP CONSTRAINT favourite_user_id_agent_id_fkey;
ALTER TABLE favourite ADD FOREIGN KEY (user_id) REFERENCES app_user (id) ON DELETE CASCADE;
ALTER TABLE favourite ADD FOREIGN KEY (agent_id) REFERENCES agent (id) ON DELETE CASCADE;

CREATE INDEX thread_agent ON thread (agent_id);
CREATE INDEX memory_agent ON memory (agent_id);
CREATE INDEX favourite_agent ON favourite (agent_id);
