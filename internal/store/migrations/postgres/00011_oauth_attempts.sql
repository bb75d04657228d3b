-- +goose Up

-- Attempts of clients to connect that failed, for the user to see why. Those that failed alike are one row with a count,
-- so that a client that tries for ever fills nothing. user_id is NULL where it could not be told whose attempt it was;
-- client_id is empty where the client is unknown.
CREATE TABLE oauth_attempt (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id     TEXT COLLATE "C" REFERENCES app_user (id) ON DELETE CASCADE,
    client_id   TEXT COLLATE "C" NOT NULL,
    client_name TEXT NOT NULL,
    stage       TEXT NOT NULL,
    problem     TEXT NOT NULL,
    wrong       TEXT NOT NULL,
    address     TEXT NOT NULL,
    program     TEXT NOT NULL,
    count       BIGINT NOT NULL,
    first_at    BIGINT NOT NULL,
    last_at     BIGINT NOT NULL
);

CREATE UNIQUE INDEX oauth_attempt_alike ON oauth_attempt (coalesce(user_id, ''), client_id, stage, problem);
CREATE INDEX oauth_attempt_user ON oauth_attempt (user_id, last_at);
CREATE INDEX oauth_attempt_last ON oauth_attempt (last_at);
