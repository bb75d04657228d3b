package quote

import (
	"slices"
	"strings"
	"unicode"

	"carrel/internal/search/analysis"
)

// combining are first parts of words that are written as one word, with a hyphen or as two words.
var combining = []string{
	"back", "time", "data", "file", "hyper", "multi", "micro", "cross", "self", "semi", "non", "pre", "post", "anti",
	"over", "under", "web", "open", "inter", "super", "sub", "co", "re", "meta", "auto", "key", "peer", "block",
}

// spellings returns other spellings of the words of a question for the search: "backpropagation" for
// "back-propagation", and the reverse.
func spellings(words []string, question string) []string {
	const shortest = 8
	var out []string
	for _, word := range strings.Fields(question) {
		word = strings.ToLower(strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }))
		first, second, _ := strings.Cut(word, "-")
		if len(first) > 1 && len(second) > 3 && !strings.Contains(second, "-") {
			out = append(out, first+second)
		}
	}
	for _, word := range words {
		if len(word) < shortest {
			continue
		}
		for _, first := range combining {
			if rest, ok := strings.CutPrefix(word, first); ok && len(rest) >= 5 && len(first) > 2 {
				out = append(out, first+"-"+rest)
				break
			}
		}
	}
	return slices.Compact(out)
}

// lessenExceptions gives a low weight to the words that a question excludes: "besides Diffie and Hellman".
func (e *Extractor) lessenExceptions(q *Query, words []string) {
	at := slices.IndexFunc(words, func(w string) bool { return e.words.except[w] && w != "other" && w != "than" })
	if at < 0 || at < 2 {
		return
	}
	excluded := make(map[string]bool)
	for token := range e.analyser.Tokens(strings.Join(words[at:], " ")) {
		excluded[token.Term] = true
	}
	for i := range q.terms {
		if excluded[q.terms[i].text] {
			q.terms[i].weight = exceptedWeight
		}
	}
}

// exceptedWeight is the weight of a word that the question excludes.
const exceptedWeight = 0.3

// minAcronym is the length of the shortest acronym whose long form is recognized.
const minAcronym = 3

// countSpellings counts words of the question that the sentence writes differently, and returns their positions: one
// word for two ("backpropagation"), two for one ("back-propagation"), and the long form of an acronym.
func (c *candidate) countSpellings(m *matcher, text []rune) []int {
	var found []int
	hold := func(term, at int) {
		c.holds[term] = max(c.holds[term], 1)
		found = append(found, at)
	}
	for i, token := range c.tokens {
		if token.Stop {
			continue
		}
		if pair, ok := m.joined[token.Term]; ok {
			hold(pair[0], i)
			hold(pair[1], i)
		}
		for t := range m.terms {
			if c.holds[t] < 1 && i+1 < len(c.tokens) && isSplit(m.terms[t].word, text, token, c.tokens[i+1]) {
				hold(t, i)
			}
		}
		for t, letters := range m.acronyms {
			if m.unheld[t] && c.holds[t] < 1 && isLongForm(letters, text, c.tokens[i:]) {
				hold(t, i)
			}
		}
	}
	return found
}

// isSplit reports whether a word is written as two adjacent tokens.
func isSplit(word string, text []rune, a, b analysis.Token) bool {
	const shortest = 7
	if len(word) < shortest || b.Start != a.End+1 || !strings.EqualFold(word[:1], string(text[a.Start])) {
		return false
	}
	first := string(text[a.Start:a.End])
	return len(first) > 2 && len(first) < len(word) && strings.EqualFold(word[:len(first)], first) &&
		sameForm(word[len(first):], string(text[b.Start:b.End]))
}

// isLongForm reports whether tokens begin with the letters of an acronym, function words left out: "Long Short-Term
// Memory" for LSTM.
func isLongForm(letters string, text []rune, tokens []analysis.Token) bool {
	for _, token := range tokens {
		if letters == "" {
			return true
		}
		switch {
		case token.Stop:
		case unicode.ToLower(text[token.Start]) == rune(letters[0]):
			letters = letters[1:]
		default:
			return false
		}
	}
	return letters == ""
}

// opensReason reports whether one of the first words of a sentence introduces a reason or explanation.
func (v *vocabulary) opensReason(text []rune, tokens []analysis.Token) bool {
	const opening = 3
	return slices.ContainsFunc(tokens[:min(opening, len(tokens))], func(t analysis.Token) bool {
		return v.cues[lower(text, t)]
	})
}
