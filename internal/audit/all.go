package audit

import (
	"context"
	"strconv"

	"carrel/internal/core"
)

// All lists what happened to an account, or to all of them, newest first, and returns the cursor of the next page.
func (l *Log) All(ctx context.Context, actor core.Actor, userID string, p core.Page) ([]Entry, string, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
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
	entries, err := l.store.Audit(ctx, userID, before, rows+1)
	if err != nil || len(entries) <= rows {
		return entries, "", err
	}
	return entries[:rows], core.EncodeCursor("audit", strconv.FormatInt(entries[rows-1].Seq, 10)), nil
}
