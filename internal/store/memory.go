package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"time"

	"carrel/internal/core"
	"carrel/internal/memory"
)

// memoryColumns leaves out the reference to a thread in the bin.
const memoryColumns = `id, text, status, pinned, origin, ` + visibleThread + `, coalesce(message_id, ''), created_at,
	updated_at`

// visibleThread is the reference of a memory or favourite to a thread, or ” if there is none or it is in the bin.
// The thread of a row without a reference is not looked up.
const visibleThread = `CASE WHEN thread_id IS NULL THEN ''
	ELSE coalesce((SELECT t.id FROM thread t WHERE t.id = thread_id AND t.deleted_at IS NULL), '') END`

// statusDismissed marks a dismissed or deleted memory, of which only the text hash is kept.
const statusDismissed = "dismissed"

type memoryRow struct {
	memory           memory.Memory
	pinned           int
	created, updated int64
}

func (r *memoryRow) dest() []any {
	m := &r.memory
	return []any{
		&m.ID, &m.Text, (*string)(&m.Status), &r.pinned, (*string)(&m.Origin), &m.ThreadID, &m.MessageID, &r.created,
		&r.updated,
	}
}

func (r *memoryRow) value() memory.Memory {
	m := r.memory
	m.Pinned, m.CreatedAt, m.UpdatedAt = r.pinned == 1, at(r.created), at(r.updated)
	if m.ThreadID == "" {
		m.MessageID = "" // its thread is in the bin
	}
	return m
}

func foldedHash(folded string) []byte {
	sum := sha256.Sum256([]byte(folded))
	return sum[:]
}

const insertMemory = `
	INSERT INTO memory (user_id, agent_id, id, text, folded_hash, status, pinned, origin, thread_id, message_id,
		created_at, updated_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING`

func memoryArgs(userID string, m memory.Memory, hash []byte) args {
	return args{
		userID, m.AgentID, m.ID, m.Text, hash, string(m.Status), flag(m.Pinned), string(m.Origin),
		optText(m.ThreadID), optText(m.MessageID), millis(m.CreatedAt), millis(m.UpdatedAt),
	}
}

// InsertMemory stores an active memory, or returns an existing one with the same folded text or the same id. The same
// id comes from a repeated request, and its text may have been changed since. A proposed memory with the same text
// becomes active and keeps its id.
func (db *DB) InsertMemory(ctx context.Context, userID string, m memory.Memory, folded string) (memory.Memory, error) {
	hash := foldedHash(folded)
	// Retried because a conflicting row may be deleted between the statements.
	for range maxAttempts {
		n, err := db.insertMemory(ctx, userID, m, hash)
		if err != nil {
			return memory.Memory{}, fail("insert memory", "agent", err)
		}
		if n == 1 {
			return m, nil
		}
		there, err := db.conflictingMemory(ctx, userID, m, hash)
		if err == nil && there.Status != memory.StatusActive {
			there, err = db.reviveMemory(ctx, userID, there.ID, m, hash)
		}
		if !errors.Is(err, sql.ErrNoRows) && classify(err) != classUnique {
			return there, fail("insert memory", "memory", err)
		}
	}
	return memory.Memory{}, fail("insert memory", "memory", errContended)
}

// insertMemory stores a memory, replacing a dismissed one with the same text, and returns the number of rows inserted.
func (db *DB) insertMemory(ctx context.Context, userID string, m memory.Memory, hash []byte) (n int64, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		_, err := tx.exec(ctx, `
			DELETE FROM memory WHERE user_id = $1 AND agent_id = $2 AND folded_hash = $3 AND status = $4`,
			userID, m.AgentID, hash, statusDismissed)
		if err != nil {
			return err
		}
		if err := requireAgentAccess(ctx, tx, userID, m.AgentID); err != nil {
			return err
		}
		n, err = tx.exec(ctx, insertMemory, memoryArgs(userID, m, hash)...)
		return err
	})
	return n, err
}

// conflictingMemory reads the row that prevents the insert of a memory.
func (db *DB) conflictingMemory(
	ctx context.Context, userID string, m memory.Memory, hash []byte,
) (memory.Memory, error) {
	r := memoryRow{memory: memory.Memory{AgentID: m.AgentID}}
	err := get(ctx, db.read, `
		SELECT `+memoryColumns+` FROM memory WHERE user_id = $1 AND agent_id = $2 AND folded_hash = $3
		UNION ALL
		SELECT `+memoryColumns+` FROM memory WHERE user_id = $4 AND agent_id = $5 AND id = $6
		LIMIT 1`, args{userID, m.AgentID, hash, userID, m.AgentID, m.ID}, r.dest()...)
	return r.value(), err
}

// reviveMemory turns an inactive row with the same text into the given memory.
func (db *DB) reviveMemory(
	ctx context.Context, userID, memoryID string, m memory.Memory, hash []byte,
) (memory.Memory, error) {
	r := memoryRow{memory: memory.Memory{AgentID: m.AgentID}}
	err := db.execReturning(ctx, `
		UPDATE memory SET text = $1, folded_hash = $2, status = $3, origin = $4, updated_at = $5
		WHERE user_id = $6 AND agent_id = $7 AND id = $8 AND status <> $3 RETURNING `+memoryColumns,
		args{m.Text, hash, string(m.Status), string(m.Origin), millis(m.UpdatedAt), userID, m.AgentID, memoryID},
		r.dest())
	return r.value(), err
}

// ProposeMemory stores a proposed memory unless any memory with this text exists, including dismissed ones. Beyond
// memory.MaxProposed the oldest proposal is deleted, without a dismissed hash, so that it may be proposed again.
func (db *DB) ProposeMemory(ctx context.Context, userID string, m memory.Memory, folded string) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if err := requireAgentAccess(ctx, tx, userID, m.AgentID); err != nil {
			return err
		}
		n, err := tx.exec(ctx, insertMemory, memoryArgs(userID, m, foldedHash(folded))...)
		if err != nil || n == 0 {
			return err
		}
		_, err = tx.exec(ctx, `
			DELETE FROM memory WHERE user_id = $1 AND agent_id = $2 AND status = $3 AND id <= (
				SELECT id FROM memory WHERE user_id = $4 AND agent_id = $5 AND status = $6 ORDER BY id DESC LIMIT 1 OFFSET $7 + 0)`,
			userID, m.AgentID, string(memory.StatusProposed), userID, m.AgentID, string(memory.StatusProposed),
			memory.MaxProposed)
		return err
	})
	return fail("propose memory", "agent", err)
}

// Memories returns up to n memories of a status, newest first.
func (db *DB) Memories(
	ctx context.Context, userID, agentID string, status memory.Status, before string, n int,
) ([]memory.Memory, error) {
	before = beforeOrLast(before)
	r := memoryRow{memory: memory.Memory{AgentID: agentID}}
	memories := make([]memory.Memory, 0, capacityFor(n))
	if status == memory.StatusActive && !db.onPostgres() {
		more, err := db.scanMemories(ctx, userID, before, n, &r, &memories)
		if err != nil {
			return nil, fail("list memories", "agent", err)
		}
		if !more {
			return memories, nil
		}
		before = r.memory.ID
	}
	err := db.read.each(ctx, `
		SELECT `+memoryColumns+` FROM memory WHERE user_id = $1 AND agent_id = $2 AND status = $3 AND id < $4
		ORDER BY id DESC LIMIT $5 + 0`,
		args{userID, agentID, string(status), before, n - len(memories)}, r.dest(), func() error {
			memories = append(memories, r.value())
			return nil
		})
	if err != nil {
		return nil, fail("list memories", "agent", err)
	}
	return memories, nil
}

// errScanned ends a scan that has found enough rows.
var errScanned = errors.New("enough rows were found")

// scanMemories appends active memories up to n to the list, in the order of the primary key. Index memory_status would
// need a search of the table for each row. As dismissed memories are among the rows, the scan ends after 2n rows, and
// reports whether there may be more. Without INDEXED BY, SQLite takes index memory_agent, with a search for each row as
// well.
func (db *DB) scanMemories(
	ctx context.Context, userID, before string, n int, r *memoryRow, memories *[]memory.Memory,
) (more bool, err error) {
	scanned := 0
	err = db.read.each(ctx, `
		SELECT `+memoryColumns+` FROM memory INDEXED BY sqlite_autoindex_memory_1
		WHERE user_id = $1 AND agent_id = $2 AND id < $3 ORDER BY id DESC LIMIT $4 + 0`,
		args{userID, r.memory.AgentID, before, 2 * n}, r.dest(), func() error {
			scanned++
			if r.memory.Status == memory.StatusActive {
				*memories = append(*memories, r.value())
			}
			if len(*memories) == n {
				return errScanned
			}
			return nil
		})
	if errors.Is(err, errScanned) {
		return false, nil
	}
	return scanned == 2*n, err
}

// FindMemories returns up to n memories that a filter selects, in its order.
func (db *DB) FindMemories(
	ctx context.Context, userID, agentID string, f memory.Filter, after *memory.Key, n int,
) ([]memory.Memory, error) {
	if f.Pinned == nil && f.Origin == "" && len(f.Words) == 0 && f.Order != memory.OrderUpdated {
		before := ""
		if after != nil {
			before = after.ID
		}
		return db.Memories(ctx, userID, agentID, f.Status, before, n)
	}
	c := conditions{args: args{userID, agentID, string(f.Status)}}
	if f.Pinned != nil {
		c.add(`pinned = $N + 0`, flag(*f.Pinned))
	}
	if f.Origin != "" {
		c.add(`origin = $N`, string(f.Origin))
	}
	for _, word := range f.Words {
		c.add(c.contains(word, `text`))
	}
	order := `id DESC`
	switch {
	case f.Order == memory.OrderUpdated:
		order = `updated_at DESC, id DESC`
		if after != nil {
			c.add(`(updated_at, id) < ($N, $M)`, millis(after.UpdatedAt), after.ID)
		}
	case after != nil:
		c.add(`id < $N`, after.ID)
	}
	r := memoryRow{memory: memory.Memory{AgentID: agentID}}
	memories := make([]memory.Memory, 0, capacityFor(n))
	err := db.read.each(ctx, `
		SELECT `+memoryColumns+` FROM memory WHERE user_id = $1 AND agent_id = $2 AND status = $3`+c.and()+`
		ORDER BY `+order+` LIMIT `+c.param(n)+` + 0`, c.args, r.dest(), func() error {
		memories = append(memories, r.value())
		return nil
	})
	if err != nil {
		return nil, fail("list memories", "agent", err)
	}
	return memories, nil
}

// Memory returns an active or proposed memory.
func (db *DB) Memory(ctx context.Context, userID, agentID, memoryID string) (memory.Memory, error) {
	r := memoryRow{memory: memory.Memory{AgentID: agentID}}
	err := get(ctx, db.read, `
		SELECT `+memoryColumns+` FROM memory WHERE user_id = $1 AND agent_id = $2 AND id = $3 AND status <> $4`,
		args{userID, agentID, memoryID, statusDismissed}, r.dest()...)
	if err != nil {
		return memory.Memory{}, fail("read memory", "memory", err)
	}
	return r.value(), nil
}

// ChangeMemory sets the given fields of a memory. A new text replaces a proposed or dismissed memory with the same
// text.
func (db *DB) ChangeMemory(
	ctx context.Context, userID, agentID, memoryID string, c memory.Change, now time.Time,
) (memory.Memory, error) {
	r := memoryRow{memory: memory.Memory{AgentID: agentID}}
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		// The memory is read first; if it does not exist, nothing else changes.
		err := get(ctx, tx, `
			SELECT `+memoryColumns+` FROM memory
			WHERE user_id = $1 AND agent_id = $2 AND id = $3 AND status <> $4`+db.dialect.lock,
			args{userID, agentID, memoryID, statusDismissed}, r.dest()...)
		if err != nil || c.Text == nil && c.Pinned == nil {
			return err
		}
		if c.Text != nil {
			r.memory.Text = *c.Text
			if err := claimTextHash(ctx, tx, userID, agentID, memoryID, foldedHash(c.Folded)); err != nil {
				return err
			}
		}
		if c.Pinned != nil {
			r.pinned = flag(*c.Pinned)
		}
		return get(ctx, tx, `
			UPDATE memory SET text = $1, pinned = $2, updated_at = $3 WHERE user_id = $4 AND agent_id = $5 AND id = $6
			RETURNING `+memoryColumns,
			args{r.memory.Text, r.pinned, millis(now), userID, agentID, memoryID}, r.dest()...)
	})
	if classify(err) == classUnique {
		return memory.Memory{}, core.Conflict("conflict",
			"Another memory has the same text. Delete one of them or change the wording.")
	}
	if err != nil {
		return memory.Memory{}, fail("change memory", "memory", err)
	}
	return r.value(), nil
}

// claimTextHash sets the text hash of a memory, after deleting an inactive memory with the same hash.
func claimTextHash(ctx context.Context, tx querier, userID, agentID, memoryID string, hash []byte) error {
	_, err := tx.exec(ctx, `
		DELETE FROM memory WHERE user_id = $1 AND agent_id = $2 AND folded_hash = $3 AND id <> $4 AND status <> $5`,
		userID, agentID, hash, memoryID, string(memory.StatusActive))
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, `UPDATE memory SET folded_hash = $1 WHERE user_id = $2 AND agent_id = $3 AND id = $4`,
		hash, userID, agentID, memoryID)
	return err
}

// ConfirmMemory makes a proposed memory active. An active one is returned unchanged.
func (db *DB) ConfirmMemory(
	ctx context.Context, userID, agentID, memoryID string, now time.Time,
) (memory.Memory, error) {
	r := memoryRow{memory: memory.Memory{AgentID: agentID}}
	err := db.execReturning(ctx, `
		UPDATE memory SET status = $1, updated_at = CASE WHEN status = $1 THEN updated_at ELSE $2 END
		WHERE user_id = $3 AND agent_id = $4 AND id = $5 AND status <> $6 RETURNING `+memoryColumns,
		args{string(memory.StatusActive), millis(now), userID, agentID, memoryID, statusDismissed}, r.dest())
	if err != nil {
		return memory.Memory{}, fail("confirm memory", "memory", err)
	}
	return r.value(), nil
}

// forgetMemory clears a memory except for its text hash.
const forgetMemory = `
	UPDATE memory SET status = $1, text = '', pinned = 0, thread_id = NULL, message_id = NULL, updated_at = $2
	WHERE user_id = $3 AND agent_id = $4 AND id = $5`

// DismissMemory dismisses a proposed memory, so that it is not proposed again.
func (db *DB) DismissMemory(ctx context.Context, userID, agentID, memoryID string, now time.Time) error {
	n, err := db.exec(ctx, forgetMemory+` AND status = $6`,
		statusDismissed, millis(now), userID, agentID, memoryID, string(memory.StatusProposed))
	return requireRow("dismiss memory", "proposed memory", n, err)
}

// DeleteMemory deletes a memory, so that it is not proposed again.
func (db *DB) DeleteMemory(ctx context.Context, userID, agentID, memoryID string, now time.Time) error {
	deleted, err := db.DeleteMemories(ctx, userID, agentID, []string{memoryID}, now)
	return requireRow("delete memory", "memory", int64(len(deleted)), err)
}

// DeleteMemories moves memories to the bin if there is one, and deletes them except for the hashes of their texts, so
// that they are not proposed again. It returns the ids of those that existed.
func (db *DB) DeleteMemories(
	ctx context.Context, userID, agentID string, ids []string, now time.Time,
) (deleted []string, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if db.bin {
			if err := db.binMemories(ctx, tx, userID, agentID, ids, now); err != nil {
				return err
			}
		}
		deleted, err = listed(ctx, tx, `
			UPDATE memory SET status = $1, text = '', pinned = 0, thread_id = NULL, message_id = NULL, updated_at = $2
			WHERE user_id = $3 AND agent_id = $4 AND status <> $1 AND id IN `+db.dialect.in("$5")+` RETURNING id`,
			args{statusDismissed, millis(now), userID, agentID, encodeList(ids)})
		return err
	})
	return deleted, fail("delete memories", "memory", err)
}
