package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"carrel/internal/core"
	"carrel/internal/source"
)

const insertSource = `
	INSERT INTO source (id, agent_id, name, kind, is_default, documents, status, language, created_at, updated_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING`

// insertSyncedSource also stores the settings of a source that is synced from outside.
const insertSyncedSource = `
	INSERT INTO source (id, agent_id, name, kind, is_default, documents, status, language, created_at, updated_at,
		settings, secret, next_sync_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (id) DO NOTHING`

// InsertSource adds a source to an agent that the user can access. It does nothing if the agent has a source with this
// id. A new default source replaces the old one in the same transaction.
func (db *DB) InsertSource(ctx context.Context, userID string, s source.Source) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		// The lock on the agent serializes changes of the default source.
		var one int
		err := get(ctx, tx, `SELECT 1 FROM agent WHERE id = $1 AND `+agentAccessible("$1", "$2")+db.dialect.lock,
			args{s.AgentID, userID}, &one)
		if err != nil {
			return fail("find agent", "agent", err)
		}
		n, err := tx.exec(ctx, insertSyncedSource, s.ID, s.AgentID, s.Name, s.Kind, 0, s.Documents, s.Status,
			s.Language,
			millis(s.CreatedAt), millis(s.UpdatedAt), s.Settings, s.Sealed, optMillis(s.NextSyncAt))
		if err != nil {
			return err
		}
		if n == 0 {
			return get(ctx, tx, `SELECT 1 FROM source WHERE id = $1 AND agent_id = $2`, args{s.ID, s.AgentID}, &one)
		}
		if !s.Default {
			return nil
		}
		if _, err := tx.exec(ctx, `UPDATE source SET is_default = 0 WHERE agent_id = $1 AND is_default = 1`,
			s.AgentID); err != nil {
			return err
		}
		_, err = tx.exec(ctx, `UPDATE source SET is_default = 1 WHERE id = $1`, s.ID)
		return err
	})
	return fail("insert source", "source", err)
}

const sourceColumns = `s.id, s.agent_id, s.name, s.kind, s.is_default, s.documents, s.status, s.language, s.created_at,
	s.updated_at, s.settings, s.secret, s.synced_at, s.next_sync_at`

type sourceRow struct {
	source           source.Source
	isDefault        int
	created, updated int64
	synced, next     sql.NullInt64
}

func (r *sourceRow) dest() []any {
	s := &r.source
	return []any{
		&s.ID, &s.AgentID, &s.Name, &s.Kind, &r.isDefault, &s.Documents, &s.Status, &s.Language, &r.created, &r.updated,
		&s.Settings, &s.Sealed, &r.synced, &r.next,
	}
}

func (r *sourceRow) value() source.Source {
	s := r.source
	s.Default, s.CreatedAt, s.UpdatedAt = r.isDefault == 1, at(r.created), at(r.updated)
	s.SyncedAt, s.NextSyncAt = optAt(r.synced), optAt(r.next)
	return s
}

type sourcesKey struct{ userID, agentID string }

// Sources returns the sources of an agent that the user can access, oldest first.
func (db *DB) Sources(ctx context.Context, userID, agentID string) ([]source.Source, error) {
	key := sourcesKey{userID, agentID}
	version, known := db.Version()
	if sources, ok := db.cachedSources.get(version, known, key); ok {
		return slices.Clone(sources), nil
	}
	sources, err := cached(ctx, db, &db.cachedSources, version, known, key,
		func(ctx context.Context) ([]source.Source, error) { return db.sources(ctx, userID, agentID) })
	return slices.Clone(sources), err
}

func (db *DB) sources(ctx context.Context, userID, agentID string) ([]source.Source, error) {
	var r sourceRow
	sources := []source.Source{}
	err := db.read.each(ctx, `
		SELECT `+sourceColumns+` FROM agent a JOIN source s ON s.agent_id = a.id
		WHERE a.id = $1 AND `+agentAccessible("$1", "$2")+` ORDER BY s.id`, args{agentID, userID}, r.dest(), func() error {
		sources = append(sources, r.value())
		return nil
	})
	if err == nil && len(sources) == 0 {
		err = requireAgentAccess(ctx, db.read, userID, agentID)
	}
	if err != nil {
		return nil, fail("list sources", "agent", err)
	}
	return sources, nil
}

// SetDefaultSource makes a source the agent's default.
func (db *DB) SetDefaultSource(ctx context.Context, agentID, sourceID string) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var one int
		err := get(ctx, tx, `SELECT 1 FROM agent WHERE id = $1`+db.dialect.lock, args{agentID}, &one)
		if err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `UPDATE source SET is_default = 0 WHERE agent_id = $1 AND is_default = 1`,
			agentID); err != nil {
			return err
		}
		return get(ctx, tx, `UPDATE source SET is_default = 1 WHERE agent_id = $1 AND id = $2 RETURNING 1`,
			args{agentID, sourceID}, &one)
	})
	return fail("set the default source", "source", err)
}

// SetSourceLanguage sets the language of a source and returns the language in effect. A guess does not replace a known
// language. If the language changes, all documents are logged again, because indexes analyze text by language.
func (db *DB) SetSourceLanguage(
	ctx context.Context, sourceID, language string, guessed bool, now time.Time,
) (holds string, err error) {
	err = db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		err := get(ctx, tx, `SELECT language FROM source WHERE id = $1`+db.dialect.lock, args{sourceID}, &holds)
		if err != nil || holds == language || guessed && holds != "" {
			return err
		}
		holds = language
		_, err = tx.exec(ctx, `UPDATE source SET language = $1, updated_at = $2 WHERE id = $3`,
			language, millis(now), sourceID)
		if err != nil {
			return err
		}
		return db.relogSource(ctx, tx, sourceID)
	})
	if err != nil {
		return "", fail("set a source's language", "source", err)
	}
	return holds, nil
}

// lockSources locks and returns the ids of an agent's sources.
func (db *DB) lockSources(ctx context.Context, tx querier, agentID string) ([]string, error) {
	var ids []string
	var id string
	err := tx.each(ctx, `SELECT id FROM source WHERE agent_id = $1 ORDER BY id`+db.dialect.lock, args{agentID},
		[]any{&id}, func() error {
			ids = append(ids, id)
			return nil
		})
	return ids, err
}

// UpdateSource stores the name, settings, secret and next sync of a source.
func (db *DB) UpdateSource(ctx context.Context, s source.Source) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var one int
		return get(ctx, tx, `
			UPDATE source SET name = $1, settings = $2, secret = $3, next_sync_at = $4, updated_at = $5
			WHERE agent_id = $6 AND id = $7 RETURNING 1`,
			args{s.Name, s.Settings, s.Sealed, optMillis(s.NextSyncAt), millis(s.UpdatedAt), s.AgentID, s.ID}, &one)
	})
	return fail("change source", "source", err)
}

// DeleteSource deletes a source with its contents. If it was the default, the successor becomes the default.
func (db *DB) DeleteSource(ctx context.Context, agentID, sourceID, successorID string) error {
	err := db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		var one, isDefault int
		// The lock on the agent serializes changes of the default source.
		if err := get(ctx, tx, `SELECT 1 FROM agent WHERE id = $1`+db.dialect.lock, args{agentID}, &one); err != nil {
			return err
		}
		err := get(ctx, tx, `SELECT is_default FROM source WHERE agent_id = $1 AND id = $2`+db.dialect.lock,
			args{agentID, sourceID}, &isDefault)
		if err != nil {
			return err
		}
		if isDefault == 1 && successorID == "" {
			return core.Conflict("conflict",
				"This is the agent's default source. Name the source that becomes the default.")
		}
		if err := dropTasks(ctx, tx, `DELETE FROM task WHERE key = $1 RETURNING id`, args{sourceID}); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `DELETE FROM source WHERE id = $1`, sourceID); err != nil {
			return err
		}
		if isDefault == 1 {
			err := get(ctx, tx, `UPDATE source SET is_default = 1 WHERE agent_id = $1 AND id = $2 RETURNING 1`,
				args{agentID, successorID}, &one)
			if err != nil {
				return err
			}
		}
		return db.logSourceDrops(ctx, tx, []string{sourceID})
	})
	return fail("delete source", "source", err)
}

// SealedSources returns the sources of all users that have a secret, sorted by id.
func (db *DB) SealedSources(ctx context.Context) ([]source.Source, error) {
	var r sourceRow
	var sources []source.Source
	query := `SELECT ` + sourceColumns + ` FROM source s WHERE s.secret IS NOT NULL ORDER BY s.id`
	err := db.read.each(ctx, query, nil, r.dest(), func() error {
		sources = append(sources, r.value())
		return nil
	})
	return sources, fail("list sources with secrets", "source", err)
}

// ReplaceSecret stores a secret that was encrypted again. It changes nothing if the secret or the settings of the
// source have changed since.
func (db *DB) ReplaceSecret(ctx context.Context, before source.Source, sealed []byte) error {
	_, err := db.exec(ctx, `UPDATE source SET secret = $1 WHERE id = $2 AND secret = $3 AND settings = $4`,
		sealed, before.ID, before.Sealed, before.Settings)
	return fail("replace the secret of a source", "source", err)
}
