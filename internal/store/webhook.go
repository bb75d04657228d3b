package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"carrel/internal/core"
	"carrel/internal/webhook"
)

var _ webhook.Store = (*DB)(nil)

const webhookColumns = `w.id, w.user_id, w.url, w.events, w.secret, w.created_at, w.disabled_at, w.last_at,
	w.last_status, w.last_error, w.credential_id`

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
		&w.CredentialID,
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

// ownedBy is the condition that a webhook w belongs to the owner in the parameters $1 and $2; see webhook.Owner.
const ownedBy = `w.user_id = $1 AND ($2 = '' OR w.credential_id = $2)`

// InsertWebhook stores a webhook, or returns the existing one with its id. The lock on the user serializes inserts, so
// that the limit holds.
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
		if err := get(ctx, tx, `SELECT count(*) FROM webhook WHERE user_id = $1 AND credential_id = $2`,
			args{w.UserID, w.CredentialID}, &n); err != nil {
			return err
		}
		if n >= limit {
			return core.Conflict("conflict", fmt.Sprintf("There are %d webhooks, which is the maximum. Delete one first.", n))
		}
		_, err := tx.exec(ctx, `
			INSERT INTO webhook (id, user_id, url, events, secret, created_at, credential_id)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			w.ID, w.UserID, w.URL, encodeList(w.Events), w.Sealed, millis(w.CreatedAt), w.CredentialID)
		stored = w
		return err
	})
	if err != nil {
		return webhook.Webhook{}, fail("insert webhook", "user", err)
	}
	return stored, nil
}

// Webhooks returns the webhooks of an owner, newest first.
func (db *DB) Webhooks(ctx context.Context, o webhook.Owner) ([]webhook.Webhook, error) {
	webhooks, err := manyWebhooks(ctx, db.read, `
		SELECT `+webhookColumns+` FROM webhook w WHERE `+ownedBy+` ORDER BY w.id DESC`, args{o.UserID, o.CredentialID})
	return webhooks, fail("list webhooks", "user", err)
}

// Webhook returns a webhook of an owner who is not disabled.
func (db *DB) Webhook(ctx context.Context, o webhook.Owner, webhookID string) (webhook.Webhook, error) {
	w, err := oneWebhook(ctx, db.read, `
		SELECT `+webhookColumns+` FROM webhook w JOIN app_user u ON u.id = w.user_id
		WHERE `+ownedBy+` AND w.id = $3 AND u.disabled_at IS NULL`, args{o.UserID, o.CredentialID, webhookID})
	return w, fail("read webhook", "webhook", err)
}

// ChangeWebhook sets the given fields of a webhook. A webhook that is disabled already keeps the time of that.
func (db *DB) ChangeWebhook(
	ctx context.Context, o webhook.Owner, webhookID string, c webhook.Change, now time.Time,
) (w webhook.Webhook, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		w, err = oneWebhook(ctx, tx, `
			SELECT `+webhookColumns+` FROM webhook w WHERE `+ownedBy+` AND w.id = $3`+db.dialect.lock,
			args{o.UserID, o.CredentialID, webhookID})
		if err != nil {
			return err
		}
		if c.URL != nil {
			w.URL = *c.URL
		}
		if c.Events != nil {
			w.Events = *c.Events
		}
		if c.Active != nil {
			switch {
			case *c.Active:
				w.DisabledAt = nil
			case w.DisabledAt == nil:
				w.DisabledAt = &now
			}
		}
		_, err := tx.exec(ctx, `UPDATE webhook SET url = $1, events = $2, disabled_at = $3 WHERE id = $4`,
			w.URL, encodeList(w.Events), optMillis(w.DisabledAt), w.ID)
		return err
	})
	if err != nil {
		return webhook.Webhook{}, fail("change webhook", "webhook", err)
	}
	return w, nil
}

// DeleteWebhook deletes a webhook. Its pending deliveries notice that by themselves.
func (db *DB) DeleteWebhook(ctx context.Context, o webhook.Owner, webhookID string) error {
	n, err := db.exec(ctx, `DELETE FROM webhook AS w WHERE `+ownedBy+` AND w.id = $3`,
		o.UserID, o.CredentialID, webhookID)
	return requireRow("delete webhook", "webhook", n, err)
}

// deleteWebhooksOf deletes the webhooks of a credential that is revoked.
func deleteWebhooksOf(ctx context.Context, tx querier, credentialID string) error {
	_, err := tx.exec(ctx, `DELETE FROM webhook WHERE credential_id = $1 AND credential_id <> ''`, credentialID)
	return err
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
