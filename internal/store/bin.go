package store

import (
	"context"
	"encoding/json"
	"time"

	"carrel/internal/bin"
	"carrel/internal/core"
)

var _ bin.Store = (*DB)(nil)

const binColumns = `id, kind, item_id, title, deleted_at`

// binOf is the condition for item $1 of user $2 and agent $3.
const binOf = `id = $1 AND (user_id = $2 AND agent_id = $3) IS TRUE`

type binRow struct {
	item    bin.Item
	deleted int64
}

func (r *binRow) dest() []any {
	i := &r.item
	return []any{&i.ID, (*string)(&i.Kind), &i.ItemID, &i.Title, &r.deleted}
}

func (r *binRow) value() bin.Item {
	i := r.item
	i.DeletedAt = at(r.deleted)
	return i
}

// binned is an item to be stored in the bin.
type binned struct {
	userID, agentID string
	kind            bin.Kind
	itemID, title   string
	// content is the JSON of a memory or favourite.
	content string
	at      time.Time
}

// putInBin stores an item in the bin.
func putInBin(ctx context.Context, tx querier, b binned) error {
	var threadID any
	if b.kind == bin.KindThread {
		threadID = b.itemID
	}
	_, err := tx.exec(ctx, `
		INSERT INTO bin_item (id, user_id, agent_id, kind, item_id, title, bytes, deleted_at, thread_id, content)
		VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8, $9)`,
		core.NewID(core.PrefixBin), b.userID, b.agentID, string(b.kind), b.itemID, titleStart(b.title),
		millis(b.at), threadID, b.content)
	return err
}

// titleStart returns the start of a text as one line, for the title of an item.
func titleStart(text string) string {
	runes := []rune(core.OneLine(text))
	return string(runes[:min(len(runes), bin.TitleLength)])
}

// BinItems returns up to n items of a kind, or of all kinds if it is empty, latest first.
func (db *DB) BinItems(
	ctx context.Context, userID, agentID string, kind bin.Kind, before string, n int,
) ([]bin.Item, error) {
	c := conditions{args: args{userID, agentID, beforeOrLast(before)}}
	if kind != "" {
		c.add(`kind = $N`, string(kind))
	}
	var r binRow
	items := make([]bin.Item, 0, capacityFor(n))
	err := db.read.each(ctx, `
		SELECT `+binColumns+` FROM bin_item WHERE user_id = $1 AND agent_id = $2 AND id < $3`+c.and()+`
		ORDER BY id DESC LIMIT `+c.param(n)+` + 0`, c.args, r.dest(), func() error {
		items = append(items, r.value())
		return nil
	})
	if err != nil {
		return nil, fail("list the bin", "agent", err)
	}
	return items, nil
}

// BinItem returns an item.
func (db *DB) BinItem(ctx context.Context, userID, agentID, id string) (bin.Item, error) {
	var r binRow
	err := get(ctx, db.read, `SELECT `+binColumns+` FROM bin_item WHERE `+binOf, args{id, userID, agentID}, r.dest()...)
	return r.value(), fail("read an item in the bin", "item in the bin", err)
}

// BinContent returns a deleted item as JSON.
func (db *DB) BinContent(ctx context.Context, userID, agentID, id string) (json.RawMessage, error) {
	var r binRow
	var content string
	err := get(ctx, db.read, `SELECT `+binColumns+`, content FROM bin_item WHERE `+binOf, args{id, userID, agentID},
		append(r.dest(), &content)...)
	if err == nil {
		switch r.item.Kind {
		case bin.KindThread:
			return db.binnedMessages(ctx, r.item.ItemID)
		case bin.KindDocument:
			return db.binnedText(ctx, id)
		}
	}
	return json.RawMessage(content), fail("read an item in the bin", "item in the bin", err)
}

// binnedMessages returns the messages of a thread in the bin as JSON.
func (db *DB) binnedMessages(ctx context.Context, threadID string) (json.RawMessage, error) {
	type message struct {
		Role      string    `json:"role"`
		Text      string    `json:"text"`
		CreatedAt time.Time `json:"createdAt"`
	}
	var m message
	var created int64
	messages := []message{}
	err := db.read.each(ctx, `SELECT role, text, created_at FROM message WHERE thread_id = $1 ORDER BY seq`,
		args{threadID}, []any{&m.Role, &m.Text, &created}, func() error {
			m.CreatedAt = at(created)
			messages = append(messages, m)
			return nil
		})
	if err != nil {
		return nil, fail("read the messages of a deleted thread", "thread", err)
	}
	return json.Marshal(map[string]any{"messages": messages})
}

// RestoreBinItem puts an item back and takes it out of the bin.
func (db *DB) RestoreBinItem(ctx context.Context, userID, agentID, id string, now time.Time) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		key := args{id, userID, agentID}
		var r binRow
		var content, sourceID string
		dest := append(r.dest(), &content, &sourceID)
		query := `SELECT ` + binColumns + `, content, coalesce(source_id, '') FROM bin_item WHERE ` + binOf
		if err := get(ctx, tx, query, key, dest...); err != nil {
			return err
		}
		// The source is locked before the item, as by a deletion of documents.
		if sourceID != "" {
			if err := db.lockSource(ctx, tx, sourceID); err != nil {
				return err
			}
		}
		if err := get(ctx, tx, query+db.dialect.lock, key, dest...); err != nil {
			return err
		}
		var err error
		switch r.item.Kind {
		case bin.KindThread:
			_, err = tx.exec(ctx, `UPDATE thread SET deleted_at = NULL WHERE id = $1`, r.item.ItemID)
		case bin.KindMemory:
			err = restoreMemory(ctx, tx, userID, agentID, r.item.ItemID, content, now)
		case bin.KindFavourite:
			err = db.restoreFavourite(ctx, tx, userID, agentID, r.item.ItemID, content)
		case bin.KindDocument:
			return db.restoreDocument(ctx, tx, id, sourceID, r.item.ItemID, now)
		}
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `DELETE FROM bin_item WHERE id = $1`, id)
		return err
	})
	return fail("restore an item", "item in the bin", err)
}

// DeleteBinItem deletes an item for good.
func (db *DB) DeleteBinItem(ctx context.Context, userID, agentID, id string) error {
	var n int64
	err := db.inBulkTx(ctx, func(ctx context.Context, tx querier) (err error) {
		n, err = deleteBinned(ctx, tx, binOf, args{id, userID, agentID})
		return err
	})
	return requireRow("delete an item in the bin", "item in the bin", n, err)
}

// binBatch is the number of items deleted per transaction. Threads are deleted with their messages.
const binBatch = 100

// EmptyBin deletes the items of these kinds, in batches.
func (db *DB) EmptyBin(ctx context.Context, userID, agentID string, kinds []bin.Kind) error {
	return db.deleteAllBinned(ctx, "empty the bin", `id IN (
		SELECT id FROM bin_item WHERE user_id = $1 AND agent_id = $2 AND kind IN `+db.dialect.in("$3")+` LIMIT $4 + 0)`,
		args{userID, agentID, encodeList(kinds), binBatch})
}

// PruneBin deletes the items of all users that were deleted at the time or before, in batches.
func (db *DB) PruneBin(ctx context.Context, until time.Time) error {
	var one int
	err := get(ctx, db.read, `SELECT count(*) FROM (SELECT 1 FROM bin_item WHERE deleted_at <= $1 LIMIT 1) old`,
		args{millis(until)}, &one)
	if err != nil || one == 0 { // an idle server writes nothing
		return fail("prune the bin", "item in the bin", err)
	}
	return db.deleteAllBinned(ctx, "prune the bin",
		`id IN (SELECT id FROM bin_item WHERE deleted_at <= $1 ORDER BY deleted_at LIMIT $2 + 0)`,
		args{millis(until), binBatch})
}

// deleteAllBinned deletes the items that a condition selects, each batch in a transaction.
func (db *DB) deleteAllBinned(ctx context.Context, operation, where string, a args) error {
	for n := int64(binBatch); n == binBatch; {
		err := db.inBulkTx(ctx, func(ctx context.Context, tx querier) (err error) {
			n, err = deleteBinned(ctx, tx, where, a)
			return err
		})
		if err != nil {
			return fail(operation, "item in the bin", err)
		}
	}
	return nil
}

// deleteBinned deletes items with their threads and documents.
func deleteBinned(ctx context.Context, tx querier, where string, a args) (n int64, err error) {
	var threads []string
	var threadID string
	err = tx.each(ctx, `DELETE FROM bin_item WHERE `+where+` RETURNING coalesce(thread_id, '')`, a, []any{&threadID},
		func() error {
			n++
			if threadID != "" {
				threads = append(threads, threadID)
			}
			return nil
		})
	for _, id := range threads {
		if err != nil {
			break
		}
		_, err = tx.exec(ctx, `DELETE FROM thread WHERE id = $1`, id)
	}
	return n, err
}
