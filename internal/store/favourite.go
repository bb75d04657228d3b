package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"carrel/internal/favourite"
)

// collectionsOf is the list of the collections that contain a favourite, separated by commas.
const collectionsOf = `coalesce((SELECT string_agg(collection_id, ',') FROM collection_favourite c
	WHERE c.user_id = favourite.user_id AND c.agent_id = favourite.agent_id AND c.card_id = favourite.card_id), '')`

const favouriteColumns = `agent_id, card_id, card, coalesce(thread_id, ''), tags, note, ` + collectionsOf + `,
	created_at, updated_at`

type favouriteRow struct {
	favourite         favourite.Favourite
	tags, collections string
	created, updated  int64
}

func (r *favouriteRow) dest() []any {
	f := &r.favourite
	return []any{
		&f.AgentID, &f.CardID, (*[]byte)(&f.Card), &f.ThreadID, &r.tags, &f.Note, &r.collections, &r.created, &r.updated,
	}
}

func (r *favouriteRow) value() (f favourite.Favourite, err error) {
	f = r.favourite
	f.CreatedAt, f.UpdatedAt = at(r.created), at(r.updated)
	if r.collections != "" {
		f.Collections = strings.Split(r.collections, ",")
		slices.Sort(f.Collections)
	}
	f.Tags, err = decodeList[string](r.tags)
	return f, err
}

var saveFavourite = `
	INSERT INTO favourite (user_id, agent_id, card_id, card, thread_id, tags, note, created_at, updated_at)
	SELECT $1, $2, $3, $4, (SELECT id FROM thread WHERE id = $5 AND user_id = $1 AND agent_id = $2), $6, $7, $8, $9
	WHERE ` + agentAccessible("$2", "$1") + `
	ON CONFLICT (user_id, agent_id, card_id) DO UPDATE SET
		card = excluded.card, thread_id = coalesce(excluded.thread_id, favourite.thread_id), updated_at = excluded.updated_at
	RETURNING ` + favouriteColumns

func saveArgs(userID, agentID string, f favourite.Favourite) args {
	return args{
		userID, agentID, f.CardID, string(f.Card), f.ThreadID, encodeList(f.Tags), f.Note, millis(f.CreatedAt),
		millis(f.UpdatedAt),
	}
}

// SaveFavourite stores a card. Saving it again replaces the card but keeps its creation time, tags, note and
// collections, and its thread unless another one is given. A deleted thread is dropped.
func (db *DB) SaveFavourite(
	ctx context.Context, userID, agentID string, f favourite.Favourite,
) (favourite.Favourite, error) {
	var r favouriteRow
	err := db.execReturning(ctx, saveFavourite, saveArgs(userID, agentID, f), r.dest())
	if err != nil {
		return favourite.Favourite{}, fail("save favourite", "agent", err)
	}
	return r.value()
}

// ImportFavourites stores cards in one transaction and returns the outcome of each.
func (db *DB) ImportFavourites(
	ctx context.Context, userID, agentID string, list []favourite.Favourite,
) (out []favourite.Outcome, err error) {
	err = db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		out = make([]favourite.Outcome, len(list))
		for i, f := range list {
			var stored []byte
			err := get(ctx, tx, `SELECT card FROM favourite WHERE user_id = $1 AND agent_id = $2 AND card_id = $3`,
				args{userID, agentID, f.CardID}, &stored)
			switch {
			case err == nil && bytes.Equal(stored, f.Card):
				out[i] = favourite.OutcomeUnchanged
				continue
			case err == nil:
				out[i] = favourite.OutcomeUpdated
			case errors.Is(err, sql.ErrNoRows):
				out[i] = favourite.OutcomeAdded
			default:
				return err
			}
			if err := get(ctx, tx, saveFavourite, saveArgs(userID, agentID, f), new(favouriteRow).dest()...); err != nil {
				return err
			}
		}
		return nil
	})
	return out, fail("import favourites", "agent", err)
}

// Favourites returns up to n favourites, newest first. A negative n means all.
func (db *DB) Favourites(
	ctx context.Context, userID, agentID string, after *favourite.Key, n int,
) ([]favourite.Favourite, error) {
	created, cardID := int64(lastTime), ""
	if after != nil {
		created, cardID = millis(after.CreatedAt), after.CardID
	}
	if n < 0 {
		n = math.MaxInt32
	}
	return db.favourites(ctx, make([]favourite.Favourite, 0, capacityFor(n)), `
		SELECT `+favouriteColumns+` FROM favourite
		WHERE user_id = $1 AND agent_id = $2 AND (created_at, card_id) < ($3, $4)
		ORDER BY created_at DESC, card_id DESC LIMIT $5 + 0`,
		args{userID, agentID, created, cardID, n})
}

// AllFavourites returns the favourites of a user with all agents that the user can access, limited to the ids in only
// unless that is empty.
func (db *DB) AllFavourites(ctx context.Context, userID string, only []string) ([]favourite.Favourite, error) {
	query := `SELECT ` + favouriteColumns + ` FROM favourite WHERE user_id = $1 AND ` +
		agentAccessible("favourite.agent_id", "$1")
	a := args{userID}
	if len(only) > 0 {
		query += ` AND agent_id IN ` + db.dialect.in("$2")
		a = append(a, encodeList(only))
	}
	return db.favourites(ctx, []favourite.Favourite{}, query, a)
}

func (db *DB) favourites(
	ctx context.Context, list []favourite.Favourite, query string, a args,
) ([]favourite.Favourite, error) {
	var r favouriteRow
	err := db.read.each(ctx, query, a, r.dest(), func() error {
		f, err := r.value()
		list = append(list, f)
		return err
	})
	if err != nil {
		return nil, fail("list favourites", "agent", err)
	}
	return list, nil
}

// ChangeFavourite sets the given fields of a favourite. Unknown collections are left out.
func (db *DB) ChangeFavourite(
	ctx context.Context, userID, agentID, cardID string, c favourite.Change, now time.Time,
) (f favourite.Favourite, err error) {
	const one = ` WHERE user_id = $1 AND agent_id = $2 AND card_id = $3`
	key := args{userID, agentID, cardID}
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var r favouriteRow
		err := get(ctx, tx, `SELECT `+favouriteColumns+` FROM favourite`+one+db.dialect.lock, key, r.dest()...)
		if err != nil {
			return err
		}
		if c.Tags != nil {
			r.tags = encodeList(*c.Tags)
		}
		if c.Note != nil {
			r.favourite.Note = *c.Note
		}
		if c.Collections != nil {
			if _, err := tx.exec(ctx, `DELETE FROM collection_favourite`+one, key...); err != nil {
				return err
			}
			_, err := tx.exec(ctx, `
				INSERT INTO collection_favourite (user_id, agent_id, card_id, collection_id)
				SELECT $1, $2, $3, id FROM collection WHERE user_id = $1 AND id IN `+db.dialect.in("$4"),
				append(key, encodeList(*c.Collections))...)
			if err != nil {
				return err
			}
		}
		if err := get(ctx, tx, `UPDATE favourite SET tags = $4, note = $5, updated_at = $6`+one+` RETURNING `+
			favouriteColumns, append(key, r.tags, r.favourite.Note, millis(now)), r.dest()...); err != nil {
			return err
		}
		f, err = r.value()
		return err
	})
	return f, fail("change favourite", "favourite", err)
}

// DeleteFavourite removes a favourite.
func (db *DB) DeleteFavourite(ctx context.Context, userID, agentID, cardID string) error {
	n, err := db.exec(ctx, `DELETE FROM favourite WHERE user_id = $1 AND agent_id = $2 AND card_id = $3`,
		userID, agentID, cardID)
	return requireRow("delete favourite", "favourite", n, err)
}
