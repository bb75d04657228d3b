package app

import (
	"sync"

	"carrel/internal/search/analysis"
)

// stems returns what takes texts apart into the stems of their words, without stop words. Memories are short and in any
// language; that texts are read alike matters more than that they are read well.
func stems() func(text string) []string {
	readers := sync.Pool{New: func() any { return analysis.New(analysis.DefaultLanguage) }}
	return func(text string) []string {
		reader := readers.Get().(*analysis.Analyser)
		defer readers.Put(reader)
		var out []string
		for token := range reader.Tokens(text) {
			if !token.Stop {
				out = append(out, token.Term)
			}
		}
		return out
	}
}
