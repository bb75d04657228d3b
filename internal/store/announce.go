package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/importer"
	"carrel/internal/task"
	"carrel/internal/thread"
	"carrel/internal/webhook"
)

// announce stores a delivery of each message for each webhook of a user that wants it. It is part of the transaction of
// the change that the messages report, so that a crash can neither lose nor duplicate a delivery.
func (db *DB) announce(ctx context.Context, tx querier, userID string, messages ...webhook.Message) error {
	webhooks, err := enabledWebhooks(ctx, tx, userID)
	if err != nil {
		return err
	}
	return db.announceTo(ctx, tx, webhooks, messages...)
}

// enabledWebhooks returns the webhooks of a user that receive events.
func enabledWebhooks(ctx context.Context, tx querier, userID string) ([]webhook.Webhook, error) {
	return manyWebhooks(ctx, tx, `
		SELECT `+webhookColumns+` FROM webhook w
		WHERE w.user_id = $1 AND w.disabled_at IS NULL ORDER BY w.id`, args{userID})
}

func (db *DB) announceTo(
	ctx context.Context, tx querier, webhooks []webhook.Webhook, messages ...webhook.Message,
) error {
	for _, w := range webhooks {
		for _, m := range messages {
			if !w.Wants(m) {
				continue
			}
			if err := db.insertDelivery(ctx, tx, webhook.NewDelivery(w, m)); err != nil {
				return err
			}
		}
	}
	return nil
}

// announceTurn announces the end of a turn to the user who asked.
func (db *DB) announceTurn(ctx context.Context, tx querier, f task.Fence, o task.Outcome, reply thread.Message) error {
	event, told := webhook.TurnEvent(o.State)
	if !told {
		return nil
	}
	webhooks, err := enabledWebhooks(ctx, tx, f.UserID)
	if err != nil || len(webhooks) == 0 {
		return err
	}
	turn := webhook.Turn{
		ThreadID: reply.ThreadID, TurnID: reply.TurnID, MessageID: reply.ID, Status: reply.Status,
		Sentences: reply.Answer.Verdicts(),
	}
	if reply.Error != nil {
		turn.Error = webhook.FailureOf(reply.Error.Code)
	}
	m := webhook.Message{Event: event, At: o.At}
	if err := get(ctx, tx, `
		SELECT thread.agent_id, task.credential_id FROM task JOIN thread ON thread.id = $1 WHERE task.id = $2`,
		args{reply.ThreadID, f.TaskID}, &turn.AgentID, &m.CredentialID); err != nil {
		return err
	}
	m.Data = turn
	return db.announceTo(ctx, tx, webhooks, m)
}

// FinishImport ends an import's task and stores its webhook deliveries. If the fence does not hold, nothing is stored.
func (db *DB) FinishImport(ctx context.Context, f task.Fence, o task.Outcome) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if err := finishTask(ctx, tx, f, o); err != nil {
			return err
		}
		return db.announceImport(ctx, tx, f, o)
	})
	return failTask("finish import", err)
}

// announceImport announces the end of an import, and of the synchronisation if it was one, to the owner of the agent
// and to the user who started it.
func (db *DB) announceImport(ctx context.Context, tx querier, f task.Fence, o task.Outcome) error {
	event, told := webhook.ImportEvent(o.State)
	if !told {
		return nil
	}
	var agentID, ownerID, kind string
	var input []byte
	err := get(ctx, tx, `
		SELECT s.agent_id, a.user_id, s.kind, t.input FROM task t
		JOIN source s ON s.id = t.key JOIN agent a ON a.id = s.agent_id WHERE t.id = $1`,
		args{f.TaskID}, &agentID, &ownerID, &kind, &input)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // the source was deleted meanwhile
	}
	if err != nil {
		return err
	}
	end, err := importer.EndOf(kind, input, o)
	if err != nil {
		return err
	}
	messages := []webhook.Message{{Event: event, At: o.At, Data: webhook.Import{
		AgentID: agentID, SourceID: f.Key, ImportID: f.TaskID, Status: string(o.State),
		Documents: webhook.Documents(end.Report.Documents), FailedFiles: end.Report.Files.Failed,
		Error: webhook.FailureOf(o.Code),
	}}}
	if end.Sync {
		m := webhook.Message{Event: webhook.EventSourceSynced, At: o.At}
		data := webhook.Source{
			AgentID: agentID, SourceID: f.Key, ImportID: f.TaskID, Status: webhook.SourceSynced,
			Error: webhook.FailureOf(o.Code),
		}
		if o.State == task.StateFailed {
			m.Event, data.Status = webhook.EventSourceFailed, webhook.SourceFailed
		}
		m.Data = data
		messages = append(messages, m)
	}
	if err := db.announce(ctx, tx, ownerID, messages...); err != nil || f.UserID == ownerID || f.UserID == "" {
		return err
	}
	return db.announce(ctx, tx, f.UserID, messages...)
}

// announceShare announces a change of a share to the owner of the agent and to the account that has or had the grant.
// Invitations are announced to the owner only: the statements must not depend on whether the invitee has an account.
func (db *DB) announceShare(ctx context.Context, tx querier, e webhook.Event, at time.Time, s webhook.Share) error {
	var ownerID string
	if err := get(ctx, tx, `SELECT user_id FROM agent WHERE id = $1`, args{s.AgentID}, &ownerID); err != nil {
		return err
	}
	m := webhook.Message{Event: e, At: at, Data: s}
	if err := db.announce(ctx, tx, ownerID, m); err != nil || s.UserID == "" {
		return err
	}
	return db.announce(ctx, tx, s.UserID, m)
}

// announceSpend announces once a month that the settled spend of a user is near their cap, and once that it has
// reached the cap.
func (db *DB) announceSpend(ctx context.Context, tx querier, userID, month string, now time.Time) error {
	var limit sql.NullInt64
	var used int64
	err := get(ctx, tx, `
		SELECT `+userCap+`, coalesce((SELECT spent FROM budget WHERE user_id = app_user.id AND period = $1), 0)
		FROM app_user WHERE id = $2`, args{month, userID}, &limit, &used)
	if err != nil || !limit.Valid {
		return err
	}
	event, told := webhook.SpendEvent(limit.Int64, used)
	if !told {
		return nil
	}
	start, err := time.Parse("2006-01", month)
	if err != nil {
		return err
	}
	s := webhook.NewSpend(month, limit.Int64, used, core.MonthEnd(start))
	return db.announceSpendOnce(ctx, tx, userID, event, s, now)
}

// announceRefusal announces that a call was refused because of the user's monthly cap.
func (db *DB) announceRefusal(ctx context.Context, tx querier, r billing.Reservation, refusal error) error {
	var told *core.Error
	if !errors.As(refusal, &told) || told.Spend == nil || told.Spend.Of != core.SpendOfUser {
		return nil
	}
	s := told.Spend
	return db.announceSpendOnce(ctx, tx, r.UserID, webhook.EventSpendReached,
		webhook.NewSpend(core.Month(r.At), s.Cap, s.Used, s.ResetsAt), r.At)
}

// announceSpendOnce announces an event unless it was announced in this month. A cap that was reached is not announced
// as near any more.
func (db *DB) announceSpendOnce(
	ctx context.Context, tx querier, userID string, event webhook.Event, s webhook.Spend, now time.Time,
) error {
	unannounced, reached := `budget.near_at IS NULL`, sql.NullInt64{}
	if event == webhook.EventSpendReached {
		unannounced, reached = `budget.reached_at IS NULL`, sql.NullInt64{Int64: millis(now), Valid: true}
	}
	n, err := tx.exec(ctx, `
		INSERT INTO budget (user_id, period, reserved, spent, near_at, reached_at) VALUES ($1, $2, 0, 0, $3, $4)
		ON CONFLICT (user_id, period) DO UPDATE SET near_at = coalesce(budget.near_at, excluded.near_at),
			reached_at = coalesce(budget.reached_at, excluded.reached_at)
		WHERE `+unannounced, userID, s.Period, millis(now), reached)
	if err != nil || n == 0 {
		return err
	}
	return db.announce(ctx, tx, userID, webhook.Message{Event: event, At: now, Data: s})
}
