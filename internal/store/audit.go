package store

import (
	"context"

	"carrel/internal/audit"
)

const auditColumns = `seq, at, user_id, actor, event, detail, address, prev_hash, hash, redacted_by`

// AppendAudit appends the entry that next returns for the current head.
func (db *DB) AppendAudit(ctx context.Context, next func(audit.Head) audit.Entry) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		head, err := db.lockAudit(ctx, tx)
		if err != nil {
			return err
		}
		return appendAudit(ctx, tx, next(head))
	})
	return fail("append to the audit log", "audit log", err)
}

// lockAudit returns the head of the chain. The row is locked before it is read, so that concurrent nodes append one
// after the other.
func (db *DB) lockAudit(ctx context.Context, tx querier) (head audit.Head, err error) {
	err = get(ctx, tx, `SELECT seq, hash FROM audit_head WHERE id = 1`+db.dialect.lock, nil, &head.Seq, &head.Hash)
	return head, err
}

// appendAudit appends an entry to the chain, whose head the caller has locked.
func appendAudit(ctx context.Context, tx querier, e audit.Entry) error {
	if _, err := tx.exec(ctx, `INSERT INTO audit (`+auditColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0)`,
		e.Seq, millis(e.At), e.UserID, e.Actor, string(e.Event), e.Detail, e.Address, e.Prev, e.Hash); err != nil {
		return err
	}
	_, err := tx.exec(ctx, `UPDATE audit_head SET seq = $1, hash = $2 WHERE id = 1`, e.Seq, e.Hash)
	return err
}

// Audit returns entries before seq, newest first. An empty user id means all users.
func (db *DB) Audit(ctx context.Context, userID string, before int64, limit int) ([]audit.Entry, error) {
	if before == 0 {
		before = lastTime
	}
	if userID == "" {
		return db.auditEntries(ctx, limit,
			`SELECT `+auditColumns+` FROM audit WHERE seq < $1 ORDER BY seq DESC LIMIT $2 + 0`, before, limit)
	}
	return db.auditEntries(ctx, limit, `
		SELECT `+auditColumns+` FROM audit
		WHERE user_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3 + 0`, userID, before, limit)
}

// AuditFrom returns entries after seq, oldest first.
func (db *DB) AuditFrom(ctx context.Context, seq int64, limit int) ([]audit.Entry, error) {
	return db.auditEntries(ctx, limit, `SELECT `+auditColumns+` FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2 + 0`,
		seq, limit)
}

func (db *DB) auditEntries(ctx context.Context, limit int, query string, a ...any) ([]audit.Entry, error) {
	var e audit.Entry
	var when int64
	entries := make([]audit.Entry, 0, capacityFor(limit))
	dest := []any{
		&e.Seq, &when, &e.UserID, &e.Actor, (*string)(&e.Event), &e.Detail, &e.Address, &e.Prev, &e.Hash,
		&e.RedactedBy,
	}
	err := db.read.each(ctx, query, a, dest, func() error {
		e.At = at(when)
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, fail("read the audit log", "audit log", err)
	}
	return entries, nil
}

// AuditHead returns the head of the chain.
func (db *DB) AuditHead(ctx context.Context) (audit.Head, error) {
	var head audit.Head
	err := get(ctx, db.read, `SELECT seq, hash FROM audit_head WHERE id = 1`, nil, &head.Seq, &head.Hash)
	return head, fail("read the end of the audit log", "audit log", err)
}
