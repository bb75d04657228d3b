package store

import (
	"context"
	"fmt"
)

// On PostgreSQL, transactions take numbers from a sequence and commit in any order. So that a follower misses none, the
// head of the log stays below the numbers of open transactions: before it takes numbers, a transaction reads the last
// number of the sequence and locks it, shared and until its end. A reader of the head reads the sequence first and the
// locks next. A transaction that it finds in neither has committed, or will take higher numbers.
//
// The key of a lock is the sequence and the last 31 bits of the number.

// lastNumber is the last number of the sequence. The column last_value of the sequence is not: while the server logs a
// step of the sequence, a reader of the column sees a number that is up to 32 ahead.
const lastNumber = `pg_sequence_last_value('document_change_number')`

// numberBits masks the bits of a number in the key of a lock.
const numberBits = 1<<31 - 1

// logChangesPostgres appends documents to the change log under numbers of the sequence.
func (db *DB) logChangesPostgres(ctx context.Context, tx querier, sourceID, op string, ids []string) error {
	_, err := tx.exec(ctx, fmt.Sprintf(`
		SELECT pg_advisory_xact_lock_shared('document_change_number'::regclass::oid::integer,
			(`+lastNumber+` & %d)::integer)`, numberBits))
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, `
		INSERT INTO document_change (document_id, seq, source_id, op)
		SELECT value, nextval('document_change_number'), $1, $2
		FROM (SELECT value FROM `+db.dialect.rows("$3")+` listed ORDER BY n) ordered
		ON CONFLICT (document_id) DO UPDATE SET seq = excluded.seq, op = excluded.op`,
		sourceID, op, encodeList(ids))
	return err
}

// headPostgres returns the newest number up to which all changes are committed. It is stored, because a transaction may
// lock a number that others have passed since it read it; the head would then go back.
func (db *DB) headPostgres(ctx context.Context) (int64, error) {
	var last, head int64
	err := get(ctx, db.read, `SELECT `+lastNumber+`, last FROM document_change_head`, nil, &last, &head)
	if err != nil || last == head {
		return head, err
	}
	// A key more than half its range behind belongs to a number after last.
	var open int64
	err = get(ctx, db.read, fmt.Sprintf(`
		SELECT coalesce(max(behind), 0)
		FROM (SELECT ($1 - objid::bigint) & %d AS behind FROM pg_locks
			WHERE locktype = 'advisory' AND granted AND objsubid = 2
				AND classid = 'document_change_number'::regclass::oid
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) locked
		WHERE behind <= %d`, numberBits, numberBits/2), args{last}, &open)
	if err != nil || last-open <= head {
		return head, err
	}
	_, err = db.exec(ctx, `UPDATE document_change_head SET last = $1 WHERE last < $1`, last-open)
	return last - open, err
}
