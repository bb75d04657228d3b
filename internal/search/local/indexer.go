package local

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"carrel/internal/language"
	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/search/local/rank"
	"carrel/internal/search/local/segment"
	"carrel/internal/search/query"
)

// indexer converts documents into the form of a segment. It reuses its analysers, which cache stems, and its slices; it
// is not safe for concurrent use.
type indexer struct {
	analysers map[string]*analysis.Analyser
	marked    map[string]string // maps stop words to their indexed terms
	encoder   *search.Encoder   // computes embeddings, or nil
	model     string
	dims      int
	document  segment.Document
	texts     [][]string // terms of the units, reused
}

func newIndexer(encoder *search.Encoder) *indexer {
	return &indexer{
		analysers: make(map[string]*analysis.Analyser), marked: make(map[string]string), encoder: encoder,
	}
}

// analyser returns the analyser of a language. All unknown codes share the analyser of the
// default language.
func (in *indexer) analyser(code string) *analysis.Analyser {
	code = language.LookupOrDefault(code).Code
	a := in.analysers[code]
	if a == nil {
		a = analysis.New(code)
		in.analysers[code] = a
	}
	return a
}

// begin returns a builder for the documents. A segment holds vectors of one model: the encoder's, or else the model of
// the last document with vectors, because older models are being replaced.
func (in *indexer) begin(puts []*search.Change) *segment.Builder {
	if in.encoder != nil {
		in.model, in.dims = in.encoder.Model, in.encoder.Dims
		return segment.NewBuilder(segment.Options{
			Model: in.model, Dims: in.dims, Bits: segment.FourBits, Surface: in.surface,
		})
	}
	in.model, in.dims = "", 0
	for _, c := range slices.Backward(puts) {
		if v := c.Document.Vectors; v != nil && v.Dims > 0 {
			in.model, in.dims = v.Model, v.Dims
			break
		}
	}
	return segment.NewBuilder(segment.Options{Model: in.model, Dims: in.dims, Surface: in.surface})
}

// surface returns a readable word for a term, or "" if the term is readable itself. With several languages it returns
// the shortest word, or the first in alphabetical order.
func (in *indexer) surface(term string) string {
	best := ""
	for _, a := range in.analysers {
		word := a.Surface(term)
		if word != term && (best == "" || cmp.Or(cmp.Compare(len(word), len(best)), cmp.Compare(word, best)) < 0) {
			best = word
		}
	}
	return best
}

// add adds a document to the builder.
func (in *indexer) add(b *segment.Builder, c *search.Change) {
	doc := &c.Document
	a := in.analyser(doc.Language)
	out := &in.document
	*out = segment.Document{
		ID: doc.ID, SourceID: doc.SourceID, Seq: c.Seq, Year: doc.Year, Units: out.Units[:0],
		TitleKey: query.TitleKey(a, doc.Title), DOIKey: query.DOIKey(doc.DOI),
	}
	title := in.names(nil, a, doc.Title)
	var authors []string
	for i, author := range doc.Authors {
		if i > 0 {
			authors = append(authors, "") // keeps phrases from spanning two names
		}
		authors = in.names(authors, a, author)
	}
	for i, text := range analysis.PassageTexts(doc.Text) {
		if i == len(in.texts) {
			in.texts = append(in.texts, nil)
		}
		in.texts[i] = terms(in.texts[i][:0], a, text)
		unit := segment.Unit{Title: title, Authors: authors, Text: in.texts[i], Vector: in.vector(doc, text, i)}
		if in.encoder != nil && len(unit.Vector) == rank.CellDims {
			// The names of authors do not count towards the length of a unit, and have no proximity scores.
			unit.Authors = append(slices.Clip(authors), "", rank.CellTerm(unit.Vector))
		}
		out.Units = append(out.Units, unit)
	}
	b.Add(out)
}

// names appends the terms of a title or of an author's name. Stop words are indexed there under marked terms, so that
// "The Who" can be found.
func (in *indexer) names(out []string, a *analysis.Analyser, text string) []string {
	var extra analysis.Extra
	for token := range a.Tokens(text) {
		extra.Add(token)
		term := token.Term
		if token.Stop {
			mark, ok := in.marked[term]
			if !ok {
				mark = analysis.StopMark + term
				in.marked[term] = mark
			}
			term = mark
		}
		out = append(out, term)
	}
	return appendExtra(out, extra)
}

// terms appends the terms of a text. Stop words are not indexed but keep their position.
func terms(out []string, a *analysis.Analyser, text string) []string {
	var extra analysis.Extra
	for token := range a.Tokens(text) {
		extra.Add(token)
		if token.Stop {
			out = append(out, "")
		} else {
			out = append(out, token.Term)
		}
	}
	return appendExtra(out, extra)
}

// appendExtra appends the extra terms after a gap, which keeps phrases from spanning both.
func appendExtra(out []string, extra analysis.Extra) []string {
	if len(extra.Terms) == 0 {
		return out
	}
	return append(append(out, ""), extra.Terms...)
}

// vector returns the embedding of a unit, or nil if there is none of the segment's model and size.
func (in *indexer) vector(doc *search.Document, text string, unit int) []float32 {
	if in.encoder != nil {
		if !in.encoder.Covers(doc.Language) {
			return nil
		}
		return in.encoder.Embed(search.Passage(doc.Title, text))
	}
	v := doc.Vectors
	if v == nil || v.Model != in.model || unit >= len(v.Passages) || len(v.Passages[unit]) != in.dims {
		return nil
	}
	return v.Passages[unit]
}

// indexers is a pool of indexers, one per core at most.
type indexers struct {
	encoder *search.Encoder

	mu   sync.Mutex
	free []*indexer
}

func (x *indexers) take() *indexer {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := len(x.free)
	if n == 0 {
		return newIndexer(x.encoder)
	}
	in := x.free[n-1]
	x.free = x.free[:n-1]
	return in
}

func (x *indexers) give(in *indexer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.free) < runtime.GOMAXPROCS(0) {
		x.free = append(x.free, in)
	}
}
