package opensearch

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"carrel/internal/language"
	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/search/local/segment"
	"carrel/internal/search/query"
	"carrel/internal/search/scoring"
)

// document is the form in which documents are indexed; see indexBody.
type document struct {
	Seq      uint64    `json:"seq"`
	Source   string    `json:"src"`
	Year     int       `json:"year,omitempty"`
	TitleKey string    `json:"tkey,omitempty"`
	DOIKey   string    `json:"doi,omitempty"`
	Title    string    `json:"title"`
	Authors  []string  `json:"author,omitempty"`
	Words    string    `json:"words"`
	Vectors  string    `json:"vec,omitempty"`
	Passages []passage `json:"p"`
}

// passage is a passage of a document.
type passage struct {
	Number int    `json:"n"`
	Length int    `json:"len"`
	Names  string `json:"all"` // terms of title and authors; those of the text are copied there by the mapping
	Text   string `json:"text"`
}

// maxTerm is the length of the longest term that is indexed as it is; the tokenizer splits tokens of 255 characters. A
// longer one is indexed by its hash.
const maxTerm = 200

// token returns the token of a term.
func token(term string) string {
	switch {
	case term == "":
		return gap
	case len(term) > maxTerm:
		return "#" + strconv.FormatUint(xxhash.Sum64String(term), 16)
	}
	return term
}

func tokens(terms []string) string {
	var out strings.Builder
	for i, term := range terms {
		if i > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(token(term))
	}
	return out.String()
}

// indexer converts documents. It is not safe for concurrent use.
type indexer struct {
	analysers map[string]*analysis.Analyser
	encoder   *search.Encoder
}

// analyser returns the analyser of a language. All unknown codes share that of the default language.
func (in *indexer) analyser(code string) *analysis.Analyser {
	code = language.LookupOrDefault(code).Code
	a := in.analysers[code]
	if a == nil {
		a = analysis.New(code)
		in.analysers[code] = a
	}
	return a
}

// indexers is a pool of indexers, whose analysers cache stems.
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
		return &indexer{analysers: make(map[string]*analysis.Analyser), encoder: x.encoder}
	}
	in := x.free[n-1]
	x.free = x.free[:n-1]
	return in
}

func (x *indexers) give(in *indexer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	const kept = 4
	if len(x.free) < kept {
		x.free = append(x.free, in)
	}
}

// convert returns the indexed form of a document.
func (in *indexer) convert(c *search.Change) document {
	doc := &c.Document
	a := in.analyser(doc.Language)
	title := a.AppendNameTerms(nil, doc.Title)
	out := document{
		Seq: c.Seq, Source: doc.SourceID, Title: tokens(title),
		TitleKey: key(query.TitleKey(a, doc.Title)), DOIKey: key(query.DOIKey(doc.DOI)),
	}
	if doc.Year > 0 && doc.Year <= 9999 {
		out.Year = doc.Year
	}
	names := slices.Repeat(title, scoring.TitleWeight)
	for _, author := range doc.Authors {
		// A name is split at positions without a term, so that phrases do not span them.
		for _, part := range splitAtGaps(a.AppendNameTerms(nil, author)) {
			out.Authors = append(out.Authors, tokens(part))
			names = append(names, part...)
		}
	}
	all := tokens(slices.DeleteFunc(names, func(term string) bool { return term == "" }))
	length := scoring.TitleWeight * words(title)
	texts := analysis.PassageTexts(doc.Text)
	for i, text := range texts {
		terms := a.AppendTextTerms(nil, text)
		out.Passages = append(out.Passages, passage{
			Number: i, Length: length + words(terms), Names: all, Text: tokens(terms),
		})
	}
	out.Words = spelt(a, doc)
	out.Vectors = packVectors(in.vectors(doc, texts))
	return out
}

// key returns the indexed form of a hash, "" for none.
func key(hash uint64) string {
	if hash == 0 {
		return ""
	}
	return strconv.FormatUint(hash, 16)
}

func splitAtGaps(terms []string) [][]string {
	var out [][]string
	for len(terms) > 0 {
		end := slices.Index(terms, "")
		if end < 0 {
			return append(out, terms)
		}
		if end > 0 {
			out = append(out, terms[:end])
		}
		terms = terms[end+1:]
	}
	return out
}

// words counts the terms that contribute to the length of a passage: neither gaps nor marked stop words.
func words(terms []string) int {
	n := 0
	for _, term := range terms {
		if term != "" && !strings.HasPrefix(term, analysis.StopMark) {
			n++
		}
	}
	return n
}

// spelt returns the distinct words of a document that a misspelt word may be corrected to.
func spelt(a *analysis.Analyser, doc *search.Document) string {
	const shortest, longest = 4, 30
	seen := make(map[string]bool)
	for _, text := range append([]string{doc.Title, doc.Text}, doc.Authors...) {
		for w := range a.Words(text) {
			if n := utf8.RuneCount(w.Folded); !w.Unspaced && n >= shortest && n <= longest && !seen[string(w.Folded)] {
				seen[string(w.Folded)] = true
			}
		}
	}
	out := make([]string, 0, len(seen))
	for word := range seen {
		out = append(out, word)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// vectors returns the embeddings of the passages, with nil for a passage without one, or nil for none at all.
func (in *indexer) vectors(doc *search.Document, texts []string) [][]float32 {
	if in.encoder == nil {
		if doc.Vectors == nil {
			return nil
		}
		return doc.Vectors.Passages
	}
	if !in.encoder.Covers(doc.Language) {
		return nil
	}
	embedded := make([]string, len(texts))
	for i, text := range texts {
		embedded[i] = search.Passage(doc.Title, text)
	}
	return in.encoder.Embed(embedded)
}

// packVectors returns embeddings in 8 bits a value as base64: for each passage its number of values, its scale and its
// values. A passage without an embedding has no values.
func packVectors(vectors [][]float32) string {
	var out []byte
	found := false
	for _, v := range vectors {
		_, values, scale := segment.Quantise(v, segment.EightBits, nil, nil)
		if scale == 0 {
			values = nil
		}
		found = found || len(values) > 0
		out = binary.LittleEndian.AppendUint16(out, uint16(len(values)))
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(scale))
		out = append(out, values...)
	}
	if !found {
		return ""
	}
	return base64.StdEncoding.EncodeToString(out)
}

// nearest returns the highest product of a document's embeddings with that of the query, NaN if there is none with as
// many values.
func nearest(packed string, query []float32) float64 {
	data, err := base64.StdEncoding.DecodeString(packed)
	best := math.NaN()
	if err != nil {
		return best
	}
	const head = 6
	for len(data) >= head {
		n := int(binary.LittleEndian.Uint16(data))
		scale := float64(math.Float32frombits(binary.LittleEndian.Uint32(data[2:])))
		data = data[head:]
		if n > len(data) {
			break
		}
		if n == len(query) && n > 0 {
			sum := 0.0
			for i, b := range data[:n] {
				sum += float64(int8(b)) * float64(query[i])
			}
			if math.IsNaN(best) || sum*scale > best {
				best = sum * scale
			}
		}
		data = data[n:]
	}
	return best
}

// bulk is the body of bulk requests, cut into parts of about maxBulk bytes.
type bulk struct {
	parts [][]byte
	open  bytes.Buffer
}

// maxBulk is the size from which a bulk request is sent. Clusters refuse requests above 100 MB.
const maxBulk = 8 << 20

// index adds the write of a document under an external version: the cluster ignores it if it holds a newer version.
func (b *bulk) index(id string, version uint64, body any) error {
	return b.add(object{"index": object{"_id": id, "version": version, "version_type": "external"}}, body)
}

func (b *bulk) add(action, body any) error {
	encoder := json.NewEncoder(&b.open)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(action); err != nil {
		return fmt.Errorf("encode a bulk request: %w", err)
	}
	if body != nil {
		if err := encoder.Encode(body); err != nil {
			return fmt.Errorf("encode a bulk request: %w", err)
		}
	}
	if b.open.Len() >= maxBulk {
		b.cut()
	}
	return nil
}

func (b *bulk) cut() {
	if b.open.Len() > 0 {
		b.parts = append(b.parts, bytes.Clone(b.open.Bytes()))
		b.open.Reset()
	}
}

// latest returns the changes that are the last of their document, and the deletions of sources, of a span.
func latest(changes []search.Change) (documents []*search.Change, drops map[string]uint64) {
	last := make(map[string]uint64, len(changes))
	drops = make(map[string]uint64)
	for i := range changes {
		c := &changes[i]
		if c.Op == search.Drop {
			drops[c.ID] = max(drops[c.ID], c.Seq)
		} else {
			last[c.ID] = max(last[c.ID], c.Seq)
		}
	}
	for i := range changes {
		if c := &changes[i]; c.Op != search.Drop && last[c.ID] == c.Seq {
			documents = append(documents, c)
		}
	}
	slices.SortFunc(documents, func(x, y *search.Change) int { return cmp.Compare(x.Seq, y.Seq) })
	return documents, drops
}
