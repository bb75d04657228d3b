-- +goose Up

-- What belongs to a reply besides its text (citations, checks, usage and so on), as JSON; '' for nothing. thumb is what a
-- reader thinks of it, 'up' or 'down', and '' while nobody said.
ALTER TABLE message ADD COLUMN details TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN thumb TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN note TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN feedback_at BIGINT;

-- A memory that an agent proposes waits for the user's yes. One that was dismissed or deleted leaves the hash of its
-- text behind, so that it is not proposed again, and nothing else.
ALTER TABLE memory ADD COLUMN status TEXT COLLATE "C" NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'proposed', 'dismissed'));
ALTER TABLE memory ADD COLUMN pinned SMALLINT NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1));

CREATE INDEX memory_status ON memory (user_id, agent_id, status, id);

-- What each turn has spent (micros) and, while it is reserved, may spend besides (reserved), in micro-dollars. The sums of
-- a user's month are in budget. Rows outlive their turns.
CREATE TABLE spend_entry (
    turn_id    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id    TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    period     TEXT COLLATE "C" NOT NULL,
    model      TEXT NOT NULL,
    state      TEXT COLLATE "C" NOT NULL CHECK (state IN ('reserved', 'ended', 'settled')),
    reserved   BIGINT NOT NULL,
    micros     BIGINT NOT NULL,
    estimated  SMALLINT NOT NULL CHECK (estimated IN (0, 1)),
    created_at BIGINT NOT NULL
);

CREATE INDEX spend_entry_user ON spend_entry (user_id, period);
