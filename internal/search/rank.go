package search

import (
	"cmp"
	"math"
	"slices"
)

// The parameters of BM25F. A field's weight multiplies its term frequencies and its share of the length.
const (
	bm25K1      = 1.2
	bm25B       = 0.75
	titleWeight = 3
	plainWeight = 1
)

// ranker reads documents one by one and keeps of each no more than scoring needs: which of the query's terms it
// holds how often, and its length. Everything it sums is whole numbers, so the order of documents changes nothing.
type ranker struct {
	analyser *Analyser
	query    query
	matches  []match
	postings []posting
	tally    []int // weighted frequency of each query term in the document being read
	holders  []int // number of documents that hold each query term
	read     int
	length   int // of all documents read
}

// match is a document that holds a term of the query or is named by it.
type match struct {
	id, sourceID string
	year         int
	length       int
	first, last  int // its postings
	isTitle      bool
	isDOI        bool
	score        float64
	strong       bool // worth counting: at least half of the query's IDF mass, or named by the query
}

// posting is the weighted frequency of a query term in a document.
type posting struct {
	term, frequency int
}

func newRanker(text string) *ranker {
	analyser := NewAnalyser()
	query := parseQuery(analyser, text)
	return &ranker{
		analyser: analyser, query: query,
		tally: make([]int, len(query.weights)), holders: make([]int, len(query.weights)),
	}
}

// add reads one document.
func (r *ranker) add(d *Document) {
	// Authors are matched but not measured: a paper by twenty people is not a longer paper.
	length := titleWeight*r.field(d.Title, titleWeight) + plainWeight*r.field(d.Text, plainWeight)
	for _, author := range d.Authors {
		r.field(author, plainWeight)
	}
	r.read++
	r.length += length

	m := match{
		id: d.ID, sourceID: d.SourceID, year: d.Year, length: length, first: len(r.postings),
		isTitle: r.query.isTitle(r.analyser, d.Title), isDOI: r.query.isDOI(d.DOI),
	}
	for term, frequency := range r.tally {
		if frequency > 0 {
			r.postings = append(r.postings, posting{term: term, frequency: frequency})
			r.holders[term]++
		}
	}
	clear(r.tally)
	m.last = len(r.postings)
	if m.last > m.first || m.isTitle || m.isDOI {
		r.matches = append(r.matches, m)
	}
}

// field counts the query's terms in one field of the document and returns the number of its terms.
func (r *ranker) field(text string, weight int) int {
	n := 0
	for token, stop := range r.analyser.tokens(text) {
		// Stop words never add to the length, so a query of stop words sees the same lengths as any other.
		if !stop {
			n++
		}
		if term, ok := r.query.term(token, stop); ok {
			r.tally[term] += weight
		}
	}
	return n
}

// rank scores what was read and returns the matches, best first.
func (r *ranker) rank() []match {
	idfs := make([]float64, len(r.holders))
	mass := 0.0
	for term, holders := range r.holders {
		// A word that no document holds, a slip of the keyboard say, asks nothing of the others.
		if holders > 0 {
			idfs[term] = idf(r.read, holders)
			mass += r.query.weights[term] * idfs[term]
		}
	}
	average := float64(r.length) / float64(r.read)
	for i := range r.matches {
		r.score(&r.matches[i], idfs, mass, average)
	}

	ranked := r.matches
	isDOI := func(m match) bool { return m.isDOI }
	if slices.ContainsFunc(ranked, isDOI) {
		ranked = slices.DeleteFunc(ranked, func(m match) bool { return !m.isDOI })
	}
	slices.SortFunc(ranked, byRank)
	// Scores never rise down the list, so that a client may rely on them: a title match takes at least the score of
	// what it was put before.
	for i := len(ranked) - 2; i >= 0; i-- {
		ranked[i].score = max(ranked[i].score, ranked[i+1].score)
	}
	return ranked
}

func (r *ranker) score(m *match, idfs []float64, mass, average float64) {
	held := 0.0
	for _, p := range r.postings[m.first:m.last] {
		weighted := r.query.weights[p.term] * idfs[p.term]
		held += weighted
		m.score += weighted * saturation(float64(p.frequency), float64(m.length), average)
	}
	// Sums of the same numbers in another order differ in their last bits; half is half all the same.
	const tolerance = 1e-9
	m.strong = m.isTitle || m.isDOI || 2*held >= mass*(1-tolerance)
}

// byRank puts an exact title first, then the higher score, then the lower id.
func byRank(x, y match) int {
	if x.isTitle != y.isTitle {
		if x.isTitle {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.id, y.id))
}

// idf is the weight of a term that this many of the documents hold. It is positive even for one that all hold.
func idf(documents, holders int) float64 {
	n, h := float64(documents), float64(holders)
	return math.Log(1 + (n-h+0.5)/(h+0.5))
}

// saturation is what a term's frequency is worth: each further occurrence adds less, and less in a longer document.
func saturation(frequency, length, average float64) float64 {
	relative := 1.0
	if average > 0 {
		relative = length / average
	}
	return frequency * (bm25K1 + 1) / (frequency + bm25K1*(1-bm25B+bm25B*relative))
}
