package search

import (
	"iter"
	"strings"

	"github.com/kljensen/snowball/english"
)

// Token is a term and where it stands in the text: code point offsets, the end exclusive.
type Token struct {
	Term       string
	Start, End int
}

// Analyser turns texts into terms: folded, without question words, stemmed as English; bigrams where a script has
// no spaces. It remembers the stems it has made, so use one for many texts, in one goroutine at a time.
type Analyser struct {
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

// NewAnalyser returns an analyser that remembers nothing yet.
func NewAnalyser() *Analyser {
	return &Analyser{known: make(map[string]entry)}
}

// Analyse returns the tokens of the text, ordered by their place.
func (a *Analyser) Analyse(text string) []Token {
	var out []Token
	for token, stop := range a.tokens(text) {
		if !stop {
			out = append(out, token)
		}
	}
	return out
}

// Terms returns the terms of the text in order, without their places.
func (a *Analyser) Terms(text string) []string {
	var out []string
	for token, stop := range a.tokens(text) {
		if !stop {
			out = append(out, token.Term)
		}
	}
	return out
}

// tokens yields every token of the text, and whether it is a stop word.
func (a *Analyser) tokens(text string) iter.Seq2[Token, bool] {
	return func(yield func(Token, bool) bool) {
		emit := func(folded []byte, start, end int) bool {
			e := a.look(folded)
			return yield(Token{e.term, start, end}, e.stop)
		}
		// The last unspaced character is kept in a.pair until its neighbour comes; one without any is a term alone.
		var start, end int
		alone := false
		for w := range a.splitter.words(text) {
			if w.follows {
				size := len(a.pair)
				a.pair = append(a.pair, w.folded...)
				if !emit(a.pair, start, w.end) {
					return
				}
				a.pair = append(a.pair[:0], a.pair[size:]...)
				start, end, alone = w.start, w.end, false
				continue
			}
			if alone && !emit(a.pair, start, end) {
				return
			}
			alone = w.unspaced
			if alone {
				a.pair = append(a.pair[:0], w.folded...)
				start, end = w.start, w.end
			} else if !emit(w.folded, w.start, w.end) {
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
