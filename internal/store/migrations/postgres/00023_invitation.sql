-- +goose Up

-- An offer to use an agent. It gives no access: accepting it moves it to agent_grant. Grants from before this table stay and
-- count as accepted. invitee is the address (normalised) or the account id that the owner entered. user_id is the account
-- that may accept it: set when the invitation is made, or when an account with the address is created, and never because an
-- account changed its own address.
CREATE TABLE agent_invitation (
    agent_id    TEXT COLLATE "C" NOT NULL REFERENCES agent (id) ON DELETE CASCADE,
    invitee     TEXT COLLATE "C" NOT NULL,
    user_id     TEXT COLLATE "C" REFERENCES app_user (id) ON DELETE CASCADE,
    role        TEXT COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'user', 'manager')),
    created_at  BIGINT NOT NULL,
    declined_at BIGINT,
    PRIMARY KEY (agent_id, invitee)
);

CREATE INDEX agent_invitation_user ON agent_invitation (user_id, created_at, agent_id);
CREATE INDEX agent_invitation_invitee ON agent_invitation (invitee);

-- When an account last declined an invitation of an owner, or left an agent of theirs. It outlives the invitation and the
-- agent, so that new invitations of the same owner are held back.
CREATE TABLE invitation_decline (
    user_id     TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    owner_id    TEXT COLLATE "C" NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
    declined_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, owner_id)
);

CREATE INDEX invitation_decline_owner ON invitation_decline (owner_id);
