// Package analysis turns texts into terms.
package analysis

import (
	"iter"
	"strings"

	"github.com/kljensen/snowball/english"
)

// StopMark begins the term under which a stop word is indexed where it is: in titles and the names of authors.
const StopMark = "\x01"

// Token is a term and where it stands in the text: code point offsets, the end exclusive. A stop word's term is the
// folded word.
type Token struct {
	Term       string
	Start, End int
	Stop       bool
}

// Analyser turns texts into terms: folded, stemmed by language; bigrams where a script has no spaces. It remembers
// the stems it has made, so use one for many texts, in one goroutine at a time.
type Analyser struct {
	language string
	splitter splitter
	known    map[string]entry
	pair     []byte // the last unspaced character, and after it the one it makes a bigram with
}

// entry is what the analyser knows of a folded word.
type entry struct {
	term string
	stop bool
}

// Bounds of the analyser's memory. Longer words are data rather than language: they are neither stemmed nor kept.
const (
	maxKnown     = 1 << 17
	maxKnownWord = 64
)

// New returns an analyser for texts in the language, an ISO 639-1 code; one that is not known is read as English.
func New(language string) *Analyser {
	return &Analyser{language: "en", known: make(map[string]entry)}
}

// Language returns the language that the analyser reads.
func (a *Analyser) Language() string { return a.language }

// Words yields the folded words of the text in order, whatever the language.
func (a *Analyser) Words(text string) iter.Seq[Word] { return a.splitter.words(text) }

// Tokens yields every token of the text, stop words too, ordered by their place.
func (a *Analyser) Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		emit := func(folded []byte, start, end int) bool {
			e := a.look(folded)
			return yield(Token{Term: e.term, Start: start, End: end, Stop: e.stop})
		}
		// The last unspaced character is kept in a.pair until its neighbour comes; one without any is a term alone.
		var start, end int
		alone := false
		for w := range a.splitter.words(text) {
			if w.follows {
				size := len(a.pair)
				a.pair = append(a.pair, w.Folded...)
				if !emit(a.pair, start, w.End) {
					return
				}
				a.pair = append(a.pair[:0], a.pair[size:]...)
				start, end, alone = w.Start, w.End, false
				continue
			}
			if alone && !emit(a.pair, start, end) {
				return
			}
			alone = w.Unspaced
			if alone {
				a.pair = append(a.pair[:0], w.Folded...)
				start, end = w.Start, w.End
			} else if !emit(w.Folded, w.Start, w.End) {
				return
			}
		}
		if alone {
			emit(a.pair, start, end)
		}
	}
}

// look returns what is known of a folded word, stemming it when it is new.
func (a *Analyser) look(folded []byte) entry {
	if e, ok := a.known[string(folded)]; ok {
		return e
	}
	e := entry{term: string(folded)}
	if len(folded) > maxKnownWord {
		return e
	}
	word := e.term
	if stopWords[word] {
		e.stop = true
	} else if isASCII(word) {
		e.term = english.Stem(word, false)
	}
	if len(a.known) == maxKnown {
		clear(a.known)
	}
	a.known[word] = e
	return e
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// stopWords are the words that questions are made of. They say nothing of what is asked about, and dropping them
// lets whole sentences be searched for.
var stopWords = func() map[string]bool {
	words := make(map[string]bool)
	for word := range strings.FieldsSeq(`a an and are as at be but by for if in into is it no not of on or such that
		the their then there these they this to was will with what which how who does do did has have had from can
		we our its were been i me about between than also where when why would could should may any some`) {
		words[word] = true
	}
	return words
}()
