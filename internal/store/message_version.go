package store

import (
	"context"
	"database/sql"
	"errors"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// branched is a column that is 1 if thread $1 has messages outside of its current branch.
const branched = `CASE WHEN EXISTS (
	SELECT 1 FROM message other WHERE other.thread_id = $1 AND other.parent_turn IS NOT NULL) THEN 1 ELSE 0 END`

// treeOf reads the tree of a thread's turns.
func treeOf(ctx context.Context, q querier, threadID string) (thread.Tree, error) {
	var e thread.Exchange
	var parent sql.NullString
	var all []thread.Exchange
	err := q.each(ctx, `
		SELECT turn_id, id, parent_turn FROM message WHERE thread_id = $1 AND role = $2 ORDER BY seq`,
		args{threadID, string(thread.RoleUser)}, []any{&e.TurnID, &e.QuestionID, &parent}, func() error {
			e.Parent, e.Current = parent.String, !parent.Valid
			all = append(all, e)
			return nil
		})
	return thread.NewTree(all), err
}

// addVersions sets the versions of messages of a thread.
func addVersions(ctx context.Context, q querier, threadID string, messages []thread.Message) error {
	tree, err := treeOf(ctx, q, threadID)
	for i, m := range messages {
		messages[i].Versions = tree.Versions(m.TurnID)
	}
	return err
}

// turnOf returns the turn of a message.
func turnOf(ctx context.Context, q querier, threadID, messageID string) (turnID string, err error) {
	err = get(ctx, q, `SELECT turn_id FROM message WHERE id = $1 AND thread_id = $2`, args{messageID, threadID}, &turnID)
	if errors.Is(err, sql.ErrNoRows) {
		err = core.NotFound("message")
	}
	return turnID, err
}

// switchBranch makes a branch of a thread the current one.
func switchBranch(ctx context.Context, tx querier, tree thread.Tree, branch []string) error {
	const update = `UPDATE message SET parent_turn = $1 WHERE turn_id = $2`
	leave, join := tree.Switch(branch)
	for _, e := range leave {
		if _, err := tx.exec(ctx, update, e.Parent, e.TurnID); err != nil {
			return err
		}
	}
	for _, e := range join {
		if _, err := tx.exec(ctx, update, nil, e.TurnID); err != nil {
			return err
		}
	}
	return nil
}

// SubmitVersion stores a question as a new version of an exchange, with the task that answers it.
func (db *DB) SubmitVersion(
	ctx context.Context, userID, agentID, messageID string, question thread.Message, t task.Task,
) (stored task.Task, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if err := db.lockThread(ctx, tx, userID, agentID, question.ThreadID); err != nil {
			return err
		}
		old, err := existingTurn(ctx, tx, question, t)
		none := errors.Is(err, sql.ErrNoRows)
		if err != nil && !none {
			return err
		}
		if !none && old.ID == t.ID {
			stored = old
			return nil
		}
		turnID, err := turnOf(ctx, tx, question.ThreadID, messageID)
		if err != nil {
			return err
		}
		tree, err := treeOf(ctx, tx, question.ThreadID)
		if err != nil {
			return err
		}
		if !none {
			// The active turn has the same text. It is the repeated one if it is a version of the same exchange.
			if old.ID == turnID || tree.Parent(old.ID) != tree.Parent(turnID) {
				return turnWorking()
			}
			stored = old
			return nil
		}
		if err := switchBranch(ctx, tx, tree, tree.PathTo(tree.Parent(turnID))); err != nil {
			return err
		}
		stored, err = db.beginTurn(ctx, tx, "", question, t)
		return err
	})
	if err != nil {
		return task.Task{}, fail("submit version", "thread", err)
	}
	return stored, nil
}

// SelectVersion makes the branch with a message the current one.
func (db *DB) SelectVersion(ctx context.Context, userID, agentID, threadID, messageID string) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if err := db.lockThread(ctx, tx, userID, agentID, threadID); err != nil {
			return err
		}
		turnID, err := turnOf(ctx, tx, threadID, messageID)
		if err != nil {
			return err
		}
		if _, err := activeTask(ctx, tx, threadID); !errors.Is(err, sql.ErrNoRows) {
			if err == nil {
				err = turnWorking()
			}
			return err
		}
		tree, err := treeOf(ctx, tx, threadID)
		if err != nil {
			return err
		}
		return switchBranch(ctx, tx, tree, tree.BranchWith(turnID))
	})
	return fail("select version", "thread", err)
}

// DeleteExchange deletes the question and the reply that a message belongs to. The other branches stay as they are: the
// turns after the deleted one continue from the turn before it. The row of its task stays, without any text, because
// the numbers of the tasks are the ids of events, which may not be used twice.
func (db *DB) DeleteExchange(ctx context.Context, userID, agentID, threadID, messageID string) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if err := db.lockThread(ctx, tx, userID, agentID, threadID); err != nil {
			return err
		}
		turnID, err := turnOf(ctx, tx, threadID, messageID)
		if err != nil {
			return err
		}
		active, err := activeTask(ctx, tx, threadID)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if active.ID == turnID {
			return turnWorking()
		}
		tree, err := treeOf(ctx, tx, threadID)
		if err != nil {
			return err
		}
		rest, branch := tree.Without(turnID)
		for _, s := range []struct {
			statement string
			args      args
		}{
			{
				`UPDATE message SET parent_turn = $1 WHERE thread_id = $2 AND parent_turn = $3`,
				args{tree.Parent(turnID), threadID, turnID},
			},
			{`DELETE FROM message WHERE turn_id = $1 AND thread_id = $2`, args{turnID, threadID}},
			{`UPDATE task SET input = NULL, result = NULL WHERE id = $1`, args{turnID}},
			{`DELETE FROM task_step WHERE task_id = $1`, args{turnID}},
			{`DELETE FROM task_event WHERE task_id = $1 AND kind <> '` + task.EventDone + `'`, args{turnID}},
		} {
			if _, err := tx.exec(ctx, s.statement, s.args...); err != nil {
				return err
			}
		}
		if err := switchBranch(ctx, tx, rest, branch); err != nil {
			return err
		}
		return forgetSummaries(ctx, tx, threadID)
	})
	return fail("delete exchange", "thread", err)
}

// forgetSummaries deletes the summaries of a thread's earlier messages, which may contain a deleted one. The next turn
// that needs a summary writes another.
func forgetSummaries(ctx context.Context, tx querier, threadID string) error {
	var r messageRow
	var found []thread.Message
	err := tx.each(ctx, `
		SELECT `+messageColumns+` FROM message WHERE thread_id = $1 AND details LIKE '%"summary"%'`,
		args{threadID}, r.dest(), func() error {
			m, err := r.value()
			found = append(found, m)
			return err
		})
	if err != nil {
		return err
	}
	for _, m := range found {
		m.Answer.Summary = nil
		details, err := encodeAnswer(m.Answer)
		if err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `UPDATE message SET details = $1 WHERE id = $2`, details, m.ID); err != nil {
			return err
		}
	}
	return nil
}
