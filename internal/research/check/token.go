package check

import (
	"strings"
	"sync"
	"unicode"

	"carrel/internal/language"
	"carrel/internal/research/quote"
	"carrel/internal/search/analysis"
)

// kind is the kind of a token.
type kind uint8

const (
	word       kind = iota
	number          // in digits or words, with its unit
	ordinal         // 3rd, third
	date            // a day, month or year
	identifier      // letters with digits: CK-666, RFC 9110
)

// gap is a set of characters before a token.
type gap uint16

const (
	comma  gap = 1 << iota
	clause     // semicolon, colon or dash
	stop       // end of a sentence
	opened     // opening bracket
	closed     // closing bracket
	hyphen     // joined to the token before it
	slash
	period // a full stop that may belong to an ordinal or an abbreviation
	quotation
	dash
)

// token is a word, quantity, date or identifier of a text.
type token struct {
	start, end int    // code points of the text
	fold       string // lower case
	term       string // stem
	kind       kind
	before     gap
	capital    bool // begins with a capital letter
	acronym    bool // has at least two capital letters
	dotted     bool // an acronym with full stops
	owner      bool // possessive: Iceland's
	common     bool // a stop word of the language
	initial    bool // first of its sentence
	name       bool
	sentence   int
	entry      entry // what the lexicon says
	value      quantity
}

// reader reads texts of one language into tokens. It is not safe for concurrent use.
type reader struct {
	code     string
	analyser *analysis.Analyser
	lexicon  *lexicon // empty for languages without word lists
	language *language.Language
	comma    bool // the comma is the decimal separator
	runes    []rune
	terms    []analysis.Token
	raw      []token // of the last scan
}

// readers holds idle readers by language, "" for unknown ones. Their analysers cache stems.
var readers = func() map[string]*sync.Pool {
	out := make(map[string]*sync.Pool)
	for _, code := range append(language.Codes(), "") {
		out[code] = &sync.Pool{New: func() any {
			r := &reader{code: code, analyser: analysis.New(code), lexicon: lexiconOf(code), language: language.Lookup(code)}
			r.comma = code != "" && code != "en"
			return r
		}}
	}
	return out
}()

// newReader returns a reader for texts in a language. It must be released.
func newReader(code string) *reader {
	if language.Lookup(code) == nil {
		code = ""
	}
	return readers[code].Get().(*reader)
}

func (r *reader) release() { readers[r.code].Put(r) }

// read returns the tokens of a text.
func (r *reader) read(text string) []token {
	r.runes = r.runes[:0]
	for _, c := range text {
		r.runes = append(r.runes, c)
	}
	r.terms = r.terms[:0]
	for t := range r.analyser.Tokens(text) {
		r.terms = append(r.terms, t)
	}
	tokens := r.combine(r.scan())
	r.split(text, tokens)
	r.names(tokens)
	return tokens
}

// scan returns the words, numbers in digits, and identifiers of the text.
func (r *reader) scan() []token {
	out := r.raw[:0]
	var before gap
	next := 0 // of r.terms
	for i := 0; i < len(r.runes); {
		c := r.runes[i]
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && symbols[c] == "" {
			before |= r.gapOf(i)
			i++
			continue
		}
		for next < len(r.terms) && r.terms[next].Start < i {
			next++
		}
		t := token{start: i, before: before}
		before = 0
		switch {
		case unicode.IsDigit(c):
			i = r.digits(&t, i)
		case unicode.IsLetter(c):
			i = r.letters(&t, i)
		default:
			t.fold, t.end = symbols[c], i+1
			i++
		}
		if t.kind == word && !t.dotted && next < len(r.terms) && r.terms[next].Start < t.end {
			t.term, t.common = r.terms[next].Term, r.terms[next].Stop
			if unspaced := r.terms[next]; unspaced.End < t.end && analysis.IsUnspaced(c) {
				t.end = unspaced.End
				t.fold = string(r.runes[t.start:t.end])
				i = max(t.start+1, t.end-1)
				if next+1 >= len(r.terms) || r.terms[next+1].Start >= t.end {
					i = t.end
				}
			}
		}
		if t.term == "" {
			t.term = t.fold
		}
		out = append(out, t)
	}
	r.raw = out
	return out
}

// symbols are characters that stand for words.
var symbols = map[rune]string{
	'%': "%", '‰': "‰", '$': "$", '€': "€", '£': "£", '¥': "¥", '°': "°", '½': "half", '¼': "quarter", '¾': "¾", '&': "&",
}

// gapOf returns the meaning of the punctuation at i.
func (r *reader) gapOf(i int) gap {
	switch r.runes[i] {
	case ',', '،', '、', '，':
		return comma
	case ';', ':', '：', '；', '…':
		return clause
	case '–', '—':
		return dash
	case '-', '‐', '‑', '−':
		if i > 0 && i+1 < len(r.runes) && isWordRune(r.runes[i-1]) && isWordRune(r.runes[i+1]) {
			return hyphen
		}
		return dash
	case '(', '[', '{':
		return opened
	case ')', ']', '}':
		return closed
	case '/':
		return slash
	case '"', '“', '”', '„', '«', '»', '‘', '\'', '’', '`':
		return quotation
	case '.':
		return period
	}
	return 0
}

func isWordRune(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// letters reads a word or an identifier that begins with a letter, and returns its end.
func (r *reader) letters(t *token, from int) int {
	if end := r.dotted(from); end > 0 {
		t.end, t.capital, t.acronym, t.dotted = end, true, true, true
		t.fold = identifierKey(string(r.runes[from:end]))
		return end
	}
	i, digits, capitals := from, 0, 0
	for i < len(r.runes) {
		c := r.runes[i]
		switch {
		case unicode.IsDigit(c) || '₀' <= c && c <= '₉':
			digits++
		case unicode.IsUpper(c):
			capitals++
		case c == '_':
		case isHyphen(c) && i+1 < len(r.runes) && (unicode.IsDigit(r.runes[i+1]) || digits > 0 && isWordRune(r.runes[i+1])):
			// CK-666 is one identifier, and pre-synaptic two words.
		case !unicode.IsLetter(c) && !unicode.IsMark(c):
			return r.endWord(t, from, i, digits, capitals)
		}
		i++
	}
	return r.endWord(t, from, i, digits, capitals)
}

// dotted returns the end of an acronym with full stops, such as U.S., or 0.
func (r *reader) dotted(from int) int {
	i, n := from, 0
	for i+1 < len(r.runes) && unicode.IsUpper(r.runes[i]) && r.runes[i+1] == '.' {
		i += 2
		n++
	}
	if n < 2 {
		return 0
	}
	return i
}

func (r *reader) endWord(t *token, from, i, digits, capitals int) int {
	t.end = i
	text := string(r.runes[from:i])
	t.fold = strings.ToLower(text)
	t.capital = unicode.IsUpper(r.runes[from])
	t.acronym = capitals > 1 || capitals == 1 && !t.capital
	if digits > 0 {
		t.kind = identifier
		t.fold = identifierKey(t.fold)
		return i
	}
	// The end of a possessive is not a word, and the n't of a verb is.
	if i+1 < len(r.runes) && isApostrophe(r.runes[i]) && unicode.IsLetter(r.runes[i+1]) {
		end := i + 1
		for end < len(r.runes) && unicode.IsLetter(r.runes[end]) {
			end++
		}
		switch suffix := strings.ToLower(string(r.runes[i+1 : end])); {
		case suffix == "s":
			t.owner = true
			t.end = end
			return end
		case suffix == "t" && strings.HasSuffix(t.fold, "n"):
			t.fold += "'t"
			t.end = end
			return end
		}
	}
	if i < len(r.runes) && isApostrophe(r.runes[i]) && strings.HasSuffix(t.fold, "s") {
		t.owner = true
	}
	return i
}

func isApostrophe(c rune) bool { return c == '\'' || c == '’' }

func isHyphen(c rune) bool { return c == '-' || c == '‐' || c == '‑' }

// identifierKey returns the form in which identifiers are compared: CK-666 is CK666, and RFC 9110 is rfc9110.
func identifierKey(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case '₀' <= c && c <= '₉':
			return c - '₀' + '0'
		case isWordRune(c):
			return unicode.ToLower(c)
		}
		return -1
	}, text)
}

// split sets the sentence of each token.
func (r *reader) split(text string, tokens []token) {
	code := ""
	if r.language != nil {
		code = r.language.Code
	}
	next := 0
	for number, s := range quote.Sentences(text, code) {
		for first := true; next < len(tokens) && tokens[next].start < s.End; next++ {
			t := &tokens[next]
			t.sentence, t.initial = number, first
			if first && number > 0 {
				t.before |= stop
			}
			first = false
		}
	}
}

// names marks the words that are names. A capital letter indicates one inside a sentence, except in languages that
// capitalize nouns. At the beginning of a sentence a word of the lexicon is not a name.
func (r *reader) names(tokens []token) {
	nouns := r.language != nil && r.language.CapitalizesNouns
	for i := range tokens {
		t := &tokens[i]
		if t.kind != word || !t.capital || t.entry.role != 0 || t.entry.neutral {
			continue
		}
		switch {
		case t.acronym:
			t.name = true
		case nouns:
		case t.initial:
			t.name = i+1 < len(tokens) && tokens[i+1].capital && tokens[i+1].before == 0 && !tokens[i+1].initial
		default:
			t.name = len(t.fold) > 1
		}
	}
}
