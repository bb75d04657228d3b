package analysis

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"carrel/internal/language"
)

// reader stems the words of one language.
type reader struct {
	*language.Language
	stops func() map[string]bool // folded, unless the language keeps accents
}

// readers are the readers of the known languages, by code.
var readers = func() map[string]*reader {
	out := make(map[string]*reader)
	for _, l := range language.All() {
		out[l.Code] = &reader{Language: l, stops: stopSet(l)}
	}
	return out
}()

// otherScripts are the readers of the languages that are not written in Latin letters.
var otherScripts = func() []*reader {
	var out []*reader
	for _, code := range language.Codes() {
		if r := readers[code]; !r.Latin() {
			out = append(out, r)
		}
	}
	return out
}()

// unknownScript leaves words unchanged, for scripts of which no language is known.
var unknownScript = &reader{
	Language: &language.Language{FoldsBeforeStemming: true}, stops: func() map[string]bool { return nil },
}

// readerOf returns the reader for a word, given the one for words in Latin letters. If only one known language uses a
// script, its words are always read in that language, so that a query and a document need not agree on theirs.
func readerOf(word string, latin *reader) *reader {
	for _, r := range word {
		if r < utf8.RuneSelf {
			continue
		}
		if unicode.Is(unicode.Latin, r) {
			return latin
		}
		for _, other := range otherScripts {
			if unicode.Is(other.Script, r) {
				return other
			}
		}
		return unknownScript
	}
	return latin
}

// stopSet returns the stop words of a language, which are computed on first use.
func stopSet(l *language.Language) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		words := make(map[string]bool)
		var s splitter
		for w := range s.words(l.StopWords) {
			if l.KeepsAccents && w.accented != nil {
				words[string(w.accented)] = true
			} else {
				words[string(w.Folded)] = true
			}
		}
		return words
	})
}
