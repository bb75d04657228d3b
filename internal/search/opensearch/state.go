package opensearch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"carrel/internal/search"
)

// state is the content of the state document of an index: which changes the index holds. It is in the index itself, so
// that a deleted index is rebuilt.
type state struct {
	// Covered are the spans of the change log that the index holds, in order and joined.
	Covered []search.Span `json:"covered"`
	// Drops are the latest deletions of sources. An older document that is applied later must not come back.
	Drops map[string]dropped `json:"drops,omitempty"`
	// Purge is set if documents of deleted sources may still be in the files of the index.
	Purge bool `json:"purge,omitempty"`
	// Target is, during a rebuild, the number from which the index replaces the one that serves searches.
	Target uint64 `json:"target,omitempty"`
}

// dropped is the deletion of a source: its number in the change log, and when it was applied.
type dropped struct {
	Seq uint64 `json:"seq"`
	At  int64  `json:"at"` // in milliseconds since 1970
}

// stateID is the id of the state document. Ids of documents have a prefix and an underscore.
const stateID = "state"

// revision identifies a version of the state document.
type revision struct {
	Number int64 `json:"_seq_no"`
	Term   int64 `json:"_primary_term"`
}

// index is an index of the cluster with its state.
type index struct {
	name  string
	model string // that computed the embeddings
	state state
	at    revision
}

func (s *state) clone() state {
	out := *s
	out.Covered = slices.Clone(s.Covered)
	out.Drops = maps.Clone(s.Drops)
	if out.Drops == nil {
		out.Drops = make(map[string]dropped)
	}
	return out
}

// add adds a span.
func (s *state) add(span search.Span) {
	at, _ := slices.BinarySearchFunc(s.Covered, span, func(x, y search.Span) int { return cmp.Compare(x.After, y.After) })
	all := slices.Insert(s.Covered, at, span)
	joined := all[:1]
	for _, next := range all[1:] {
		if last := &joined[len(joined)-1]; last.Touches(next) {
			last.Through = next.Through
		} else {
			joined = append(joined, next)
		}
	}
	s.Covered = joined
}

// covers reports whether the index holds any part of a span.
func (s *state) covers(span search.Span) bool {
	return slices.ContainsFunc(s.Covered, span.Overlaps)
}

// through returns the number up to which the index holds everything.
func (s *state) through() uint64 {
	if len(s.Covered) == 0 || s.Covered[0].After > 0 {
		return 0
	}
	return s.Covered[0].Through
}

// last returns the highest number that the index holds.
func (s *state) last() uint64 {
	if n := len(s.Covered); n > 0 {
		return s.Covered[n-1].Through
	}
	return 0
}

// gaps returns the spans up to head that the index does not hold.
func (s *state) gaps(head uint64) []search.Span {
	var out []search.Span
	at := uint64(0)
	for _, held := range append(slices.Clip(s.Covered), search.Span{After: head, Through: head}) {
		if through := min(held.After, head); at < through {
			out = append(out, search.Span{After: at, Through: through})
		}
		at = max(at, held.Through)
	}
	return out
}

// readState reads the state document of an index.
func (c *client) readState(ctx context.Context, name string) (state, revision, error) {
	var reply struct {
		revision
		Source struct {
			State state `json:"state"`
		} `json:"_source"`
	}
	err := c.do(ctx, http.MethodGet, "/"+name+"/_doc/"+stateID, nil, &reply)
	if hasStatus(err, http.StatusNotFound) {
		return state{}, revision{Number: -1}, nil
	}
	if err != nil {
		return state{}, revision{}, fmt.Errorf("read the state of the search index: %w", err)
	}
	return reply.Source.State, reply.revision, nil
}

// writeState writes the state document if it still has this revision. Another node that indexes at the same time makes
// it fail with status 409.
func (c *client) writeState(ctx context.Context, name string, s state, at revision) (revision, error) {
	path := fmt.Sprintf("/%s/_doc/%s?if_seq_no=%d&if_primary_term=%d", name, stateID, at.Number, at.Term)
	if at.Number < 0 {
		path = fmt.Sprintf("/%s/_create/%s", name, stateID)
	}
	var next revision
	if err := c.do(ctx, http.MethodPut, path, object{"state": s}, &next); err != nil {
		return revision{}, fmt.Errorf("write the state of the search index: %w", err)
	}
	return next, nil
}
