-- +goose Up

-- A page of threads by creation or by title, and a page of connections, is read in the order of an index.
-- thread_created also finds the threads of a deleted agent, as thread_agent did.
DROP INDEX thread_agent;
CREATE INDEX thread_created ON thread (agent_id, user_id, id);
CREATE INDEX thread_title ON thread (user_id, agent_id, title, id);

CREATE INDEX credential_key_minted ON credential_key (user_id, created_at, id)
    WHERE kind = 'minted' AND revoked_at IS NULL;
CREATE INDEX oauth_grant_created ON oauth_grant (user_id, created_at, id) WHERE revoked_at IS NULL;
