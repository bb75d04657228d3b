package analysis

import (
	"sync"

	"carrel/internal/language"
)

var stemmers = sync.Pool{New: func() any { return New(language.Default) }}

// Stems returns the terms of a text without stop words, for comparing short texts in any language. It always uses the
// English stemmer, because comparable texts must be stemmed alike.
func Stems(text string) []string {
	a := stemmers.Get().(*Analyser)
	defer stemmers.Put(a)
	var out []string
	for token := range a.Tokens(text) {
		if !token.Stop {
			out = append(out, token.Term)
		}
	}
	return out
}
