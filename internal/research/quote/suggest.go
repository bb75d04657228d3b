package quote

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"carrel/internal/language"
	"carrel/internal/search/analysis"
)

// maxFollowUps is the number of suggested questions.
const maxFollowUps = 3

// suggest returns questions that the sources can answer, in the language of the question if that has a FollowUp: about
// names in the quotes that are not in the question and that at least one other passage holds.
func (e *Extractor) suggest(m *material, quotes []Quote) []string {
	asked := language.Lookup(analysis.Guess(m.query.Question))
	if asked == nil || asked.FollowUp == "" || language.Lookup(e.analyser.Language()).CapitalizesNouns {
		return nil
	}
	before, after, _ := strings.Cut(asked.FollowUp, "%s")
	counts := make(map[string]int) // documents that hold each name
	var names []string
	for _, quote := range quotes {
		for _, found := range e.namesIn(quote.Text) {
			if counts[found] == 0 && !m.asksFor(e, found) {
				counts[found] = m.holders(found)
				names = append(names, found)
			}
		}
	}
	names = slices.DeleteFunc(names, func(found string) bool {
		// A part of a longer name would give the same question.
		return counts[found] < 2 || slices.ContainsFunc(names, func(other string) bool {
			return other != found && strings.Contains(other, found) && counts[other] > 1
		})
	})
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	var out []string
	for _, found := range names[:min(len(names), maxFollowUps)] {
		out = append(out, before+found+after)
	}
	return out
}

// namesIn returns the names in a text: two or more capitalized words, or one in all capitals. A single capitalized word
// may be anything.
func (e *Extractor) namesIn(text string) []string {
	const longest = 4
	runes := []rune(text)
	var names []string
	var from, to, words int
	flush := func() {
		if found := string(runes[from:to]); words > 1 && words <= longest || words == 1 && isAcronym(found) {
			names = append(names, found)
		}
		words = 0
	}
	for token := range e.analyser.Tokens(text) {
		joined := words > 0 && token.Start == to+1 && runes[to] == ' '
		capital := unicode.IsUpper(runes[token.Start]) && !token.Stop
		if words > 0 && (!joined || !capital) {
			flush()
		}
		if !capital {
			continue
		}
		if words == 0 {
			from = token.Start
		}
		to = token.End
		words++
	}
	flush()
	slices.Sort(names)
	return slices.Compact(names)
}

func isAcronym(word string) bool {
	n := 0
	for _, r := range word {
		if !unicode.IsUpper(r) {
			return false
		}
		n++
	}
	return n > 2
}

// asksFor reports whether the question holds a word of the name.
func (m *material) asksFor(e *Extractor, found string) bool {
	for token := range e.analyser.Tokens(found) {
		if slices.ContainsFunc(m.query.terms, func(t term) bool { return t.text == token.Term }) {
			return true
		}
	}
	return false
}

// holders counts the documents that hold the name verbatim.
func (m *material) holders(found string) int {
	documents := make(map[string]bool)
	for i := range m.passages {
		if p := &m.passages[i]; !documents[p.DocumentID] && strings.Contains(p.Text, found) {
			documents[p.DocumentID] = true
		}
	}
	return len(documents)
}
