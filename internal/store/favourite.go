package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/favourite"
)

// collectionsOf is the list of the collections that contain a favourite, separated by commas.
const collectionsOf = `coalesce((SELECT string_agg(collection_id, ',') FROM collection_favourite c
	WHERE c.user_id = favourite.user_id AND c.agent_id = favourite.agent_id AND c.card_id = favourite.card_id), '')`

const favouriteColumns = `agent_id, card_id, card, ` + visibleThread + `, tags, note, ` + collectionsOf + `,
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
	SELECT $1, $2, $3, $4,
		(SELECT id FROM thread WHERE id = $5 AND user_id = $1 AND agent_id = $2 AND deleted_at IS NULL), $6, $7, $8, $9
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

// newestFirst is the order of all lists of favourites. An index has it for a user, another for a user and an agent.
const newestFirst = ` ORDER BY created_at DESC, card_id DESC, agent_id DESC`

// selectFavourites returns the condition of a selection and its parameters.
func (db *DB) selectFavourites(s favourite.Selection) (where string, a args) {
	param := func(v any) string {
		a = append(a, v)
		return "$" + strconv.Itoa(len(a))
	}
	user := param(s.UserID)
	where = ` WHERE user_id = ` + user + ` AND ` + agentAccessible("favourite.agent_id", user)
	switch len(s.Agents) {
	case 0:
	case 1: // as an equation, which keeps the order of the index
		where += ` AND agent_id = ` + param(s.Agents[0])
	default:
		where += ` AND agent_id IN ` + db.dialect.in(param(encodeList(s.Agents)))
	}
	if len(s.Cards) > 0 {
		where += ` AND card_id IN ` + db.dialect.in(param(encodeList(s.Cards)))
	}
	if len(s.Tags) > 0 {
		where += ` AND EXISTS (SELECT 1 FROM ` + db.dialect.rows("favourite.tags") + ` AS tag WHERE tag.value IN ` +
			db.dialect.in(param(encodeList(s.Tags))) + `)`
	}
	if s.Collection != "" {
		where += ` AND EXISTS (SELECT 1 FROM collection_favourite c WHERE c.user_id = favourite.user_id
			AND c.agent_id = favourite.agent_id AND c.card_id = favourite.card_id AND c.collection_id = ` +
			param(s.Collection) + `)`
	}
	return where, a
}

// Favourites returns up to n favourites of a selection, newest first.
func (db *DB) Favourites(
	ctx context.Context, s favourite.Selection, after *favourite.Key, n int,
) ([]favourite.Favourite, error) {
	where, a := db.selectFavourites(s)
	if after != nil {
		k := len(a)
		where += fmt.Sprintf(` AND (created_at, card_id, agent_id) < ($%d, $%d, $%d)`, k+1, k+2, k+3)
		a = append(a, millis(after.CreatedAt), after.CardID, after.AgentID)
	}
	a = append(a, n)
	list := make([]favourite.Favourite, 0, capacityFor(n))
	err := db.eachFavourite(ctx, where+newestFirst+fmt.Sprintf(` LIMIT $%d + 0`, len(a)), a,
		func(f favourite.Favourite) error {
			list = append(list, f)
			return nil
		})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// EachFavourite calls yield for each favourite of a selection, newest first, until it returns an error.
func (db *DB) EachFavourite(
	ctx context.Context, s favourite.Selection, yield func(favourite.Favourite) error,
) error {
	where, a := db.selectFavourites(s)
	return db.eachFavourite(ctx, where+newestFirst, a, yield)
}

func (db *DB) eachFavourite(
	ctx context.Context, rest string, a args, yield func(favourite.Favourite) error,
) error {
	var r favouriteRow
	err := db.read.each(ctx, `SELECT `+favouriteColumns+` FROM favourite`+rest, a, r.dest(), func() error {
		f, err := r.value()
		if err != nil {
			return err
		}
		return yield(f)
	})
	return fail("list favourites", "agent", err)
}

// SavedCards returns those of the card ids that are ids of favourites with an agent.
func (db *DB) SavedCards(ctx context.Context, userID, agentID string, cardIDs []string) ([]string, error) {
	var id string
	saved := make([]string, 0, len(cardIDs))
	err := db.read.each(ctx, `
		SELECT card_id FROM favourite WHERE user_id = $1 AND agent_id = $2 AND card_id IN `+db.dialect.in("$3"),
		args{userID, agentID, encodeList(cardIDs)}, []any{&id}, func() error {
			saved = append(saved, id)
			return nil
		})
	return saved, fail("look up favourites", "agent", err)
}

// FavouriteTags returns the spellings of tags with the number of their favourites. Those of the newest favourites come
// first.
func (db *DB) FavouriteTags(ctx context.Context, userID string, agents []string) ([]core.Tag, error) {
	where, a := db.selectFavourites(favourite.Selection{UserID: userID, Agents: agents})
	tags, err := db.countTags(ctx, `SELECT tags FROM favourite`+where+` AND tags <> '[]'`+newestFirst, a)
	return tags, fail("list tags", "agent", err)
}

// countTags returns the tags in the only column of a query, each with the number of its rows, in the order of the rows.
func (db *DB) countTags(ctx context.Context, query string, a args) ([]core.Tag, error) {
	var encoded string
	tags, places := []core.Tag{}, map[string]int{}
	err := db.read.each(ctx, query, a, []any{&encoded}, func() error {
		names, err := decodeList[string](encoded)
		for _, name := range names {
			at, known := places[name]
			if !known {
				at = len(tags)
				places[name], tags = at, append(tags, core.Tag{Name: name})
			}
			tags[at].Count++
		}
		return err
	})
	return tags, err
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
func (db *DB) DeleteFavourite(ctx context.Context, userID, agentID, cardID string, now time.Time) error {
	deleted, err := db.DeleteFavourites(ctx, userID, agentID, []string{cardID}, now)
	return requireRow("delete favourite", "favourite", int64(len(deleted)), err)
}

// DeleteFavourites deletes favourites with an agent, which the bin keeps if there is one, and returns the ids of the
// cards that were favourites.
func (db *DB) DeleteFavourites(
	ctx context.Context, userID, agentID string, cardIDs []string, now time.Time,
) (deleted []string, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if db.bin {
			if err := db.binFavourites(ctx, tx, userID, agentID, cardIDs, now); err != nil {
				return err
			}
		}
		deleted, err = listed(ctx, tx, `
			DELETE FROM favourite WHERE user_id = $1 AND agent_id = $2 AND card_id IN `+db.dialect.in("$3")+`
			RETURNING card_id`, args{userID, agentID, encodeList(cardIDs)})
		return err
	})
	return deleted, fail("delete favourites", "favourite", err)
}
