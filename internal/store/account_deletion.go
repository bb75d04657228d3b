package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"carrel/internal/account"
	"carrel/internal/accountdata"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/task"
)

var _ accountdata.DeletionStore = (*DB)(nil)

// CloseUser shuts a user out for good and stores the task that deletes them.
func (db *DB) CloseUser(ctx context.Context, userID string, now time.Time, t task.Task, allow func(account.User, bool) error) (inserted task.Task, err error) {
	err = db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		var r userRow
		var closing sql.NullInt64
		err := get(ctx, tx, `SELECT `+userColumns+`, closing_at FROM app_user WHERE id = $1`+db.dialect.lock, args{userID}, append(r.dest(), &closing)...)
		if err != nil {
			return err
		}
		if _, err := activeTask(ctx, tx, userID); !errors.Is(err, sql.ErrNoRows) {
			return orNotFound(err)
		}
		var others int
		if err := get(ctx, tx, `SELECT count(*) FROM (SELECT 1 AS one FROM app_user WHERE id <> $1 AND closing_at IS NULL LIMIT 1) other`,
			args{userID}, &others); err != nil {
			return err
		}
		if err := allow(r.value(), others > 0); err != nil {
			return err
		}
		if !closing.Valid {
			if err := notPaying(ctx, tx, userID); err != nil {
				return err
			}
		}
		if _, err := tx.exec(ctx, `
			UPDATE app_user SET disabled_at = coalesce(disabled_at, $1), closing_at = coalesce(closing_at, $1) WHERE id = $2`,
			millis(now), userID); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `
			UPDATE task SET cancel_requested_at = coalesce(cancel_requested_at, $1) WHERE user_id = $2 AND finished_at IS NULL`,
			millis(now), userID); err != nil {
			return err
		}
		inserted, err = db.insertTask(ctx, tx, t)
		return err
	})
	if err != nil {
		return task.Task{}, fail("close an account", "user", err)
	}
	return inserted, nil
}

// notPaying refuses while Stripe would go on to charge somebody who is no longer there to stop it.
func notPaying(ctx context.Context, tx querier, userID string) error {
	var running int
	err := get(ctx, tx, `SELECT count(*) FROM subscription WHERE user_id = $1 AND cancel_at_end = 0 AND `+runsAtStripe, args{userID}, &running)
	if err == nil && running > 0 {
		return core.Conflict("conflict", "A subscription of this account is still paid for at Stripe. Cancel it there or in the portal first.")
	}
	return err
}

// orNotFound is the answer to those who would delete an account that is being deleted.
func orNotFound(err error) error {
	if err == nil {
		return core.NotFound("user")
	}
	return err
}

// ClosedUsers returns those who are closed and still there.
func (db *DB) ClosedUsers(ctx context.Context) ([]string, error) {
	ids, err := idsIn(ctx, db.read, `SELECT id FROM app_user WHERE closing_at IS NOT NULL`, nil)
	return ids, fail("list closed accounts", "user", err)
}

// RunningTasks returns the tasks of a user that run.
func (db *DB) RunningTasks(ctx context.Context, userID string) ([]string, error) {
	ids, err := idsIn(ctx, db.read, `SELECT id FROM task WHERE user_id = $1 AND state = 'running'`, args{userID})
	return ids, fail("list running tasks", "task", err)
}

// AgentsOf returns the ids of a user's own agents.
func (db *DB) AgentsOf(ctx context.Context, userID string) ([]string, error) {
	ids, err := idsIn(ctx, db.read, `SELECT id FROM agent WHERE user_id = $1 ORDER BY id`, args{userID})
	return ids, fail("list agents", "agent", err)
}

// EraseUser removes what is left of a user, and ends the task.
func (db *DB) EraseUser(ctx context.Context, userID string, f task.Fence, o task.Outcome, entry func(audit.Head, *audit.Redacted) audit.Entry) error {
	err := db.write.all(ctx, true, func(ctx context.Context, tx querier) error {
		if err := finishTask(ctx, tx, f, o); err != nil {
			return err
		}
		agents, err := idsIn(ctx, tx, `SELECT id FROM agent WHERE user_id = $1 ORDER BY id`, args{userID})
		if err != nil {
			return err
		}
		for _, id := range agents { // made since the others were deleted
			if err := db.deleteAgent(ctx, tx, userID, id); err != nil {
				return err
			}
		}
		if err := db.redactAudit(ctx, tx, userID, entry); err != nil {
			return err
		}
		for _, statement := range eraseStatements {
			if _, err := tx.exec(ctx, statement, userID); err != nil {
				return err
			}
		}
		// The task that did this is all that is left, and does not say whose account it was.
		_, err = tx.exec(ctx, `UPDATE task SET key = id, number = 1, input = NULL WHERE id = $1`, f.TaskID)
		if err == nil {
			_, err = tx.exec(ctx, `DELETE FROM task WHERE key = $1`, userID) // of deletions that failed
		}
		if err == nil {
			err = db.requestScrub(ctx, tx)
		}
		return err
	})
	return failTask("erase a user", err)
}

// eraseStatements remove what does not go with the row of the user, and at last that. A program that only this user had
// allowed something goes with them: it was registered on their behalf.
var eraseStatements = []string{
	`DELETE FROM signin_pending WHERE user_id = $1`,
	`DELETE FROM setup WHERE user_id = $1`,
	// Answers of live sources are kept without a user. Some came from servers that only this user could ask.
	`DELETE FROM live_answer WHERE $1 <> ''`,
	`DELETE FROM oauth_client WHERE ` + onlyClientOf,
	// Invitations that wait for an account with this address, which the user took later.
	`DELETE FROM agent_invitation WHERE invitee = (SELECT email FROM app_user WHERE id = $1)`,
	`DELETE FROM app_user WHERE id = $1`,
}

// onlyClientOf holds for programs that the user $1 alone has allowed something.
const onlyClientOf = `id IN (SELECT client_id FROM oauth_grant WHERE user_id = $1 UNION SELECT client_id FROM oauth_code WHERE user_id = $1)
	AND NOT EXISTS (SELECT 1 FROM oauth_grant g WHERE g.client_id = oauth_client.id AND g.user_id <> $1)
	AND NOT EXISTS (SELECT 1 FROM oauth_code c WHERE c.client_id = oauth_client.id AND c.user_id <> $1)`

// actorsOf are the names under which a user has done things, in the audit log: their own, those of their credentials, also
// of sessions that are forgotten by now, and those of their programs.
const actorsOf = `
	SELECT id FROM app_user WHERE id = $1
	UNION SELECT id FROM credential_key WHERE user_id = $1
	UNION SELECT id FROM oauth_grant WHERE user_id = $1
	UNION SELECT id FROM web_session WHERE user_id = $1
	UNION SELECT id FROM oauth_client WHERE ` + onlyClientOf + `
	UNION SELECT actor FROM audit WHERE user_id = $1 AND event IN ('` + string(audit.SignedIn) + `', '` + string(audit.SteppedUp) + `', '` + string(audit.SignedOut) + `')`

// redactAudit takes what names a user out of the audit log and enters their deletion. Entries about others that the user
// has made stay with those others; who made them, and from where, is gone.
func (db *DB) redactAudit(ctx context.Context, tx querier, userID string, entry func(audit.Head, *audit.Redacted) audit.Entry) error {
	head, err := db.lockAudit(ctx, tx)
	if err != nil {
		return err
	}
	names, err := idsIn(ctx, tx, actorsOf, args{userID})
	if err != nil {
		return err
	}
	did := `actor IN ` + db.dialect.in("$2")
	// An id has no character that LIKE reads otherwise but the underscore, which stands for itself, too.
	mentioned := `detail LIKE '%' || $1 || '%'`
	concerned := `(user_id = $1 OR ` + did + ` OR ` + mentioned + `)`
	var redacted audit.Redacted
	var e audit.Entry
	var when int64
	err = tx.each(ctx, `SELECT seq, at, event, hash FROM audit WHERE redacted_by = 0 AND `+concerned+` ORDER BY seq`,
		args{userID, listOf(names)}, []any{&e.Seq, &when, (*string)(&e.Event), &e.Hash}, func() error {
			e.At = at(when)
			redacted.Add(e)
			return nil
		})
	if err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `
		UPDATE audit SET redacted_by = CASE WHEN redacted_by = 0 THEN CAST($3 AS BIGINT) ELSE redacted_by END,
			user_id = CASE WHEN user_id = $1 THEN '' ELSE user_id END,
			actor = CASE WHEN user_id = $1 OR `+did+` THEN '' ELSE actor END,
			address = CASE WHEN user_id = $1 OR `+did+` THEN '' ELSE address END,
			detail = CASE WHEN user_id = $1 OR user_id = '' AND `+did+` OR `+mentioned+` THEN '{}' ELSE detail END
		WHERE `+concerned, userID, listOf(names), head.Seq+1); err != nil {
		return err
	}
	return appendAudit(ctx, tx, entry(head, &redacted))
}

// idsIn reads a query of ids.
func idsIn(ctx context.Context, q querier, query string, a args) ([]string, error) {
	var ids []string
	var id string
	err := q.each(ctx, query, a, []any{&id}, func() error {
		ids = append(ids, id)
		return nil
	})
	return ids, err
}

// PruneDeletions forgets deletions that ended before this time.
func (db *DB) PruneDeletions(ctx context.Context, before time.Time) error {
	_, err := db.one(ctx, `DELETE FROM task WHERE kind = 'account_deletion' AND finished_at < $1`, millis(before))
	return fail("prune deletions", "task", err)
}
