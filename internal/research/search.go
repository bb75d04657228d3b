package research

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"carrel/internal/core"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/task"
)

const (
	// searchTimeout is the timeout of one search.
	searchTimeout = 8 * time.Second
	// hitsPerSearch is the number of results requested from each search.
	hitsPerSearch = 20
	// fusion is the constant of reciprocal rank fusion: the higher, the smaller the lead of the first places.
	fusion = 60
)

// lookup is one search.
type lookup struct {
	Text string `json:"text"`
	// Source is the id of the only source to search; empty means all.
	Source   string `json:"source,omitempty"`
	FromYear int    `json:"fromYear,omitempty"`
	ToYear   int    `json:"toYear,omitempty"`
}

// place is a found passage.
type place struct {
	DocumentID string  `json:"documentId"`
	SourceID   string  `json:"sourceId"`
	Start      int     `json:"start"`
	End        int     `json:"end"`
	Score      float64 `json:"score"`
	// Keys identify the work across records of it; see keysOf.
	Keys []string `json:"keys,omitempty"`
}

// problem describes an incomplete search. Source is a name, or empty.
type problem struct {
	Source string `json:"source,omitempty"`
	Detail string `json:"detail"`
}

// found is the result of the searches of a turn, best first. It implements quote.Statistics.
type found struct {
	Places   []place   `json:"places,omitempty"`
	Problems []problem `json:"problems,omitempty"`
	// Total and Held are the term statistics of the question.
	Total int            `json:"total,omitempty"`
	Held  map[string]int `json:"held,omitempty"`
	// Corrected is the text that was searched instead of a misspelt question.
	Corrected string `json:"corrected,omitempty"`
	// Searches counts the searches, and Failed those that failed.
	Searches int `json:"searches"`
	Failed   int `json:"failed,omitempty"`
	// Error is the failure of the last failed search.
	Error *failure `json:"error,omitempty"`
}

// Units implements quote.Statistics.
func (f *found) Units() int { return f.Total }

// Holders implements quote.Statistics.
func (f *found) Holders(term string) int { return f.Held[term] }

// search runs the lookups of a round concurrently, adds the results to earlier rounds and returns the new
// places.
func (t *turn) search(ctx context.Context, lookups []lookup) ([]place, error) {
	label := searchLabel(t.ready.Sources, lookups)
	round, err := step(ctx, t, "search", label, func(ctx context.Context, _ *task.Step) (found, error) {
		return t.find(ctx, lookups)
	})
	if err != nil {
		return nil, err
	}
	return t.found.add(round), nil
}

func searchLabel(sources []knownSource, lookups []lookup) string {
	n := map[string]bool{}
	for _, l := range lookups {
		if l.Source == "" {
			return "Searching " + count(len(sources), "source")
		}
		n[l.Source] = true
	}
	return "Searching " + count(len(n), "source")
}

// find runs all lookups concurrently and merges their results.
func (t *turn) find(ctx context.Context, lookups []lookup) (found, error) {
	results, err := t.runLookups(ctx, lookups)
	if err != nil {
		return found{}, err
	}
	return t.merge(ctx, lookups, results), nil
}

// lookupResult is the result of one lookup.
type lookupResult struct {
	found source.Found
	err   error
}

// maxConcurrentLookups limits the searches of a turn that run at once.
const maxConcurrentLookups = 12

// runLookups runs lookups concurrently. It fails only if the turn is stopped.
func (t *turn) runLookups(ctx context.Context, lookups []lookup) ([]lookupResult, error) {
	if t.ofDocuments() {
		return t.lookUpInDocuments(ctx, lookups)
	}
	results := make([]lookupResult, len(lookups))
	if !t.q.Scope.Empty() && len(t.ready.Sources) == 0 {
		return results, nil // the sources were deleted since the question was sent
	}
	buyer := source.Buyer{UserID: t.q.UserID, AgentID: t.q.AgentID, TurnID: t.run.Task().ID}
	var group errgroup.Group
	group.SetLimit(maxConcurrentLookups)
	for i, l := range lookups {
		group.Go(func() error {
			q := search.Query{Text: l.Text, FromYear: l.FromYear, ToYear: l.ToYear, Limit: hitsPerSearch}
			switch {
			case l.Source != "":
				q.Sources = []string{l.Source}
			case !t.q.Scope.Empty():
				q.Sources = t.ready.sourceIDs()
			}
			results[i].found, results[i].err = t.lookUp(ctx, buyer, q)
			return nil
		})
	}
	_ = group.Wait() // the goroutines return no errors
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return results, nil
}

// unavailablePause is the pause between two attempts to reach the search service.
const unavailablePause = time.Second

// lookUp runs one lookup. While the search service is not available, it tries again until the rest of the time is
// needed for the answer: the service may be back in a moment, and an answer without documents would be worth little.
func (t *turn) lookUp(ctx context.Context, buyer source.Buyer, q search.Query) (source.Found, error) {
	for {
		limited, cancel := context.WithTimeout(ctx, searchTimeout)
		found, err := t.Search.Find(limited, buyer, q)
		cancel()
		if err == nil || !errors.Is(err, search.ErrUnavailable) || t.mustAnswerNow() {
			return found, err
		}
		select {
		case <-ctx.Done():
			return found, err
		case <-time.After(unavailablePause):
		}
	}
}

// merge merges the results of lookups. The first lookup of a turn is the question.
func (t *turn) merge(ctx context.Context, lookups []lookup, results []lookupResult) found {
	out := found{Searches: len(lookups)}
	ranks := newRankFusion(len(lookups) > 1)
	for i, l := range lookups {
		if err := results[i].err; err != nil {
			t.Log.WarnContext(ctx, "search failed", "turn", t.run.Task().ID, "error", err)
			out.fail(t.ready.source(l.Source).Name, err)
			continue
		}
		out.note(t.ready, results[i].found)
		for rank, h := range results[i].found.Cards {
			ranks.add(rank, h)
			if h.Document.Text != "" {
				t.documents[h.Document.ID] = h.Document
			}
		}
	}
	out.Places = ranks.places()
	if t.found.Searches == 0 {
		out.Places = append(t.known(out.Places), out.Places...)
		out.Corrected = results[0].found.Corrected
		t.count(ctx, &out)
	}
	return out
}

// known returns the documents cited in the previous answer, if the question refers back to it, unless the search found
// them. They may not contain any word of the question.
func (t *turn) known(places []place) []place {
	var out []place
	if !t.query.PointsBack() {
		return nil
	}
	last, _ := t.ready.lastQuestion()
	for _, c := range last.Cited {
		p := place{DocumentID: c.DocumentID, SourceID: c.SourceID}
		if c.DocumentID != "" && t.inScope(c.DocumentID, c.SourceID) && !slices.ContainsFunc(places, p.same) {
			out = append(out, p)
		}
	}
	return out
}

// count adds the term statistics of the question and of the sections of a report. Without them, the found
// passages serve as statistics.
func (t *turn) count(ctx context.Context, f *found) {
	s, err := t.termStatistics(ctx, t.ready, f.Corrected+" "+t.query.Text+t.sectionWords, f.Places)
	if err != nil {
		t.Log.WarnContext(ctx, "count the words of a question", "turn", t.run.Task().ID, "error", err)
		return
	}
	f.Total, f.Held = s.Passages, s.Holders
}

// fail records a failed search.
func (f *found) fail(name string, err error) {
	f.Failed++
	e := failureOf(err)
	if errors.Is(err, context.DeadlineExceeded) {
		e = failure{
			Kind: core.KindTimeout, Code: "unavailable",
			Detail: fmt.Sprintf("The search took longer than %d seconds.", int(searchTimeout.Seconds())),
		}
	}
	f.Error = &e
	f.warn(problem{Source: name, Detail: e.Detail})
}

// note records the warnings of a search.
func (f *found) note(known prepared, answer source.Found) {
	for _, w := range answer.Warnings {
		if w.Code == source.WarnWordsOnly && len(answer.Cards) > 0 {
			continue // of other wordings of the question
		}
		name := ""
		if w.SourceID != "" {
			name = known.source(w.SourceID).Name
		}
		f.warn(problem{Source: name, Detail: w.Detail})
	}
}

func (f *found) warn(p problem) {
	if !slices.Contains(f.Problems, p) {
		f.Problems = append(f.Problems, p)
	}
}

// add adds the results of a round, and returns the places that are new.
func (f *found) add(round found) []place {
	var fresh []place
	for _, p := range round.Places {
		if !slices.ContainsFunc(f.Places, p.same) {
			fresh = append(fresh, p)
		}
	}
	f.Places = append(f.Places, fresh...)
	for _, p := range round.Problems {
		f.warn(p)
	}
	if f.Total == 0 {
		f.Total, f.Held, f.Corrected = round.Total, round.Held, round.Corrected
	}
	f.Searches += round.Searches
	f.Failed += round.Failed
	if round.Error != nil {
		f.Error = round.Error
	}
	return fresh
}

// rankFusion merges ranked lists: the score of a document is the sum over its ranks in all lists.
type rankFusion struct {
	several bool
	merged  []place
}

func newRankFusion(several bool) *rankFusion { return &rankFusion{several: several} }

// add adds the hit at a rank of a list. The first list with a document determines its passage.
func (f *rankFusion) add(rank int, h source.Card) {
	p := place{
		DocumentID: h.Document.ID, SourceID: h.Document.SourceID, Start: h.Snippet.Start, End: h.Snippet.End,
		Score: h.Score, Keys: keysOf(h.Document),
	}
	if f.several {
		p.Score = 1 / float64(fusion+rank+1)
	}
	if at := slices.IndexFunc(f.merged, p.same); at >= 0 {
		if f.several && f.merged[at].DocumentID == p.DocumentID {
			f.merged[at].Score += p.Score
		}
		return
	}
	f.merged = append(f.merged, p)
}

func (f *rankFusion) places() []place {
	slices.SortStableFunc(f.merged, func(a, b place) int { return cmp.Compare(b.Score, a.Score) })
	return f.merged
}

// same reports whether two places belong to the same work.
func (p place) same(other place) bool {
	return p.DocumentID == other.DocumentID ||
		slices.ContainsFunc(p.Keys, func(k string) bool { return slices.Contains(other.Keys, k) })
}

// keysOf returns keys that records of the same work share: DOI, URL and content hash.
func keysOf(d source.Document) []string {
	var keys []string
	if doi := strings.ToLower(strings.TrimSpace(d.DOI)); doi != "" {
		for _, prefix := range []string{
			"https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "http://dx.doi.org/", "doi:",
		} {
			doi = strings.TrimPrefix(doi, prefix)
		}
		keys = append(keys, "doi:"+strings.TrimSpace(doi))
	}
	if u, err := url.Parse(strings.TrimSpace(d.URL)); err == nil && u.Host != "" {
		keys = append(keys, "url:"+strings.ToLower(u.Host)+strings.TrimRight(u.EscapedPath(), "/")+"?"+u.RawQuery)
	}
	if len(d.Hash) > 0 {
		keys = append(keys, fmt.Sprintf("hash:%x", d.Hash))
	}
	return keys
}
