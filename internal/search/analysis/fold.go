package analysis

import (
	"iter"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Word is a run of letters and digits in folded form, or a single character of a script that is written without
// spaces. Start and end are code point offsets into the text as it was given, whatever folding did to lengths.
type Word struct {
	Folded     []byte // valid until the next word
	Start, End int
	Unspaced   bool
	follows    bool // stands right after another unspaced character: the two make a bigram
}

// splitter cuts a text into words. It folds while it reads (NFKD, lower case, accents dropped) one code point of
// the original at a time, so that every word knows the very code points it came from.
type splitter struct {
	Word
	open     bool // a word is being read
	wide     bool // the word holds more than ASCII and may need composing
	stopped  bool // the consumer has had enough
	composed []byte
	yield    func(Word) bool
}

// words yields the words of the text in order. Only one text can be read at a time.
func (s *splitter) words(text string) iter.Seq[Word] {
	return func(yield func(Word) bool) {
		*s = splitter{Word: Word{Folded: s.Folded[:0]}, composed: s.composed, yield: yield}
		at := 0
		for i, r := range text {
			switch {
			case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
				s.letter(r, at)
			case 'A' <= r && r <= 'Z':
				s.letter(r+'a'-'A', at)
			case r < utf8.RuneSelf:
				s.flush()
			default:
				s.decompose(text[i:], r, at)
			}
			if s.stopped {
				return
			}
			at++
		}
		s.flush()
	}
}

// decompose reads one code point beyond ASCII, the first of rest, through its compatibility decomposition.
// A Hangul syllable has none in the tables and stays whole, which is the form that bigrams want.
func (s *splitter) decompose(rest string, r rune, at int) {
	if r == utf8.RuneError {
		s.flush()
		return
	}
	parts := norm.NFKD.PropertiesString(rest).Decomposition()
	if parts == nil {
		s.fold(r, at)
		return
	}
	// A symbol or number that only decomposes to letters or digits is a word of its own: "Smith²" holds "smith" and
	// "Carrel™" holds "carrel". Subscripts are part of a formula: "CO₂" is found by "co2".
	apart := !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !isSubscript(r)
	if apart {
		s.flush()
	}
	for len(parts) > 0 {
		part, size := utf8.DecodeRune(parts)
		s.fold(part, at)
		parts = parts[size:]
	}
	if apart {
		s.flush()
	}
}

// fold reads one decomposed code point.
func (s *splitter) fold(r rune, at int) {
	switch {
	case unicode.IsMark(r):
		s.mark(r, at)
	case isIgnorable(r):
		// Neither part of a word nor the end of one.
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.Is(unicode.Han, r):
		s.letter(unicode.ToLower(r), at)
	default:
		s.flush()
	}
}

// letter adds a lower-case letter or digit to the word that is being read, or begins one.
func (s *splitter) letter(r rune, at int) {
	unspaced := isUnspaced(r)
	switch {
	case unspaced && s.open && s.Unspaced && isTrailingJamo(r):
		// Completes the syllable that is open.
	case unspaced:
		follows := s.open && s.Unspaced
		s.flush()
		s.begin(at, true, follows)
	case !s.open || s.Unspaced:
		s.flush()
		s.begin(at, false, false)
	}
	if r < utf8.RuneSelf {
		s.Folded = append(s.Folded, byte(r))
	} else if plain := plainLetters[r]; plain != "" {
		s.Folded = append(s.Folded, plain...)
	} else {
		s.Folded = utf8.AppendRune(s.Folded, r)
		s.wide = true
	}
	s.End = at + 1
}

// mark reads a combining mark. It belongs to the word before it even where its sign is dropped, so that a
// highlight covers the accent together with its letter.
func (s *splitter) mark(r rune, at int) {
	if !s.open {
		return
	}
	if !isAccent(r) {
		s.Folded = utf8.AppendRune(s.Folded, r)
		s.wide = true
	}
	s.End = at + 1
}

func (s *splitter) begin(at int, unspaced, follows bool) {
	s.Word = Word{Folded: s.Folded[:0], Start: at, Unspaced: unspaced, follows: follows}
	s.open, s.wide = true, false
}

// flush hands out the word that is open, if one is, in composed form: the marks that were kept may have been
// written apart from their letter or in another order.
func (s *splitter) flush() {
	if !s.open {
		return
	}
	s.open = false
	w := s.Word
	if s.wide && !norm.NFC.IsNormal(w.Folded) {
		s.composed = norm.NFC.Append(s.composed[:0], w.Folded...)
		w.Folded = s.composed
	}
	if !s.stopped && !s.yield(w) {
		s.stopped = true
	}
}

// plainLetters are the letters that readers of English type without their stroke or ligature, though Unicode
// does not decompose them, and the Greek sigma that changes at the end of a word.
var plainLetters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'þ': "th", 'ł': "l", 'ħ': "h", 'ı': "i", 'ς': "σ",
}

// accentScripts are those in which a word is the same word without its nonspacing marks. In others, Devanagari
// say, such marks are vowels and stay. Inherited holds the accents of Latin, Greek and most of Arabic.
var accentScripts = []*unicode.RangeTable{unicode.Inherited, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Cyrillic}

// isAccent reports whether a mark is dropped. The two voicing marks of kana make other syllables and are kept.
func isAccent(mark rune) bool {
	return mark != '\u3099' && mark != '\u309a' && unicode.In(mark, accentScripts...)
}

var unspacedScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// isUnspaced reports whether a letter is of a script whose words are not set apart by spaces, and so is read in
// bigrams. (Korean has spaces, but glues its particles to the words.)
func isUnspaced(r rune) bool {
	const firstThai, kanaLengthMark = '\u0e00', 'ー'
	return r >= firstThai && (r == kanaLengthMark || unicode.In(r, unspacedScripts...))
}

// isTrailingJamo reports whether r is a vowel or final consonant that completes a decomposed Hangul syllable.
func isTrailingJamo(r rune) bool { return '\u1160' <= r && r <= '\u11ff' }

func isSubscript(r rune) bool { return '₀' <= r && r <= '₉' }

// isIgnorable reports whether r is invisible inside a word: soft hyphens, joiners, direction marks, and the bar
// that stretches Arabic words. The zero-width space is none of these; it parts words.
func isIgnorable(r rune) bool {
	const zeroWidthSpace, tatweel = '\u200b', '\u0640'
	return r == tatweel || r != zeroWidthSpace && unicode.Is(unicode.Cf, r)
}

// IsUnspaced reports whether a letter is of a script whose words are not set apart by spaces.
func IsUnspaced(r rune) bool { return isUnspaced(r) }

// BetweenCharacters reports whether a text may be cut between two code points: not within what a reader sees as
// one character.
func BetweenCharacters(before, after rune) bool {
	const zeroWidthJoiner = '\u200d'
	isSkinTone := '\U0001f3fb' <= after && after <= '\U0001f3ff'
	return before != zeroWidthJoiner && after != zeroWidthJoiner && !isSkinTone && !unicode.IsMark(after) && !isTrailingJamo(after)
}
