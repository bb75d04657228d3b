package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"carrel/internal/core"
	"carrel/internal/savedsearch"
)

const savedSearchColumns = `id, agent_id, name, search, created_at, updated_at`

type savedSearchRow struct {
	saved            savedsearch.SavedSearch
	search           string
	created, updated int64
}

func (r *savedSearchRow) dest() []any {
	return []any{&r.saved.ID, &r.saved.AgentID, &r.saved.Name, &r.search, &r.created, &r.updated}
}

func (r *savedSearchRow) value() savedsearch.SavedSearch {
	s := r.saved
	s.Search, s.CreatedAt, s.UpdatedAt = json.RawMessage(r.search), at(r.created), at(r.updated)
	return s
}

// SavedSearches returns all saved searches of a user with an agent, oldest first.
func (db *DB) SavedSearches(ctx context.Context, userID, agentID string) ([]savedsearch.SavedSearch, error) {
	var r savedSearchRow
	list := []savedsearch.SavedSearch{}
	err := db.read.each(ctx, `SELECT `+savedSearchColumns+` FROM saved_search
		WHERE user_id = $1 AND agent_id = $2 ORDER BY id`,
		args{userID, agentID}, r.dest(), func() error {
			list = append(list, r.value())
			return nil
		})
	if err != nil {
		return nil, fail("list saved searches", "agent", err)
	}
	return list, nil
}

// InsertSavedSearch stores a saved search, or returns the stored one with the same id, which comes from a repeated
// request. It is a conflict if the user has limit others with the agent.
func (db *DB) InsertSavedSearch(
	ctx context.Context, userID string, s savedsearch.SavedSearch, limit int,
) (savedsearch.SavedSearch, error) {
	var r savedSearchRow
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if err := requireAgentAccess(ctx, tx, userID, s.AgentID); err != nil {
			return err
		}
		// Concurrent requests of the user wait for each other here, so that none exceeds the limit.
		var n int
		if err := get(ctx, tx, `SELECT 1 FROM app_user WHERE id = $1`+db.dialect.lock, args{userID}, &n); err != nil {
			return err
		}
		if err := get(ctx, tx, `SELECT count(*) FROM saved_search WHERE user_id = $1 AND agent_id = $2 AND id <> $3`,
			args{userID, s.AgentID, s.ID}, &n); err != nil {
			return err
		}
		if n >= limit {
			return core.Conflict("conflict", fmt.Sprintf("There are %d saved searches already. Delete one first.", n))
		}
		if _, err := tx.exec(ctx, `
			INSERT INTO saved_search (user_id, agent_id, id, name, search, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
			userID, s.AgentID, s.ID, s.Name, string(s.Search), millis(s.CreatedAt), millis(s.UpdatedAt)); err != nil {
			return err
		}
		return get(ctx, tx, `SELECT `+savedSearchColumns+` FROM saved_search
			WHERE user_id = $1 AND agent_id = $2 AND id = $3`, args{userID, s.AgentID, s.ID}, r.dest()...)
	})
	return r.value(), fail("save search", "agent", err)
}

// ChangeSavedSearch sets the given fields of a saved search.
func (db *DB) ChangeSavedSearch(
	ctx context.Context, userID, agentID, id string, c savedsearch.Change, now time.Time,
) (savedsearch.SavedSearch, error) {
	var r savedSearchRow
	err := db.execReturning(ctx, `
		UPDATE saved_search SET name = coalesce($1, name), search = coalesce($2, search), updated_at = $3
		WHERE user_id = $4 AND agent_id = $5 AND id = $6 RETURNING `+savedSearchColumns,
		args{c.Name, optText(string(c.Search)), millis(now), userID, agentID, id}, r.dest())
	return r.value(), fail("change saved search", "saved search", err)
}

// DeleteSavedSearch removes a saved search.
func (db *DB) DeleteSavedSearch(ctx context.Context, userID, agentID, id string) error {
	n, err := db.exec(ctx, `DELETE FROM saved_search WHERE user_id = $1 AND agent_id = $2 AND id = $3`,
		userID, agentID, id)
	return requireRow("delete saved search", "saved search", n, err)
}
