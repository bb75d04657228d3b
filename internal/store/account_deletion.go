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

// CloseUser disables a user for good, cancels their tasks and stores the task that deletes the account.
func (db *DB) CloseUser(
	ctx context.Context, userID string, now time.Time, t task.Task, allow func(account.User, bool) error,
) (inserted task.Task, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var r userRow
		var closing sql.NullInt64
		err := get(ctx, tx, `SELECT `+userColumns+`, closing_at FROM app_user WHERE id = $1`+db.dialect.lock, args{userID},
			append(r.dest(), &closing)...)
		if err != nil {
			return err
		}
		if _, err := activeTask(ctx, tx, userID); err == nil {
			return core.NotFound("user") // the account is already being deleted
		} else if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var others int
		if err := get(ctx, tx, `
			SELECT count(*) FROM (SELECT 1 AS one FROM app_user WHERE id <> $1 AND closing_at IS NULL LIMIT 1) other`,
			args{userID}, &others); err != nil {
			return err
		}
		if err := allow(r.value(), others > 0); err != nil {
			return err
		}
		if !closing.Valid {
			if err := requireNoSubscription(ctx, tx, userID); err != nil {
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

// requireNoSubscription returns a conflict while Stripe would keep charging the user, who could no longer cancel.
func requireNoSubscription(ctx context.Context, tx querier, userID string) error {
	var running int
	err := get(ctx, tx, `SELECT count(*) FROM subscription WHERE user_id = $1 AND cancel_at_end = 0 AND `+runsAtStripe,
		args{userID}, &running)
	if err == nil && running > 0 {
		return core.Conflict("conflict",
			"This account has an active Stripe subscription. Cancel it in Stripe or in the billing portal first.")
	}
	return err
}

// ClosedUsers returns the ids of users who are closed and not yet erased.
func (db *DB) ClosedUsers(ctx context.Context) ([]string, error) {
	ids, err := readIDs(ctx, db.read, `SELECT id FROM app_user WHERE closing_at IS NOT NULL`, nil)
	return ids, fail("list closed accounts", "user", err)
}

// RunningTasks returns the ids of a user's running tasks.
func (db *DB) RunningTasks(ctx context.Context, userID string) ([]string, error) {
	ids, err := readIDs(ctx, db.read, `SELECT id FROM task WHERE user_id = $1 AND state = 'running'`, args{userID})
	return ids, fail("list running tasks", "task", err)
}

// AgentsOf returns the ids of a user's own agents.
func (db *DB) AgentsOf(ctx context.Context, userID string) ([]string, error) {
	ids, err := readIDs(ctx, db.read, `SELECT id FROM agent WHERE user_id = $1 ORDER BY id`, args{userID})
	return ids, fail("list agents", "agent", err)
}

// EraseUser deletes the remaining rows of a user and ends the deletion task.
func (db *DB) EraseUser(
	ctx context.Context, userID string, f task.Fence, o task.Outcome, entry func(audit.Head, *audit.Redacted) audit.Entry,
) error {
	err := db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		if err := finishTask(ctx, tx, f, o); err != nil {
			return err
		}
		agents, err := readIDs(ctx, tx, `SELECT id FROM agent WHERE user_id = $1 ORDER BY id`, args{userID})
		if err != nil {
			return err
		}
		for _, id := range agents { // created after the others were deleted
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
		// Only the deletion task stays, without a reference to the account.
		_, err = tx.exec(ctx, `UPDATE task SET key = id, number = 1, input = NULL WHERE id = $1`, f.TaskID)
		if err == nil {
			_, err = tx.exec(ctx, `DELETE FROM task WHERE key = $1`, userID) // earlier deletions that failed
		}
		if err == nil {
			err = db.requestScrub(ctx, tx)
		}
		return err
	})
	return failTask("erase a user", err)
}

// eraseStatements delete the rows that do not cascade from the user, and finally the user. An OAuth client that only
// this user authorized is deleted too, since it was registered on their behalf.
var eraseStatements = []string{
	`DELETE FROM signin_pending WHERE user_id = $1`,
	`DELETE FROM setup WHERE user_id = $1`,
	// Cached replies of federated sources have no user, and some came from servers that only this user could query.
	`DELETE FROM live_answer WHERE $1 <> ''`,
	`DELETE FROM oauth_token WHERE ` + ofGrants,
	`DELETE FROM oauth_refresh WHERE ` + ofGrants,
	`DELETE FROM oauth_client WHERE ` + onlyClientOf,
	// Invitations waiting for an account with this address, which the user took later.
	`DELETE FROM agent_invitation WHERE invitee = (SELECT email FROM app_user WHERE id = $1)`,
	`DELETE FROM app_user WHERE id = $1`,
}

// ofGrants selects the tokens of the user $1. It reads all tokens: an index by grant would slow down every refresh.
const ofGrants = `grant_id IN (SELECT id FROM oauth_grant WHERE user_id = $1)`

// onlyClientOf selects the OAuth clients that only the user $1 has authorized.
const onlyClientOf = `id IN (
		SELECT client_id FROM oauth_grant WHERE user_id = $1 UNION SELECT client_id FROM oauth_code WHERE user_id = $1)
	AND NOT EXISTS (SELECT 1 FROM oauth_grant g WHERE g.client_id = oauth_client.id AND g.user_id <> $1)
	AND NOT EXISTS (SELECT 1 FROM oauth_code c WHERE c.client_id = oauth_client.id AND c.user_id <> $1)`

// actorsOf selects the actor ids of a user in the audit log: the user, their credentials (including sessions already
// pruned) and their OAuth clients.
const actorsOf = `
	SELECT id FROM app_user WHERE id = $1
	UNION SELECT id FROM credential_key WHERE user_id = $1
	UNION SELECT id FROM oauth_grant WHERE user_id = $1
	UNION SELECT id FROM web_session WHERE user_id = $1
	UNION SELECT id FROM oauth_client WHERE ` + onlyClientOf + `
	UNION SELECT actor FROM audit WHERE user_id = $1 AND event IN ('` + string(audit.SignedIn) +
	`', '` + string(audit.SteppedUp) + `', '` + string(audit.SignedOut) + `')`

// redactAudit removes a user's personal data from the audit log and appends the entry of the deletion. Entries that the
// user caused about other users stay, without the actor and the address.
func (db *DB) redactAudit(
	ctx context.Context, tx querier, userID string, entry func(audit.Head, *audit.Redacted) audit.Entry,
) error {
	head, err := db.lockAudit(ctx, tx)
	if err != nil {
		return err
	}
	names, err := readIDs(ctx, tx, actorsOf, args{userID})
	if err != nil {
		return err
	}
	did := `actor IN ` + db.dialect.in("$2")
	// Ids contain no LIKE wildcard except the underscore, which also matches itself.
	mentioned := `detail LIKE '%' || $1 || '%'`
	concerned := `(user_id = $1 OR ` + did + ` OR ` + mentioned + `)`
	var redacted audit.Redacted
	var e audit.Entry
	var when int64
	err = tx.each(ctx, `SELECT seq, at, event, hash FROM audit WHERE redacted_by = 0 AND `+concerned+` ORDER BY seq`,
		args{userID, encodeList(names)}, []any{&e.Seq, &when, (*string)(&e.Event), &e.Hash}, func() error {
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
		WHERE `+concerned, userID, encodeList(names), head.Seq+1); err != nil {
		return err
	}
	return appendAudit(ctx, tx, entry(head, &redacted))
}

// readIDs runs a query that returns ids.
func readIDs(ctx context.Context, q querier, query string, a args) ([]string, error) {
	var ids []string
	var id string
	err := q.each(ctx, query, a, []any{&id}, func() error {
		ids = append(ids, id)
		return nil
	})
	return ids, err
}

// PruneDeletions deletes deletion tasks that ended before this time.
func (db *DB) PruneDeletions(ctx context.Context, before time.Time) error {
	err := db.pruneTasks(ctx, `kind = 'account_deletion'`, before)
	return fail("prune deletions", "task", err)
}
