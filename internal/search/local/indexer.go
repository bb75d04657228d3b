package local

import (
	"cmp"
	"slices"
	"sync"

	"carrel/internal/language"
	"carrel/internal/processor"
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
	encoder   *search.Encoder // computes embeddings, or nil
	model     string
	dims      int
	document  segment.Document
	texts     [][]string // terms of the units, reused
	fields    []string   // terms of the title and the authors of a document, reused
	passages  []passage  // of the documents that are being added, reused
}

// passage is a part of a document that becomes a unit of the segment.
type passage struct {
	text     string
	embedded string // text that the encoder embeds, or ""
	vector   []float32
	cell     string // term of the vector's cell, or ""
}

func newIndexer(encoder *search.Encoder) *indexer {
	return &indexer{
		analysers: make(map[string]*analysis.Analyser), encoder: encoder,
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
			Model: in.model, Dims: in.dims, Bits: segment.FourBits, Surface: in.surface, Words: expectedWords(puts),
		})
	}
	in.model, in.dims = "", 0
	for _, c := range slices.Backward(puts) {
		if v := c.Document.Vectors; v != nil && v.Dims > 0 {
			in.model, in.dims = v.Model, v.Dims
			break
		}
	}
	return segment.NewBuilder(segment.Options{
		Model: in.model, Dims: in.dims, Surface: in.surface, Words: expectedWords(puts),
	})
}

// expectedWords estimates the number of words in the documents.
func expectedWords(puts []*search.Change) int {
	const perWord = 6 // bytes, with the space
	size := 0
	for _, c := range puts {
		size += len(c.Document.Title) + len(c.Document.Text)
	}
	return size / perWord
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

// add adds the first of the documents to the builder and returns their number. The vectors of many passages are
// computed at once, before any terms: the tables of both would displace each other in the processor's cache.
func (in *indexer) add(b *segment.Builder, puts []*search.Change) int {
	const enough = 128
	clear(in.passages)
	in.passages = in.passages[:0]
	var ends []int
	for len(ends) < len(puts) && len(in.passages) < enough {
		in.split(&puts[len(ends)].Document)
		ends = append(ends, len(in.passages))
	}
	in.embed()
	first := 0
	for i, end := range ends {
		in.addDocument(b, puts[i], in.passages[first:end])
		first = end
	}
	return len(ends)
}

// split appends the passages of a document.
func (in *indexer) split(doc *search.Document) {
	for i, text := range analysis.PassageTexts(doc.Text) {
		p := passage{text: text}
		switch v := doc.Vectors; {
		case in.encoder.Covers(doc.Language):
			p.embedded = search.Passage(doc.Title, text)
		case in.encoder == nil && v != nil && v.Model == in.model && i < len(v.Passages) && len(v.Passages[i]) == in.dims:
			p.vector = v.Passages[i]
		}
		in.passages = append(in.passages, p)
	}
}

// embed computes the vectors of the passages.
func (in *indexer) embed() {
	if in.encoder == nil {
		return
	}
	var texts []string
	for _, p := range in.passages {
		if p.embedded != "" {
			texts = append(texts, p.embedded)
		}
	}
	vectors := in.encoder.Embed(texts)
	for i := range in.passages {
		p := &in.passages[i]
		if p.embedded == "" {
			continue
		}
		p.vector, vectors = vectors[0], vectors[1:]
		if len(p.vector) == rank.CellDims {
			p.cell = rank.CellTerm(p.vector)
		}
	}
}

func (in *indexer) addDocument(b *segment.Builder, c *search.Change, passages []passage) {
	doc := &c.Document
	a := in.analyser(doc.Language)
	out := &in.document
	*out = segment.Document{
		ID: doc.ID, SourceID: doc.SourceID, Seq: c.Seq, Year: doc.Year, Units: out.Units[:0],
		TitleKey: query.TitleKey(a, doc.Title), DOIKey: query.DOIKey(doc.DOI),
	}
	in.fields = a.AppendNameTerms(in.fields[:0], doc.Title)
	title := in.fields
	for i, author := range doc.Authors {
		if i > 0 {
			in.fields = append(in.fields, "") // keeps phrases from spanning two names
		}
		in.fields = a.AppendNameTerms(in.fields, author)
	}
	authors := in.fields[len(title):]
	for i, p := range passages {
		if i == len(in.texts) {
			in.texts = append(in.texts, nil)
		}
		in.texts[i] = a.AppendTextTerms(in.texts[i][:0], p.text)
		unit := segment.Unit{Title: title, Authors: authors, Text: in.texts[i], Vector: p.vector}
		if p.cell != "" {
			// The names of authors do not count towards the length of a unit, and have no proximity scores.
			first := len(in.fields)
			in.fields = append(append(in.fields, authors...), "", p.cell)
			unit.Authors = in.fields[first:]
		}
		out.Units = append(out.Units, unit)
	}
	b.Add(out)
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
	if len(x.free) < processor.Slots() {
		x.free = append(x.free, in)
	}
}
