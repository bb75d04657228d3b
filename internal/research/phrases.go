package research

import (
	"strconv"

	"carrel/internal/language"
	"carrel/internal/search/analysis"
)

// phrases returns the phrases in the language of the question, or in the language of the sources if the question is too
// short to tell. A language without phrases gets the English ones.
func (t *turn) phrases() *language.Phrases {
	code := analysis.Guess(t.text)
	if code == "" {
		code = t.ready.language(nil)
	}
	if p := language.LookupOrDefault(code).Phrases; p != nil {
		return p
	}
	return language.Lookup(language.Default).Phrases
}

// several counts things: "1 source", "3 sources".
func several(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return strconv.Itoa(n) + " " + many
}
