package audit

import (
	"context"
	"strconv"

	"carrel/internal/core"
)

// List returns up to limit entries with a Seq below before, newest first. 0 starts with the newest. An empty userID
// selects the entries of all users. The operator's command uses it, so there is no access check.
func (l *Log) List(ctx context.Context, userID string, before int64, limit int) ([]Entry, error) {
	return l.store.Audit(ctx, userID, before, limit)
}

// Own returns one page of the entries of the actor's account, newest first, and the next cursor.
func (l *Log) Own(ctx context.Context, actor core.Actor, p core.Page) ([]Entry, string, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return nil, "", err
	}
	return l.page(ctx, actor.UserID, p)
}

// All returns one page of the entries of a user, or of all users if userID is empty, to an administrator.
func (l *Log) All(ctx context.Context, actor core.Actor, userID string, p core.Page) ([]Entry, string, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return nil, "", err
	}
	return l.page(ctx, userID, p)
}

func (l *Log) page(ctx context.Context, userID string, p core.Page) ([]Entry, string, error) {
	rows, err := p.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	before, err := decodeCursor(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	entries, err := l.store.Audit(ctx, userID, before, rows+1)
	if err != nil || len(entries) <= rows {
		return entries, "", err
	}
	return entries[:rows], core.EncodeCursor("audit", strconv.FormatInt(entries[rows-1].Seq, 10)), nil
}

// decodeCursor returns the Seq that the page ends before, or 0 for the first page.
func decodeCursor(cursor string) (int64, error) {
	parts, err := core.DecodeCursor("audit", cursor, 1)
	if parts == nil || err != nil {
		return 0, err
	}
	seq, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil || seq < 1 {
		return 0, core.BadCursor()
	}
	return seq, nil
}
