package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"carrel/internal/agent"
	"carrel/internal/core"
)

const agentColumns = `id, user_id, name, description, instructions, model, policy, answer_length, language, opening,
	examples, created_at, updated_at`

type agentRow struct {
	agent            agent.Agent
	examples         string
	created, updated int64
}

func (r *agentRow) dest() []any {
	a := &r.agent
	return []any{
		&a.ID, &a.UserID, &a.Name, &a.Description, &a.Instructions, &a.Model, &a.Policy, &a.AnswerLength, &a.Language,
		&a.Opening, &r.examples, &r.created, &r.updated,
	}
}

// examplesOf returns the example questions of an agent as a JSON list.
func examplesOf(a agent.Agent) string {
	if len(a.Examples) == 0 {
		return "[]"
	}
	b, _ := json.Marshal(a.Examples) // strings always marshal
	return string(b)
}

func (r *agentRow) value() agent.Agent {
	a := r.agent
	if err := json.Unmarshal([]byte(r.examples), &a.Examples); err != nil || len(a.Examples) == 0 {
		a.Examples = nil
	}
	a.CreatedAt, a.UpdatedAt = at(r.created), at(r.updated)
	return a
}

// errSources is an error of the calling code, not of a user.
var errSources = errors.New("an agent has exactly one default source")

// InsertAgent stores an agent with its sources. It does nothing if the user already has an agent with this id.
func (db *DB) InsertAgent(ctx context.Context, a agent.Agent) error {
	defaults := 0
	for _, s := range a.Sources {
		defaults += flag(s.Default)
	}
	if defaults != 1 {
		return fail("insert agent", "agent", errSources)
	}
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		n, err := tx.exec(ctx, `
			INSERT INTO agent (`+agentColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
			ON CONFLICT (id) DO NOTHING`,
			a.ID, a.UserID, a.Name, a.Description, a.Instructions, a.Model, string(a.Policy), string(a.AnswerLength), a.Language,
			a.Opening, examplesOf(a), millis(a.CreatedAt), millis(a.UpdatedAt))
		if err != nil {
			return fail("insert agent", "user", err)
		}
		if n == 0 {
			return requireAgentOwner(ctx, tx, a.UserID, a.ID)
		}
		for _, s := range a.Sources {
			if _, err := tx.exec(ctx, insertSource, s.ID, a.ID, s.Name, s.Kind, flag(s.Default), s.Documents, s.Status,
				s.Language, millis(a.CreatedAt), millis(a.UpdatedAt)); err != nil {
				return err
			}
		}
		return nil
	})
	return fail("insert agent", "agent", err)
}

// Agent returns one agent with its sources.
func (db *DB) Agent(ctx context.Context, userID, agentID string) (agent.Agent, error) {
	a, err := db.readAgent(ctx, db.read, userID, agentID, "")
	return a, fail("read agent", "agent", err)
}

// readAgent reads an agent that the user owns or has a grant for.
func (db *DB) readAgent(ctx context.Context, q querier, userID, agentID, lock string) (agent.Agent, error) {
	var r agentRow
	var owner string
	var own, all sql.NullString
	err := get(ctx, q, `SELECT `+agentColumns+`, `+ownerName+`, `+grantRoles+` FROM agent WHERE id = $2`+lock,
		args{userID, agentID}, append(r.dest(), &owner, &own, &all)...)
	if err != nil {
		return agent.Agent{}, err
	}
	if r.agent.Grant, err = highestGrant(userID, r.agent.UserID, own, all); err != nil {
		return agent.Agent{}, err
	}
	if r.agent.Grant != core.GrantOwner {
		r.agent.Owner = owner
	}
	agents, err := db.withSources(ctx, q, []agent.Agent{r.value()})
	if err != nil {
		return agent.Agent{}, err
	}
	if len(agents) == 0 {
		return agent.Agent{}, core.NotFound("agent")
	}
	return agents[0], nil
}

// ownerName is the display name of an agent's owner.
const ownerName = `(SELECT coalesce(nullif(u.name, ''), u.email) FROM app_user u WHERE u.id = agent.user_id)`

// Agents returns up to n agents after a position: the user's own first, then agents shared with them.
func (db *DB) Agents(
	ctx context.Context, userID string, only []string, after agent.Position, n int,
) ([]agent.Agent, error) {
	agents, before := []agent.Agent{}, after.ID
	var err error
	if !after.Shared {
		agents, err = db.ownAgents(ctx, userID, only, before, n)
		before = ""
	}
	if err == nil && len(agents) < n {
		agents, err = db.appendShared(ctx, agents, userID, only, before, n)
	}
	if err == nil {
		agents, err = db.withSources(ctx, db.read, agents)
	}
	if err != nil {
		return nil, fail("list agents", "agent", err)
	}
	return agents, nil
}

func (db *DB) ownAgents(
	ctx context.Context, userID string, only []string, before string, n int,
) ([]agent.Agent, error) {
	query := `SELECT ` + agentColumns + ` FROM agent WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3 + 0`
	a := args{userID, beforeOrLast(before), n}
	if len(only) > 0 {
		query = `SELECT ` + agentColumns + ` FROM agent WHERE user_id = $1 AND id < $2 AND id IN ` +
			db.dialect.in("$4") +
			` ORDER BY id DESC LIMIT $3 + 0`
		a = append(a, encodeList(only))
	}
	var r agentRow
	agents := make([]agent.Agent, 0, capacityFor(n))
	err := db.read.each(ctx, query, a, r.dest(), func() error {
		own := r.value()
		own.Grant = core.GrantOwner
		agents = append(agents, own)
		return nil
	})
	return agents, err
}

// appendShared fills the page up to n with the agents shared with the user, newest first.
func (db *DB) appendShared(
	ctx context.Context, agents []agent.Agent, userID string, only []string, before string, n int,
) ([]agent.Agent, error) {
	n -= len(agents)
	grants, err := db.sharedWith(ctx, userID, only, beforeOrLast(before), n)
	if err != nil || len(grants) == 0 {
		return agents, err
	}
	ids := slices.Sorted(maps.Keys(grants))
	ids = ids[max(0, len(ids)-n):]
	var r agentRow
	var owner string
	var shared []agent.Agent
	err = db.read.each(ctx, `SELECT `+agentColumns+`, `+ownerName+` FROM agent WHERE id IN `+db.dialect.in("$1"),
		args{encodeList(ids)},
		append(r.dest(), &owner), func() error {
			a := r.value()
			a.Grant, a.Owner = grants[a.ID], owner
			shared = append(shared, a)
			return nil
		})
	slices.SortFunc(shared, func(a, b agent.Agent) int { return strings.Compare(b.ID, a.ID) })
	return append(agents, shared...), err
}

// withSources adds the sources to agents. Every agent has at least one source, so an agent found without any was
// deleted in the meantime and is left out.
func (db *DB) withSources(ctx context.Context, q querier, agents []agent.Agent) ([]agent.Agent, error) {
	if len(agents) == 0 {
		return agents, nil
	}
	place := make(map[string]int, len(agents))
	ids := make([]string, len(agents))
	for i, a := range agents {
		place[a.ID], ids[i] = i, a.ID
	}
	var agentID string
	var isDefault int
	var s agent.Source
	err := q.each(ctx, `
		SELECT s.agent_id, s.id, s.name, s.kind, s.is_default, s.documents, s.status, s.language
		FROM source s WHERE s.agent_id IN `+db.dialect.in("$1"), args{encodeList(ids)},
		[]any{&agentID, &s.ID, &s.Name, &s.Kind, &isDefault, &s.Documents, &s.Status, &s.Language}, func() error {
			s.Default = isDefault == 1
			a := &agents[place[agentID]]
			a.Sources = append(a.Sources, s)
			return nil
		})
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		slices.SortFunc(a.Sources, func(a, b agent.Source) int { return strings.Compare(a.ID, b.ID) })
	}
	return slices.DeleteFunc(agents, func(a agent.Agent) bool { return len(a.Sources) == 0 }), nil
}

// ChangeAgent calls change on the agent and stores the result, except its sources.
func (db *DB) ChangeAgent(
	ctx context.Context, userID, agentID string, change func(*agent.Agent) error,
) (agent.Agent, error) {
	var a agent.Agent
	err := db.inTx(ctx, func(ctx context.Context, tx querier) (err error) {
		if a, err = db.readAgent(ctx, tx, userID, agentID, db.dialect.lock); err != nil {
			return err
		}
		if err := change(&a); err != nil {
			return err
		}
		_, err = tx.exec(ctx, `
			UPDATE agent SET name = $1, description = $2, instructions = $3, model = $4, policy = $5, answer_length = $6,
				language = $7, opening = $8, examples = $9, updated_at = $10
			WHERE id = $11`,
			a.Name, a.Description, a.Instructions, a.Model, string(a.Policy), string(a.AnswerLength), a.Language, a.Opening,
			examplesOf(a), millis(a.UpdatedAt), agentID)
		return err
	})
	if err != nil {
		return agent.Agent{}, fail("change agent", "agent", err)
	}
	return a, nil
}

// DeleteAgent deletes an agent with everything that belongs to it.
func (db *DB) DeleteAgent(ctx context.Context, userID, agentID string) error {
	err := db.inBulkTx(ctx,
		func(ctx context.Context, tx querier) error { return db.deleteAgent(ctx, tx, userID, agentID) })
	return fail("delete agent", "agent", err)
}

// deleteAgent removes an agent inside a transaction.
func (db *DB) deleteAgent(ctx context.Context, tx querier, userID, agentID string) error {
	// Turns reference only their thread. The fence stops a running turn.
	err := dropTasks(ctx, tx, `
		DELETE FROM task WHERE key IN (
			SELECT thread.id FROM thread JOIN agent ON agent.id = thread.agent_id WHERE agent.user_id = $1 AND agent.id = $2)
			RETURNING id`,
		args{userID, agentID})
	if err != nil {
		return err
	}
	// The lock prevents new sources, so that every deleted source is logged.
	var one int
	err = get(ctx, tx, `SELECT 1 FROM agent WHERE user_id = $1 AND id = $2`+db.dialect.lock, args{userID, agentID},
		&one)
	if err != nil {
		return err
	}
	sources, err := db.lockSources(ctx, tx, agentID)
	if err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `DELETE FROM agent WHERE user_id = $1 AND id = $2`, userID, agentID); err != nil {
		return err
	}
	return db.logSourceDrops(ctx, tx, sources)
}
