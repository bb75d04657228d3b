package store

import (
	"context"
)

// SyncState returns the state that the last complete import of a source has stored, or "".
func (db *DB) SyncState(ctx context.Context, sourceID string) (state string, err error) {
	err = get(ctx, db.read, `SELECT sync_state FROM source WHERE id = $1`, args{sourceID}, &state)
	return state, fail("read the state of a source", "source", err)
}

// SetSyncState stores the state of a complete import.
func (db *DB) SetSyncState(ctx context.Context, sourceID, state string) error {
	_, err := db.exec(ctx, `UPDATE source SET sync_state = $1 WHERE id = $2`, state, sourceID)
	return fail("store the state of a source", "source", err)
}

// ZoteroItems returns the keys of the items that were written to a library, by card id.
func (db *DB) ZoteroItems(ctx context.Context, sourceID, library string) (map[string]string, error) {
	out := map[string]string{}
	var card, key string
	err := db.read.each(ctx, `SELECT card_id, item_key FROM zotero_item WHERE source_id = $1 AND library = $2`,
		args{sourceID, library}, []any{&card, &key}, func() error {
			out[card] = key
			return nil
		})
	return out, fail("list the items of a Zotero library", "source", err)
}

// PutZoteroItems stores the keys of items that were written to a library, by card id.
func (db *DB) PutZoteroItems(ctx context.Context, sourceID, library string, keys map[string]string) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		for card, key := range keys {
			_, err := tx.exec(ctx, `
				INSERT INTO zotero_item (source_id, library, card_id, item_key) VALUES ($1, $2, $3, $4)
				ON CONFLICT (source_id, library, card_id) DO UPDATE SET item_key = excluded.item_key`,
				sourceID, library, card, key)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return fail("store the items of a Zotero library", "source", err)
}
