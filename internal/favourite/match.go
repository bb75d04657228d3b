package favourite

import (
	"bytes"
	"sync"
	"unicode"

	"github.com/go-faster/jx"
)

// field is where in a card a word was found.
type field uint8

const (
	fieldTitle field = iota
	fieldAuthors
	fieldVenue
	fieldSnippet
	fieldOther
	fieldCount
)

// fieldWeights says how much a word in each field counts.
var fieldWeights = [fieldCount]int{fieldTitle: 4, fieldAuthors: 3, fieldVenue: 2, fieldSnippet: 1, fieldOther: 1}

// maxMatchDepth bounds the recursion into a card. No card of ours nests deeper than three levels; what lies below
// this in others is passed over.
const maxMatchDepth = 64

// Matcher finds cards by words. It is made once per search and may be used by many goroutines.
type Matcher struct {
	terms []term
	// scans holds *scan between cards: a search over thousands of them should not feed the garbage collector.
	scans *sync.Pool
}

// term is one word of a search, folded as the words of cards are.
type term struct {
	word  string
	bytes []byte
	// prefix is set on the last word, which may still be in the middle of being typed.
	prefix bool
	// anywhere is set on words of a script that puts no spaces between words: there, what we take for one word of
	// a card is a whole clause, and the term may stand anywhere in it.
	anywhere bool
}

// NewMatcher returns a matcher for the words of q: a card matches when it holds all of them, the last one perhaps
// only as the beginning of a word. Case, accents and punctuation do not count.
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

// Empty reports whether there is nothing to search for: no text, or punctuation alone. Everything is listed then.
func (m Matcher) Empty() bool { return len(m.terms) == 0 }

// Score returns how well a card matches and whether it does. A word counts once for each field it stands in, by the
// field's weight, and twice that when it stands there whole: a long snippet can't outdo a title by repetition.
// An empty matcher matches every card, with score 0; what is not JSON matches nothing else.
func (m Matcher) Score(card []byte) (score int, ok bool) {
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
	for _, h := range s.hits {
		if h == (hit{}) {
			return 0, false
		}
		score += h.score()
	}
	return score, true
}

// hit holds the fields in which a term was found, a bit for each.
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

// scan is one walk over a card.
type scan struct {
	terms   []term
	hits    []hit
	decoder jx.Decoder
	folder  folder
	text    []byte
	folded  []byte
}

// value takes the words of every string in a JSON value. What stands anywhere below a field counts for that field,
// so authors may be strings or objects.
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
			// The year is the one number that people search by ("turing 1950").
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

// nextWord returns the first word of a folded text and what follows it; no word is nil.
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

// unspaced reports whether a character belongs to a script that is written without spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
