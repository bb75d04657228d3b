package analysis

import (
	"iter"
	"strings"

	"github.com/blevesearch/snowballstem"

	"carrel/internal/language"
)

// StopMark begins the term of an indexed stop word. Stop words are indexed in titles and names of authors only.
const StopMark = "\x01"

// Token is a term with its code point offsets in the text, the end exclusive. The term of a stop word is the folded
// word, or the accented one in a language whose terms keep accents.
type Token struct {
	Term       string
	Start, End int
	Stop       bool
	// Plain is the folded word in a language whose terms keep their accents, and empty in others.
	Plain string
}

// Analyser turns texts of one language into terms. It caches stems, so one analyser should be used for many texts. It
// is not safe for concurrent use.
type Analyser struct {
	code     string
	latin    *reader // for words in Latin letters
	splitter splitter
	known    knownWords
	surfaces map[string]string // shortest word of each term
	marked   map[string]string // maps stop words to their indexed terms
	pair     []byte            // the last unspaced character, and then the next one, which form a bigram
}

// Limits of the cache. Longer words are data rather than language: they are neither stemmed nor cached.
const (
	maxKnown     = 3 << 15 // a table of 8 MB
	maxKnownWord = 64
)

// New returns an analyser for texts in a language. An unknown code is analysed as the default language.
func New(code string) *Analyser {
	l := language.LookupOrDefault(code)
	a := &Analyser{
		code: l.Code, latin: readers[l.Code], surfaces: make(map[string]string), marked: make(map[string]string),
	}
	a.splitter.dotless = l.DotlessI
	if !l.Latin() {
		a.latin = readers[language.Default]
	}
	return a
}

// Language returns the code of the language.
func (a *Analyser) Language() string { return a.code }

// Words yields the folded words of the text in order. They do not depend on the language.
func (a *Analyser) Words(text string) iter.Seq[Word] { return a.splitter.words(text) }

// Tokens yields all tokens of the text, including stop words, in order.
func (a *Analyser) Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		// The last unspaced character is kept in a.pair until the next one is read. One without a neighbour is a term.
		var last Token
		alone := false
		more := true
		a.splitter.split(text, func(w *Word) bool {
			switch {
			case w.follows:
				size := len(a.pair)
				a.pair = append(a.pair, w.Folded...)
				more = yield(a.look(a.pair, nil).token(last.Start, w.End))
				a.pair = append(a.pair[:0], a.pair[size:]...)
				last, alone = Token{Start: w.Start, End: w.End}, false
				return more
			case alone:
				more = yield(a.look(a.pair, nil).token(last.Start, last.End))
			}
			alone = w.Unspaced
			if alone {
				a.pair = append(a.pair[:0], w.Folded...)
				last = Token{Start: w.Start, End: w.End}
				return more
			}
			more = more && yield(a.look(w.Folded, w.accented).token(w.Start, w.End))
			return more
		})
		if alone && more {
			yield(a.look(a.pair, nil).token(last.Start, last.End))
		}
	}
}

func (e entry) token(start, end int) Token {
	return Token{Term: e.term, Start: start, End: end, Stop: e.stop, Plain: e.plain}
}

// look returns the entry of a word, from the cache if possible. Accented is nil if the word has no accents.
func (a *Analyser) look(folded, accented []byte) entry {
	word := folded
	if accented != nil {
		word = accented
	}
	if e := a.known.find(word); e != nil {
		return *e
	}
	if len(word) > maxKnownWord {
		return entry{term: string(folded)}
	}
	if a.known.len() == maxKnown {
		a.known.clear()
		clear(a.surfaces)
	}
	key := string(word)
	plain := key
	if accented != nil {
		plain = string(folded)
	}
	e := a.read(plain, key)
	if strings.HasPrefix(key, e.term) {
		e.term = key[:len(e.term)] // the bytes are in the processor's cache after a look at the key
	}
	a.known.add(key, e)
	if e.plain == "" && e.term != plain {
		if known := a.surfaces[e.term]; known == "" || len(plain) < len(known) {
			a.surfaces[e.term] = plain
		}
	}
	return e
}

// Surface returns a readable word for a term, such as "retrieval" for "retriev": the shortest cached word with that
// term, in folded form, or else the term.
func (a *Analyser) Surface(term string) string {
	word := a.surfaces[term]
	if word == "" {
		return term
	}
	if known := a.known.find([]byte(term)); known != nil && known.term == term {
		return term
	}
	return word
}

// read computes the entry of a word.
func (a *Analyser) read(folded, word string) entry {
	r := readerOf(word, a.latin)
	if r.KeepsAccents {
		return r.accented(folded, word)
	}
	if r.stops()[folded] {
		return entry{term: folded, stop: true}
	}
	if r.Stem == nil {
		return entry{term: folded}
	}
	if r.FoldsBeforeStemming {
		if r.Latin() && !isASCII(folded) { // not a word of the language
			return entry{term: folded}
		}
		return entry{term: r.stem(folded)}
	}
	if r.Respell != nil {
		word = r.Respell(word)
	}
	// A stemmer may leave nothing of a word that is all suffix.
	if term := fold(r.stem(word)); term != "" {
		return entry{term: term}
	}
	return entry{term: folded}
}

// accented returns the entry of a word in a language that keeps accents.
func (r *reader) accented(folded, word string) entry {
	return entry{term: word, plain: folded, stop: r.stops()[word]}
}

func (r *reader) stem(word string) string {
	env := snowballstem.NewEnv(word)
	r.Stem(env)
	return env.Current()
}

// fold returns the folded form of a word.
func fold(word string) string {
	var s splitter
	for w := range s.words(word) {
		return string(w.Folded)
	}
	return ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
