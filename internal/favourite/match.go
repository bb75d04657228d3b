package favourite

import (
	"bytes"
	"sync"
	"unicode"

	"github.com/go-faster/jx"
)

// field is a part of a card in which a word was found.
type field uint8

const (
	fieldTitle field = iota
	fieldAuthors
	fieldVenue
	fieldSnippet
	fieldOther
	fieldCount
)

// fieldWeights are the scores of a word per field.
var fieldWeights = [fieldCount]int{fieldTitle: 4, fieldAuthors: 3, fieldVenue: 2, fieldSnippet: 1, fieldOther: 1}

// maxMatchDepth limits the recursion into a card. Carrel's own cards have at most three levels; deeper values of
// others are ignored.
const maxMatchDepth = 64

// Matcher finds cards by words. It is safe for concurrent use.
type Matcher struct {
	terms []term
	// scans pools *scan values, because a search over thousands of cards should not burden the garbage collector.
	scans *sync.Pool
}

// term is a folded word of the query.
type term struct {
	word  string
	bytes []byte
	// prefix is set for the last word, which may be incomplete.
	prefix bool
	// anywhere is set for words of scripts without spaces: there, a word of a card is a whole clause, and the term
	// may occur anywhere in it.
	anywhere bool
}

// NewMatcher returns a matcher for the words of q. A card matches if it contains all of them, the last one possibly
// as a prefix. Case, accents and punctuation are ignored.
func NewMatcher(q string) Matcher {
	var m Matcher
	folded := []byte(fold(q))
	for word, rest := nextWord(folded); word != nil; word, rest = nextWord(rest) {
		m.terms = append(m.terms, term{word: string(word), bytes: word, anywhere: bytes.ContainsFunc(word, unspaced)})
	}
	n := len(m.terms)
	if n > 0 {
		m.terms[n-1].prefix = true
	}
	m.scans = &sync.Pool{New: func() any { return &scan{terms: m.terms, hits: make([]hit, n)} }}
	return m
}

// Empty reports whether the query has no words. All cards are listed then.
func (m Matcher) Empty() bool { return len(m.terms) == 0 }

// Score returns the score of a card and whether it matches. A word counts once for each field that contains it, by
// the field's weight, and twice for a whole word, so that a long snippet can't outweigh a title by repetition. An
// empty matcher matches every card with score 0; otherwise invalid JSON does not match. The words of more, the tags and
// the note, count as another field of the card.
func (m Matcher) Score(card []byte, more ...string) (score int, ok bool) {
	if m.Empty() {
		return 0, true
	}
	s := m.scans.Get().(*scan)
	defer m.scans.Put(s)
	clear(s.hits)
	s.decoder.ResetBytes(card)
	if err := s.value(&s.decoder, fieldOther, 0); err != nil {
		return 0, false
	}
	for _, text := range more {
		s.text = append(s.text[:0], text...)
		s.take(fieldOther)
	}
	for _, h := range s.hits {
		if h == (hit{}) {
			return 0, false
		}
		score += h.score()
	}
	return score, true
}

// hit holds the fields that contain a term, as a bit set.
type hit struct {
	whole, part uint8
}

func (h hit) score() int {
	sum := 0
	for f, weight := range fieldWeights {
		switch bit := uint8(1) << f; {
		case h.whole&bit != 0:
			sum += 2 * weight
		case h.part&bit != 0:
			sum += weight
		}
	}
	return sum
}

// scan is one pass over a card.
type scan struct {
	terms   []term
	hits    []hit
	decoder jx.Decoder
	folder  folder
	text    []byte
	folded  []byte
}

// value takes the words of all strings in a JSON value. Nested values count for their field, so authors may be
// strings or objects.
func (s *scan) value(d *jx.Decoder, f field, depth int) error {
	if depth > maxMatchDepth {
		return d.Skip()
	}
	switch d.Next() {
	case jx.String:
		var err error
		if s.text, err = d.StrAppend(s.text[:0]); err != nil {
			return err
		}
		s.take(f)
		return nil
	case jx.Array:
		iter, err := d.ArrIter()
		if err != nil {
			return err
		}
		for iter.Next() {
			if err := s.value(d, f, depth+1); err != nil {
				return err
			}
		}
		return iter.Err()
	case jx.Object:
		return s.object(d, f, depth)
	}
	return d.Skip()
}

func (s *scan) object(d *jx.Decoder, f field, depth int) error {
	iter, err := d.ObjIter()
	if err != nil {
		return err
	}
	for iter.Next() {
		below := f
		if depth == 0 {
			below = fieldOf(iter.Key())
			// The year is the one number that users search for ("turing 1950").
			if string(iter.Key()) == "year" && d.Next() == jx.Number {
				year, err := d.Num()
				if err != nil {
					return err
				}
				s.text = append(s.text[:0], year...)
				s.take(below)
				continue
			}
		}
		if err := s.value(d, below, depth+1); err != nil {
			return err
		}
	}
	return iter.Err()
}

func fieldOf(key []byte) field {
	switch string(key) {
	case "title":
		return fieldTitle
	case "authors":
		return fieldAuthors
	case "venue":
		return fieldVenue
	case "snippet":
		return fieldSnippet
	}
	return fieldOther
}

// take compares every word of the text with every term.
func (s *scan) take(f field) {
	s.folded = s.folder.append(s.folded[:0], s.text)
	for word, rest := nextWord(s.folded); word != nil; word, rest = nextWord(rest) {
		for i := range s.terms {
			switch t := &s.terms[i]; {
			case string(word) == t.word:
				s.hits[i].whole |= 1 << f
			case t.prefix && len(word) > len(t.word) && string(word[:len(t.word)]) == t.word,
				t.anywhere && bytes.Contains(word, t.bytes):
				s.hits[i].part |= 1 << f
			}
		}
	}
}

// nextWord returns the first word of a folded text and the rest, or nil without a word.
func nextWord(folded []byte) (word, rest []byte) {
	folded = bytes.TrimLeft(folded, " ")
	if len(folded) == 0 {
		return nil, nil
	}
	if i := bytes.IndexByte(folded, ' '); i >= 0 {
		return folded[:i], folded[i:]
	}
	return folded, nil
}

// unspaced reports whether a character belongs to a script without spaces between words.
func unspaced(r rune) bool {
	return unicode.In(
		r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
	)
}
