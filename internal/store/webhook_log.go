package store

import (
	"context"
	"database/sql"
	"time"

	"carrel/internal/webhook"
)

// insertDelivery stores a delivery with its task inside a transaction.
func (db *DB) insertDelivery(ctx context.Context, tx querier, d webhook.StoredDelivery) error {
	if _, err := db.insertTask(ctx, tx, d.Task); err != nil {
		return err
	}
	_, err := tx.exec(ctx, `
		INSERT INTO webhook_delivery (id, webhook_id, message_id, event) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING`,
		d.ID, d.WebhookID, d.MessageID, string(d.Event))
	return err
}

// InsertDelivery stores a delivery with its task. A delivery with the same id stays unchanged.
func (db *DB) InsertDelivery(ctx context.Context, d webhook.StoredDelivery) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error { return db.insertDelivery(ctx, tx, d) })
	return fail("insert delivery", "webhook", err)
}

// newestDelivery sorts after every id of a delivery.
const newestDelivery = "~"

// Deliveries returns up to n deliveries of a webhook with an id below before, newest first.
func (db *DB) Deliveries(ctx context.Context, webhookID, before string, n int) ([]webhook.StoredDelivery, error) {
	if before == "" {
		before = newestDelivery
	}
	list, err := db.deliveries(ctx, `d.webhook_id = $1 AND d.id < $2 ORDER BY d.id DESC LIMIT $3 + 0`,
		args{webhookID, before, n})
	return list, fail("list deliveries", "webhook", err)
}

// Delivery returns one delivery of a webhook.
func (db *DB) Delivery(ctx context.Context, webhookID, deliveryID string) (webhook.StoredDelivery, error) {
	list, err := db.deliveries(ctx, `d.webhook_id = $1 AND d.id = $2`, args{webhookID, deliveryID})
	if err == nil && len(list) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return webhook.StoredDelivery{}, fail("read delivery", "delivery", err)
	}
	return list[0], nil
}

// deliveries returns deliveries with their tasks and the outputs of their ended steps.
func (db *DB) deliveries(ctx context.Context, where string, a args) ([]webhook.StoredDelivery, error) {
	var d webhook.StoredDelivery
	var runAt, created int64
	list := []webhook.StoredDelivery{}
	place := map[string]int{}
	var ids []string
	err := db.read.each(ctx, `
		SELECT d.id, d.webhook_id, d.message_id, d.event, t.state, t.input, t.run_at, t.created_at
		FROM webhook_delivery d JOIN task t ON t.id = d.id WHERE `+where, a, []any{
		&d.ID, &d.WebhookID, &d.MessageID, (*string)(&d.Event), (*string)(&d.Task.State), &d.Task.Input, &runAt, &created,
	}, func() error {
		one := d
		one.Task.ID, one.Task.RunAt, one.Task.CreatedAt = d.ID, at(runAt), at(created)
		place[d.ID] = len(list)
		list, ids = append(list, one), append(ids, d.ID)
		return nil
	})
	if err != nil || len(list) == 0 {
		return list, err
	}
	var id string
	var output []byte
	err = db.read.each(ctx, `
		SELECT task_id, output FROM task_step
		WHERE task_id IN `+db.dialect.in("$1")+` AND state = 'finished' ORDER BY task_id, n`,
		args{encodeList(ids)}, []any{&id, &output}, func() error {
			of := &list[place[id]]
			of.Steps = append(of.Steps, output)
			return nil
		})
	return list, err
}

// PruneDeliveries deletes deliveries that ended before this time, with their entries in the log.
func (db *DB) PruneDeliveries(ctx context.Context, before time.Time) error {
	err := db.pruneTasks(ctx, `kind = 'webhook'`, before)
	return fail("prune deliveries", "task", err)
}
