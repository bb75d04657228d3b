package analysis

import (
	"iter"

	"github.com/blevesearch/snowballstem"

	"carrel/internal/language"
)

// StopMark begins the term under which a stop word is indexed where it is at all: in titles and the names of authors.
const StopMark = "\x01"

// Token is a term and where it stands in the text: code point offsets, the end exclusive. The term of a stop word is
// the folded word.
type Token struct {
	Term       string
	Start, End int
	Stop       bool
}

// Analyser turns texts of one language into terms. It remembers the stems it has made, so use one for many texts, in
// one goroutine at a time.
type Analyser struct {
	code     string
	latin    *reader // of words in Latin letters
	splitter splitter
	known    map[string]entry
	surfaces map[string]string // terms to the shortest word they were made of
	pair     []byte            // the last unspaced character, and after it the one it makes a bigram with
}

// entry is what the analyser knows of a word.
type entry struct {
	term string
	stop bool
}

// Bounds of the analyser's memory. Longer words are data rather than language: they are neither stemmed nor kept.
const (
	maxKnown     = 1 << 17
	maxKnownWord = 64
)

// New returns an analyser for texts in a language. An unknown code is analysed as the default language.
func New(code string) *Analyser {
	l := language.LookupOrDefault(code)
	a := &Analyser{code: l.Code, latin: readers[l.Code], known: make(map[string]entry), surfaces: make(map[string]string)}
	a.splitter.dotless = l.DotlessI
	if !l.Latin() {
		a.latin = readers[language.Default]
	}
	return a
}

// Language returns the code of the language.
func (a *Analyser) Language() string { return a.code }

// Words yields the folded words of the text in order. They are the same in every language.
func (a *Analyser) Words(text string) iter.Seq[Word] { return a.splitter.words(text) }

// Tokens yields every token of the text, stop words too, ordered by their place.
func (a *Analyser) Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		// The last unspaced character is kept in a.pair until its neighbour comes; one without any is a term alone.
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
	return Token{Term: e.term, Start: start, End: end, Stop: e.stop}
}

// look returns what is known of a word, stemming it when it is new. Accented is nil where the folded form is all.
func (a *Analyser) look(folded, accented []byte) entry {
	word := folded
	if accented != nil {
		word = accented
	}
	if e, ok := a.known[string(word)]; ok {
		return e
	}
	if len(word) > maxKnownWord {
		return entry{term: string(folded)}
	}
	if len(a.known) == maxKnown {
		clear(a.known)
		clear(a.surfaces)
	}
	e := a.read(string(folded), string(word))
	a.known[string(word)] = e
	if len(e.term) != len(folded) || e.term != string(folded) {
		if known := a.surfaces[e.term]; known == "" || len(folded) < len(known) {
			a.surfaces[e.term] = string(folded)
		}
	}
	return e
}

// Surface returns a readable word for a term: the shortest that the analyser remembers having made it of, in folded
// form, or else the term. A stem alone is no word to show ("retriev").
func (a *Analyser) Surface(term string) string {
	if word := a.surfaces[term]; word != "" && a.known[term].term != term {
		return word
	}
	return term
}

// read computes the entry of a word.
func (a *Analyser) read(folded, word string) entry {
	r := readerOf(word, a.latin)
	if r.stops()[folded] {
		return entry{term: folded, stop: true}
	}
	if r.Stem == nil {
		return entry{term: folded}
	}
	if r.FoldsBeforeStemming {
		if !isASCII(folded) { // not a word of the language
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
