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

const memoryColumns = `id, text, origin, coalesce(thread_id, ''), coalesce(message_id, ''), created_at, updated_at`

// memoryRow is a memory as it is read. Its agent is known before.
type memoryRow struct {
	memory           memory.Memory
	created, updated int64
}

func (r *memoryRow) dest() []any {
	m := &r.memory
	return []any{&m.ID, &m.Text, (*string)(&m.Origin), &m.ThreadID, &m.MessageID, &r.created, &r.updated}
}

func (r *memoryRow) value() memory.Memory {
	m := r.memory
	m.CreatedAt, m.UpdatedAt = at(r.created), at(r.updated)
	return m
}

func foldedHash(folded string) []byte {
	sum := sha256.Sum256([]byte(folded))
	return sum[:]
}

// InsertMemory stores a memory, or returns the one that has the same folded text or the same id. The same id comes
// with a request that is sent again; its memory may have got other words meanwhile.
func (db *DB) InsertMemory(ctx context.Context, userID string, m memory.Memory, folded string) (memory.Memory, error) {
	hash := foldedHash(folded)
	// One that is deleted between the two statements no longer stands in the way.
	for range attempts {
		n, err := db.one(ctx, `
			INSERT INTO memory (user_id, agent_id, id, text, folded_hash, origin, thread_id, message_id, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
			userID, m.AgentID, m.ID, m.Text, hash, string(m.Origin), optText(m.ThreadID), optText(m.MessageID),
			millis(m.CreatedAt), millis(m.UpdatedAt))
		if err != nil {
			return memory.Memory{}, fail("insert memory", "agent", err)
		}
		if n == 1 {
			return m, nil
		}
		r := memoryRow{memory: memory.Memory{AgentID: m.AgentID}}
		err = get(ctx, db.read, `
			SELECT `+memoryColumns+` FROM memory WHERE user_id = $1 AND agent_id = $2 AND folded_hash = $3
			UNION ALL
			SELECT `+memoryColumns+` FROM memory WHERE user_id = $4 AND agent_id = $5 AND id = $6
			LIMIT 1`, args{userID, m.AgentID, hash, userID, m.AgentID, m.ID}, r.dest()...)
		if !errors.Is(err, sql.ErrNoRows) {
			return r.value(), fail("read memory", "memory", err)
		}
	}
	return memory.Memory{}, fail("insert memory", "memory", errContended)
}

// Memories returns up to n memories, newest first.
func (db *DB) Memories(ctx context.Context, userID, agentID, before string, n int) ([]memory.Memory, error) {
	r := memoryRow{memory: memory.Memory{AgentID: agentID}}
	memories := make([]memory.Memory, 0, room(n))
	err := db.read.each(ctx, `
		SELECT `+memoryColumns+` FROM memory WHERE user_id = $1 AND agent_id = $2 AND id < $3 ORDER BY id DESC LIMIT $4 + 0`,
		args{userID, agentID, firstPage(before), n}, r.dest(), func() error {
			memories = append(memories, r.value())
			return nil
		})
	if err != nil {
		return nil, fail("list memories", "agent", err)
	}
	return memories, nil
}

// ChangeMemory sets a memory's text.
func (db *DB) ChangeMemory(ctx context.Context, userID, agentID, memoryID, text, folded string, now time.Time) (memory.Memory, error) {
	r := memoryRow{memory: memory.Memory{AgentID: agentID}}
	_, err := db.write.one(ctx, `
		UPDATE memory SET text = $1, folded_hash = $2, updated_at = $3
		WHERE user_id = $4 AND agent_id = $5 AND id = $6 RETURNING `+memoryColumns,
		args{text, foldedHash(folded), millis(now), userID, agentID, memoryID}, r.dest())
	if classify(err) == classUnique {
		return memory.Memory{}, core.Conflict("conflict", "Another memory has this text already. Delete one of them, or choose other words.")
	}
	if err != nil {
		return memory.Memory{}, fail("change memory", "memory", err)
	}
	return r.value(), nil
}

// DeleteMemory removes a memory.
func (db *DB) DeleteMemory(ctx context.Context, userID, agentID, memoryID string) error {
	n, err := db.one(ctx, `DELETE FROM memory WHERE user_id = $1 AND agent_id = $2 AND id = $3`, userID, agentID, memoryID)
	return changed("delete memory", "memory", n, err)
}
