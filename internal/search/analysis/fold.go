package analysis

import (
	"iter"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Word is a run of letters and digits in folded form, or a single character of a script without spaces. Start and End
// are code point offsets in the original text.
type Word struct {
	Folded     []byte // valid until the next word
	Start, End int
	Unspaced   bool
	follows    bool   // directly follows another unspaced character, with which it forms a bigram
	accented   []byte // the word in lower case with accents, or nil if folding dropped none
}

// splitter splits a text into words. It folds (NFKD, lower case, accents dropped) one code point at a time, so that the
// offsets of words refer to the original text. The function that receives the words is passed on rather than stored, so
// that it needs no memory of its own.
type splitter struct {
	Word
	open     bool // a word is being read
	loose    bool // the word holds marks or parts of syllables and may need composing
	lost     bool // folding dropped an accent; buffer holds the accented word
	stopped  bool // the consumer has stopped
	dotless  bool // the lower case of I is ı, as in Turkish
	buffer   []byte
	composed [2][]byte
}

// words yields the words of the text in order. A splitter reads one text at a time.
func (s *splitter) words(text string) iter.Seq[Word] {
	return func(yield func(Word) bool) {
		s.split(text, func(w *Word) bool { return yield(*w) })
	}
}

func (s *splitter) split(text string, yield func(*Word) bool) {
	s.Word = Word{Folded: s.Folded[:0]}
	s.open, s.stopped = false, false
	for i, at := 0, 0; i < len(text) && !s.stopped; at++ {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(text[i:])
			s.beyondASCII(text[i:i+size], r, at, yield)
			i += size
			continue
		case lower[c] == 0:
			if s.open {
				s.flush(yield)
			}
		case s.dotless && c == 'I':
			s.letter('ı', 'ı', at, yield)
		case s.open:
			s.letter(rune(lower[c]), rune(lower[c]), at, yield)
		default:
			// Most words are pure ASCII, and are read in one step.
			n := s.run(text[i:], at)
			i, at = i+n, at+n-1
			continue
		}
		i++
	}
	s.flush(yield)
}

// run begins a word with the ASCII letters and digits at the start of the text, and returns their number.
func (s *splitter) run(text string, at int) int {
	s.begin(at, false, false)
	n := 0
	for n < len(text) && lower[text[n]] != 0 && (!s.dotless || text[n] != 'I') {
		s.Folded = append(s.Folded, lower[text[n]])
		n++
	}
	s.End = at + n
	return n
}

// lower maps ASCII letters and digits to lower case, and other bytes to 0.
var lower = func() (table [256]byte) {
	for c := byte('a'); c <= 'z'; c++ {
		table[c], table[c-'a'+'A'] = c, c
	}
	for c := byte('0'); c <= '9'; c++ {
		table[c] = c
	}
	return table
}()

// beyondASCII reads the code point r, encoded as given.
func (s *splitter) beyondASCII(encoded string, r rune, at int, yield func(*Word) bool) {
	switch {
	// Frequent letters without a decomposition need no table lookup.
	case 'а' <= r && r <= 'я' && r != 'й', isHanOrHangul(r):
		s.letter(r, r, at, yield)
		return
	case 'А' <= r && r <= 'Я' && r != 'Й':
		s.letter(r+'а'-'А', r+'а'-'А', at, yield)
		return
	case r == utf8.RuneError:
		s.flush(yield)
		return
	}
	parts := norm.NFKD.PropertiesString(encoded).Decomposition()
	if parts == nil {
		s.fold(r, at, yield)
		return
	}
	if base, ok := accentedLetter(parts); ok {
		s.letter(unicode.ToLower(base), unicode.ToLower(r), at, yield)
		return
	}
	// A symbol or number that decomposes to letters or digits is a separate word: "Smith²" holds "smith" and "Carrel™"
	// holds "carrel". Subscripts are part of a formula: "CO₂" is found by "co2".
	apart := !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !isSubscript(r)
	if apart {
		s.flush(yield)
	}
	for len(parts) > 0 {
		part, size := utf8.DecodeRune(parts)
		s.fold(part, at, yield)
		parts = parts[size:]
	}
	if apart {
		s.flush(yield)
	}
}

// accentedLetter returns the letter of a decomposition into one letter and accents.
func accentedLetter(parts []byte) (rune, bool) {
	base, size := utf8.DecodeRune(parts)
	if size == len(parts) || lower[parts[0]] == 0 && !unicode.IsLetter(base) {
		return 0, false
	}
	for size < len(parts) {
		mark, n := utf8.DecodeRune(parts[size:])
		if !isAccent(mark) {
			return 0, false
		}
		size += n
	}
	return base, true
}

// fold reads one decomposed code point.
func (s *splitter) fold(r rune, at int, yield func(*Word) bool) {
	switch {
	case unicode.IsMark(r):
		s.mark(r, at)
	case isIgnorable(r):
		// Neither part of a word nor its end.
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.Is(unicode.Han, r):
		r = unicode.ToLower(r)
		s.letter(r, r, at, yield)
	default:
		s.flush(yield)
	}
}

// letter adds a lower-case letter or digit to the current word, or begins a word. Accented is the letter with its
// accents.
func (s *splitter) letter(r, accented rune, at int, yield func(*Word) bool) {
	unspaced := IsUnspaced(r)
	switch {
	case unspaced && s.open && s.Unspaced && isTrailingJamo(r):
		// Completes the open syllable.
		s.loose = true
	case unspaced:
		follows := s.open && s.Unspaced
		s.flush(yield)
		s.begin(at, true, follows)
	case !s.open || s.Unspaced:
		s.flush(yield)
		s.begin(at, false, false)
	}
	switch plain := plainLetter(r); {
	case plain != "":
		s.lose(accented)
		s.Folded = append(s.Folded, plain...)
	case r != accented:
		s.lose(accented)
		s.Folded = utf8.AppendRune(s.Folded, r)
	default:
		s.keep(r)
	}
	s.End = at + 1
}

// mark reads a combining mark. It belongs to the word before it even if it is dropped, so that a highlight covers the
// accent.
func (s *splitter) mark(r rune, at int) {
	if !s.open {
		return
	}
	switch {
	case r == dotAbove && s.Folded[len(s.Folded)-1] == 'i':
		// The rest of the capital İ, whose lower case has a dot.
	case isAccent(r):
		s.lose(r)
	default:
		s.keep(r)
	}
	s.loose = true
	s.End = at + 1
}

// keep adds a code point to the word.
func (s *splitter) keep(r rune) {
	s.Folded = utf8.AppendRune(s.Folded, r)
	if s.lost {
		s.buffer = utf8.AppendRune(s.buffer, r)
	}
}

// lose adds a code point to the accented form only.
func (s *splitter) lose(r rune) {
	if !s.lost {
		s.lost = true
		s.buffer = append(s.buffer[:0], s.Folded...)
	}
	s.buffer = utf8.AppendRune(s.buffer, r)
}

func (s *splitter) begin(at int, unspaced, follows bool) {
	s.Word = Word{Folded: s.Folded[:0], Start: at, Unspaced: unspaced, follows: follows}
	s.open, s.loose, s.lost = true, false, false
}

// flush yields the open word, if there is one, in composed form, because its marks may have been written separately or
// in another order.
func (s *splitter) flush(yield func(*Word) bool) {
	if !s.open {
		return
	}
	s.open = false
	if s.stopped {
		return
	}
	plain := s.Folded
	if s.loose {
		s.Folded = s.compose(0, plain)
	}
	if s.lost {
		s.accented = s.buffer
		if s.loose {
			s.accented = s.compose(1, s.buffer)
		}
	}
	s.stopped = !yield(&s.Word)
	s.Folded = plain // reused for the next word
}

func (s *splitter) compose(buffer int, word []byte) []byte {
	if norm.NFC.IsNormal(word) {
		return word
	}
	s.composed[buffer] = norm.NFC.Append(s.composed[buffer][:0], word...)
	return s.composed[buffer]
}

// plainLetter returns the ASCII spelling of a letter with a stroke or of a ligature that Unicode does not decompose,
// and the usual form of the final Greek sigma; "" for any other letter.
func plainLetter(r rune) string {
	switch r {
	case 'ß':
		return "ss"
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'ø':
		return "o"
	case 'đ', 'ð':
		return "d"
	case 'þ':
		return "th"
	case 'ł':
		return "l"
	case 'ħ':
		return "h"
	case 'ı':
		return "i"
	case 'ς':
		return "σ"
	}
	return ""
}

// accentScripts are the scripts in which nonspacing marks can be dropped without changing the word. In others, such as
// Devanagari, they are vowels. Inherited holds the accents of Latin, Greek and most of Arabic.
var accentScripts = []*unicode.RangeTable{
	unicode.Inherited, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Cyrillic,
}

const dotAbove = '\u0307'

// isAccent reports whether a mark is dropped. The two voicing marks of kana change the syllable and are kept.
func isAccent(mark rune) bool {
	if '\u0300' <= mark && mark <= '\u036f' {
		return true
	}
	return unicode.IsMark(mark) && mark != '\u3099' && mark != '\u309a' && unicode.In(mark, accentScripts...)
}
