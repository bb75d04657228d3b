package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/thread"
	"carrel/internal/webhook"
)

var _ webhook.Store = (*DB)(nil)

const webhookColumns = `w.id, w.user_id, w.url, w.events, w.secret, w.created_at, w.disabled_at, w.last_at,
	w.last_status, w.last_error`

type webhookRow struct {
	webhook          webhook.Webhook
	events           string
	created          int64
	disabled, lastAt sql.NullInt64
	lastStatus       int
	lastError        string
}

func (r *webhookRow) dest() []any {
	w := &r.webhook
	return []any{
		&w.ID, &w.UserID, &w.URL, &r.events, &w.Sealed, &r.created, &r.disabled, &r.lastAt, &r.lastStatus, &r.lastError,
	}
}

func (r *webhookRow) value() (w webhook.Webhook, err error) {
	w = r.webhook
	w.CreatedAt, w.DisabledAt = at(r.created), optAt(r.disabled)
	if r.lastAt.Valid {
		w.Last = &webhook.Delivery{At: at(r.lastAt.Int64), Status: r.lastStatus, Error: r.lastError}
	}
	w.Events, err = decodeList[webhook.Event](r.events)
	return w, err
}

func oneWebhook(ctx context.Context, q querier, query string, a args) (webhook.Webhook, error) {
	var r webhookRow
	if err := get(ctx, q, query, a, r.dest()...); err != nil {
		return webhook.Webhook{}, err
	}
	return r.value()
}

func manyWebhooks(ctx context.Context, q querier, query string, a args) ([]webhook.Webhook, error) {
	var r webhookRow
	webhooks := []webhook.Webhook{}
	err := q.each(ctx, query, a, r.dest(), func() error {
		w, err := r.value()
		webhooks = append(webhooks, w)
		return err
	})
	return webhooks, err
}

// InsertWebhook stores a webhook, or returns the existing one with its id. The lock on the user serializes inserts, so
// that the limit per user holds.
func (db *DB) InsertWebhook(ctx context.Context, w webhook.Webhook, limit int) (stored webhook.Webhook, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var n int
		if err := get(ctx, tx, `SELECT 1 FROM app_user WHERE id = $1`+db.dialect.lock, args{w.UserID}, &n); err != nil {
			return err
		}
		stored, err = oneWebhook(ctx, tx, `SELECT `+webhookColumns+` FROM webhook w WHERE w.user_id = $1 AND w.id = $2`,
			args{w.UserID, w.ID})
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := get(ctx, tx, `SELECT count(*) FROM webhook WHERE user_id = $1`, args{w.UserID}, &n); err != nil {
			return err
		}
		if n >= limit {
			return core.Conflict("conflict",
				fmt.Sprintf("This account has %d webhooks, which is the maximum. Delete one first.", n))
		}
		_, err := tx.exec(ctx, `
			INSERT INTO webhook (id, user_id, url, events, secret, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
			w.ID, w.UserID, w.URL, encodeList(w.Events), w.Sealed, millis(w.CreatedAt))
		stored = w
		return err
	})
	if err != nil {
		return webhook.Webhook{}, fail("insert webhook", "user", err)
	}
	return stored, nil
}

// Webhooks returns a user's webhooks, newest first.
func (db *DB) Webhooks(ctx context.Context, userID string) ([]webhook.Webhook, error) {
	webhooks, err := manyWebhooks(ctx, db.read, `
		SELECT `+webhookColumns+` FROM webhook w WHERE w.user_id = $1 ORDER BY w.id DESC`, args{userID})
	return webhooks, fail("list webhooks", "user", err)
}

// Webhook returns a webhook of a user who is not disabled.
func (db *DB) Webhook(ctx context.Context, userID, webhookID string) (webhook.Webhook, error) {
	w, err := oneWebhook(ctx, db.read, `
		SELECT `+webhookColumns+` FROM webhook w JOIN app_user u ON u.id = w.user_id
		WHERE w.id = $1 AND w.user_id = $2 AND u.disabled_at IS NULL`, args{webhookID, userID})
	return w, fail("read webhook", "webhook", err)
}

// DeleteWebhook deletes a webhook. Its pending deliveries notice that by themselves.
func (db *DB) DeleteWebhook(ctx context.Context, userID, webhookID string) error {
	n, err := db.exec(ctx, `DELETE FROM webhook WHERE id = $1 AND user_id = $2`, webhookID, userID)
	return requireRow("delete webhook", "webhook", n, err)
}

// RecordDelivery stores a delivery attempt. Attempts of several deliveries overlap; the latest one is kept.
func (db *DB) RecordDelivery(ctx context.Context, webhookID string, d webhook.Delivery, enable bool) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		_, err := tx.exec(ctx, `
			UPDATE webhook SET last_at = $1, last_status = $2, last_error = $3
			WHERE id = $4 AND (last_at IS NULL OR last_at <= $1)`, millis(d.At), d.Status, d.Error, webhookID)
		switch {
		case err != nil:
		case d.Gone():
			_, err = tx.exec(ctx, `UPDATE webhook SET disabled_at = coalesce(disabled_at, $1) WHERE id = $2`,
				millis(d.At), webhookID)
		case enable:
			_, err = tx.exec(ctx, `UPDATE webhook SET disabled_at = NULL WHERE id = $1 AND disabled_at IS NOT NULL`,
				webhookID)
		}
		return err
	})
	return fail("record delivery", "webhook", err)
}

// announceTurn stores a delivery for each webhook subscribed to the end of a turn, in the transaction that ends it, so
// that a crash can neither lose nor duplicate a delivery.
func (db *DB) announceTurn(ctx context.Context, tx querier, f task.Fence, o task.Outcome, reply thread.Message) error {
	event, told := webhook.TurnEvent(o.State)
	if !told {
		return nil
	}
	webhooks, err := manyWebhooks(ctx, tx, `
		SELECT `+webhookColumns+` FROM webhook w
		WHERE w.user_id = $1 AND w.disabled_at IS NULL ORDER BY w.id`, args{f.UserID})
	if err != nil || len(webhooks) == 0 {
		return err
	}
	turn := webhook.Turn{
		ThreadID: reply.ThreadID, TurnID: reply.TurnID, MessageID: reply.ID, Status: reply.Status,
		Sentences: reply.Answer.Verdicts(),
	}
	if reply.Error != nil {
		turn.Error = &webhook.TurnError{Code: reply.Error.Code}
	}
	if err := get(ctx, tx, `SELECT agent_id FROM thread WHERE id = $1`,
		args{reply.ThreadID}, &turn.AgentID); err != nil {
		return err
	}
	for _, w := range webhooks {
		if !w.Wants(event) {
			continue
		}
		if _, err := db.insertTask(ctx, tx, webhook.NewDelivery(w, event, turn, o.At)); err != nil {
			return err
		}
	}
	return nil
}

// PruneDeliveries deletes deliveries that ended before this time.
func (db *DB) PruneDeliveries(ctx context.Context, before time.Time) error {
	err := db.pruneTasks(ctx, `kind = 'webhook'`, before)
	return fail("prune deliveries", "task", err)
}
