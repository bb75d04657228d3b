package opensearch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/search/query"
	"carrel/internal/search/scoring"
	"carrel/internal/search/spelling"
)

// Search returns the documents that match a query. If it finds nothing or only weak matches because of unknown words,
// it tries again with their spelling corrected.
func (e *Engine) Search(ctx context.Context, q search.Query) (search.Result, error) {
	if e.isClosed() {
		return search.Result{}, search.ErrClosed
	}
	limited, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	result, err := e.search(limited, q)
	if isGone(err) {
		result, err = e.search(limited, q) // the index was replaced in the meantime
	}
	if limited.Err() != nil && ctx.Err() == nil {
		return search.Result{}, fmt.Errorf("search: %w: no reply within %v", search.ErrUnavailable, searchTimeout)
	}
	if err != nil {
		return search.Result{}, fmt.Errorf("search: %w", unavailableIfGone(err))
	}
	return result, nil
}

// searchTimeout limits a search, so that a client learns of a cluster that hangs.
const searchTimeout = 15 * time.Second

// isGone reports whether an index was deleted before or during a search.
func isGone(err error) bool {
	return hasStatus(err, http.StatusNotFound)
}

// unavailableIfGone makes the lack of an index count as unavailable: it is created when the cluster is first reached.
func unavailableIfGone(err error) error {
	if isGone(err) {
		return fmt.Errorf("%w: %w", search.ErrUnavailable, err)
	}
	return err
}

func (e *Engine) search(ctx context.Context, q search.Query) (search.Result, error) {
	q.Sources = slices.Compact(slices.Sorted(slices.Values(q.Sources)))
	if len(q.Sources) == 0 {
		return search.Result{}, nil
	}
	found, err := e.answer(ctx, q)
	if err != nil || q.Plain || len(found.Hits) > 0 && !found.weak {
		return found.Result, err
	}
	v := vocabulary{engine: e, sources: q.Sources}
	corrected, err := spelling.Correct(ctx, v, analysis.New(q.Language), q.Text, found.Parsed, found.unknown)
	if err != nil || corrected == "" {
		return found.Result, err
	}
	q.Text = corrected
	better, err := e.answer(ctx, q)
	// The correction counts only if it turns nothing into something, or weak matches into good ones.
	if err != nil || len(better.Hits) == 0 || len(found.Hits) > 0 && better.weak {
		return found.Result, err
	}
	better.Corrected = corrected
	return better.Result, nil
}

// answer is a result, with the terms that no document holds and whether because of them no hit holds at least half of
// the query's weight.
type answer struct {
	search.Result
	unknown []int
	weak    bool
}

// answer searches for a text as it is.
func (e *Engine) answer(ctx context.Context, q search.Query) (answer, error) {
	r, err := e.prepare(ctx, q)
	if err != nil {
		return answer{}, err
	}
	if len(r.terms) == 0 && r.parsed.DOIKey == 0 {
		return answer{Result: search.Result{Parsed: r.parsed}}, nil
	}
	c, err := e.fetch(ctx, r)
	if err != nil {
		return answer{}, err
	}
	out := answer{Result: search.Result{Parsed: r.parsed}, unknown: r.unknown()}
	if len(c.named) > 0 { // a DOI finds only the documents with that DOI
		listed, undated := r.withinYears(c.named)
		out.Facets = r.facets(newTally(), listed, undated)
		out.Hits = hits(listed[:min(len(listed), q.Limit)])
		return out, nil
	}
	r.rerank(c.found)
	out.weak = r.isWeak(c.found)
	out.WordsOnly = r.vector != nil && (out.weak || len(c.found) < q.Limit)
	r.fuse(c.found)
	titled, _ := r.withinYears(c.titled)
	listed := putFirst(titled, c.found)
	listed = listed[:min(len(listed), q.Limit)]
	out.Hits = hits(listed)
	weak := slices.DeleteFunc(slices.Clone(listed), func(c candidate) bool { return c.strong })
	out.Facets = r.facets(c.tally, weak, c.undated)
	return out, nil
}

// request is a prepared query: its terms with their weights in the searched sources.
type request struct {
	search.Query

	parsed query.Parsed
	terms  []term
	vector []float32
	satur  scoring.Saturation
	mass   uint32 // of the terms that some document holds
	units  int    // passages of the sources
}

// prepare parses the query and weighs its terms by the searched sources. Other sources influence only which documents
// are candidates.
func (e *Engine) prepare(ctx context.Context, q search.Query) (*request, error) {
	in := e.indexers.take()
	parsed := query.Parse(in.analyser(q.Language), q.Text)
	e.indexers.give(in)
	r := &request{Query: q, parsed: parsed}
	if len(parsed.Terms) == 0 {
		return r, nil
	}
	// Single Han characters are searched besides pairs only if a passage holds one of the pairs.
	with := parsed.WithCharacters()
	texts := make([]string, len(with.Terms))
	for i, t := range with.Terms {
		texts[i] = t.Text
	}
	counted, err := e.frequencies(ctx, q.Sources, texts)
	if err != nil {
		return nil, err
	}
	for i, t := range with.Terms {
		if _, _, pair := analysis.Pair(t.Text); pair && counted.holders[i] > 0 {
			r.parsed = with
		}
	}
	average := 0.0
	if r.units = counted.passages; r.units > 0 {
		average = counted.length / float64(r.units)
	}
	r.satur = scoring.NewSaturation(average)
	for i, t := range r.parsed.Terms {
		weighed := term{token: token(t.Text), count: t.Count, holders: counted.holders[i]}
		if weighed.holders > 0 {
			weighed.idf = scoring.IDF(r.units, weighed.holders)
			weighed.gain = scoring.Gain(t.Count, weighed.idf)
			weighed.mass = scoring.Mass(t.Count, weighed.idf)
			r.mass += weighed.mass
		}
		r.terms = append(r.terms, weighed)
	}
	r.vector = e.vector(q, r.parsed)
	return r, nil
}

// vector returns the embedding of the query, or nil if the query is ranked by its words alone.
func (e *Engine) vector(q search.Query, parsed query.Parsed) []float32 {
	if q.VectorWeight <= 0 || q.Plain || parsed.Exact() || !e.servesModel() {
		return nil
	}
	if encoder := e.options.Encoder; encoder != nil {
		if !encoder.Covers(q.Language) || !search.HasMeaning(q.Text) {
			return nil
		}
		return encoder.Embed([]string{q.Text})[0]
	}
	if q.Model != e.model {
		return nil
	}
	return q.Vector
}

// servesModel reports whether searches read embeddings of the present model. They do not while the index is rebuilt for
// another model.
func (e *Engine) servesModel() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.serving == nil || e.serving.model == e.model
}

// unknown returns the terms that no passage holds.
func (r *request) unknown() []int {
	var out []int
	for i, t := range r.terms {
		if t.holders == 0 {
			out = append(out, i)
		}
	}
	return out
}

// fetched are the candidates: the best documents by words, and those whose title or DOI is the query. The tally and the
// number of undated documents are of all documents that hold at least half of the query's weight.
type fetched struct {
	found, titled, named []candidate
	tally                tally
	undated              int
}

// fetch sends the query to the cluster.
func (e *Engine) fetch(ctx context.Context, r *request) (fetched, error) {
	requests := []object{r.byWords()}
	if r.parsed.TitleKey != 0 {
		requests = append(requests, r.byKey("tkey", key(r.parsed.TitleKey)))
	}
	if r.parsed.DOIKey != 0 {
		requests = append(requests, r.byKey("doi", key(r.parsed.DOIKey)))
	}
	replies, err := e.searches(ctx, requests)
	if err != nil {
		return fetched{}, err
	}
	counted := &replies[0].Aggregations.Strong
	out := fetched{found: r.candidates(replies[0]), tally: newTally(), undated: counted.Undated.Count}
	for _, b := range counted.Within.Years.Buckets {
		out.tally.years[b.number()] = b.Count
	}
	for _, b := range counted.Within.Sources.Buckets {
		out.tally.sources[b.name()] = b.Count
	}
	if r.parsed.TitleKey != 0 {
		out.titled = r.candidates(replies[1])
	}
	if r.parsed.DOIKey != 0 {
		out.named = r.candidates(replies[len(replies)-1])
	}
	return out, nil
}

// searches sends several searches in one request.
func (e *Engine) searches(ctx context.Context, requests []object) ([]reply, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	for _, r := range requests {
		if err := encoder.Encode(object{"index": e.alias(), "allow_partial_search_results": false}); err != nil {
			return nil, fmt.Errorf("encode a search: %w", err)
		}
		if err := encoder.Encode(r); err != nil {
			return nil, fmt.Errorf("encode a search: %w", err)
		}
	}
	var out struct {
		Responses []reply `json:"responses"`
	}
	err := e.client.send(ctx, http.MethodPost, "/_msearch", "application/x-ndjson", body.Bytes(), &out)
	if err != nil {
		return nil, err
	}
	for _, r := range out.Responses {
		if r.Status >= http.StatusBadRequest {
			return nil, r.Error.of(r.Status)
		}
	}
	if len(out.Responses) != len(requests) {
		return nil, fmt.Errorf("OpenSearch answered %d of %d searches", len(out.Responses), len(requests))
	}
	return out.Responses, nil
}

// withinYears returns the candidates within the bounds of the query, and the number of those without a year that are
// not.
func (r *request) withinYears(all []candidate) (within []candidate, undated int) {
	for _, c := range all {
		switch {
		case r.Covers(c.year):
			within = append(within, c)
		case c.year == 0:
			undated++
		}
	}
	return within, undated
}

// tally counts documents by year and source.
type tally struct {
	years   map[int]int
	sources map[string]int
}

func newTally() tally { return tally{years: make(map[int]int), sources: make(map[string]int)} }

// facets returns the counts of a query: those of the tally, and further documents.
func (r *request) facets(t tally, further []candidate, undated int) search.Facets {
	var out search.Facets
	if r.Bounded() {
		out.UndatedExcluded = undated
	}
	if !r.Facets {
		return out
	}
	for _, c := range further {
		t.years[c.year]++
		t.sources[c.source]++
	}
	for _, year := range slices.Sorted(maps.Keys(t.years)) {
		if year != 0 {
			out.Years = append(out.Years, search.YearCount{Year: year, Count: t.years[year]})
		}
	}
	for _, source := range slices.Sorted(maps.Keys(t.sources)) {
		out.Total += t.sources[source]
		out.Sources = append(out.Sources, search.SourceCount{SourceID: source, Count: t.sources[source]})
	}
	return out
}

// hits converts candidates to hits. Scores never increase down the list, so that clients can rely on them: a document
// that is named by the query gets at least the score of the next.
func hits(listed []candidate) []search.Hit {
	out := make([]search.Hit, len(listed))
	least := scoring.Points(0)
	for i, c := range slices.Backward(listed) {
		least = max(least, c.score)
		out[i] = search.Hit{ID: c.id, SourceID: c.source, Passage: c.passage, Score: least.Float()}
	}
	return out
}

// compare sorts candidates: named ones first, then by descending score, then by source and age.
func compare(x, y candidate) int {
	if x.named != y.named {
		if x.named {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.source, y.source), cmp.Compare(x.seq, y.seq))
}
