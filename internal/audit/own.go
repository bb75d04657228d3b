package audit

import (
	"context"
	"strconv"

	"carrel/internal/core"
)

// Own lists what happened to the actor's account, newest first, and returns the cursor of the next page.
func (l *Log) Own(ctx context.Context, actor core.Actor, p core.Page) ([]Entry, string, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return nil, "", err
	}
	rows, err := p.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	before, err := seqOf(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	entries, err := l.store.Audit(ctx, actor.UserID, before, rows+1)
	if err != nil || len(entries) <= rows {
		return entries, "", err
	}
	return entries[:rows], core.EncodeCursor("audit", strconv.FormatInt(entries[rows-1].Seq, 10)), nil
}

// seqOf reads where a page begins; 0 is the newest entry.
func seqOf(cursor string) (int64, error) {
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
