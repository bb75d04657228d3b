package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"carrel/internal/search"
)

// indexLife is how long the progress of a silent node is kept.
const indexLife = time.Hour

// SetNodeIndex records that a node's index contains every change up to this one. Nodes repeat it as a heartbeat, even
// without changes.
func (db *DB) SetNodeIndex(ctx context.Context, node string, through uint64) error {
	clock, a := db.leaseClock(args{node, int64(through)})
	old, oldArgs := db.leaseClock(args{indexLife.Milliseconds()})
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if _, err := tx.exec(ctx, `DELETE FROM search_index WHERE updated_at < `+old+` - $1`, oldArgs...); err != nil {
			return err
		}
		_, err := tx.exec(ctx, `
			INSERT INTO search_index (node, seq, updated_at) VALUES ($1, $2, `+clock+`)
			ON CONFLICT (node) DO UPDATE SET seq = excluded.seq, updated_at = excluded.updated_at`, a...)
		return err
	})
	return fail("record the index progress", "node", err)
}

// NodeIndexes returns the indexes of nodes with a heartbeat within this duration, sorted by node.
func (db *DB) NodeIndexes(ctx context.Context, within time.Duration) ([]search.NodeIndex, error) {
	clock, a := db.leaseClock(args{within.Milliseconds()})
	indexes := []search.NodeIndex{}
	var n search.NodeIndex
	var seq int64
	err := db.read.each(ctx, `SELECT node, seq FROM search_index WHERE updated_at >= `+clock+` - $1`, a,
		[]any{&n.Node, &seq}, func() error {
			n.Through = uint64(seq)
			indexes = append(indexes, n)
			return nil
		})
	if err != nil {
		return nil, fail("list the nodes' indexes", "node", err)
	}
	slices.SortFunc(indexes, func(a, b search.NodeIndex) int { return strings.Compare(a.Node, b.Node) })
	return indexes, nil
}

// DeleteNodeIndex removes a node's index progress, so that readers stop waiting for it.
func (db *DB) DeleteNodeIndex(ctx context.Context, node string) error {
	_, err := db.exec(ctx, `DELETE FROM search_index WHERE node = $1`, node)
	return fail("delete a node's index progress", "node", err)
}
