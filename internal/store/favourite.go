package store

import (
	"context"
	"math"

	"carrel/internal/favourite"
)

type favouriteRow struct {
	favourite        favourite.Favourite
	created, updated int64
}

func (r *favouriteRow) dest() []any {
	f := &r.favourite
	return []any{&f.CardID, (*[]byte)(&f.Card), &f.ThreadID, &r.created, &r.updated}
}

func (r *favouriteRow) value() favourite.Favourite {
	f := r.favourite
	f.CreatedAt, f.UpdatedAt = at(r.created), at(r.updated)
	return f
}

// SaveFavourite stores a card. Saving it again replaces the card but keeps its creation time, and its thread unless
// another one is given. A deleted thread is dropped.
func (db *DB) SaveFavourite(
	ctx context.Context, userID, agentID string, f favourite.Favourite,
) (favourite.Favourite, error) {
	var created int64
	err := db.execReturning(ctx, `
		INSERT INTO favourite (user_id, agent_id, card_id, card, thread_id, created_at, updated_at)
		SELECT $1, $2, $3, $4, (SELECT id FROM thread WHERE id = $5 AND user_id = $1 AND agent_id = $2), $6, $7 WHERE `+
		agentAccessible("$2", "$1")+`
		ON CONFLICT (user_id, agent_id, card_id) DO UPDATE SET
			card = excluded.card, thread_id = coalesce(excluded.thread_id, favourite.thread_id), updated_at = excluded.updated_at
		RETURNING coalesce(thread_id, ''), created_at`,
		args{userID, agentID, f.CardID, string(f.Card), f.ThreadID, millis(f.CreatedAt), millis(f.UpdatedAt)},
		[]any{&f.ThreadID, &created})
	if err != nil {
		return favourite.Favourite{}, fail("save favourite", "agent", err)
	}
	f.CreatedAt = at(created)
	return f, nil
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
	var r favouriteRow
	favourites := make([]favourite.Favourite, 0, capacityFor(n))
	err := db.read.each(ctx, `
		SELECT card_id, card, coalesce(thread_id, ''), created_at, updated_at FROM favourite
		WHERE user_id = $1 AND agent_id = $2 AND (created_at, card_id) < ($3, $4)
		ORDER BY created_at DESC, card_id DESC LIMIT $5 + 0`,
		args{userID, agentID, created, cardID, n}, r.dest(), func() error {
			favourites = append(favourites, r.value())
			return nil
		})
	if err != nil {
		return nil, fail("list favourites", "agent", err)
	}
	return favourites, nil
}

// DeleteFavourite removes a favourite.
func (db *DB) DeleteFavourite(ctx context.Context, userID, agentID, cardID string) error {
	n, err := db.exec(ctx, `DELETE FROM favourite WHERE user_id = $1 AND agent_id = $2 AND card_id = $3`,
		userID, agentID, cardID)
	return requireRow("delete favourite", "favourite", n, err)
}
