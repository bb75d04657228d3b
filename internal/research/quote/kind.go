package quote

import (
	"slices"
	"strings"
	"unicode"

	"carrel/internal/search/analysis"
)

// kind is the kind of answer that a question asks for.
type kind uint8

const (
	anything kind = iota
	number
	date
	name
	place
	cause
	manner
	definition
)

// isThing reports whether an answer of this kind holds a word of it.
func (k kind) isThing() bool { return k == number || k == date || k == name || k == place }

// isExplanation reports whether an answer of this kind may take more than one sentence.
func (k kind) isExplanation() bool { return k == cause || k == manner || k == definition }

// kindOf determines by its words what a question asks for.
func (v *vocabulary) kindOf(question string) kind {
	folded := foldWords(v.analyser, question)
	for _, asking := range v.questions {
		for _, phrase := range asking.phrases {
			if strings.Contains(folded, phrase) {
				return asking.kind
			}
		}
	}
	for _, asking := range unspacedQuestions {
		for _, phrase := range asking.phrases {
			if strings.Contains(question, phrase) {
				return asking.kind
			}
		}
	}
	return anything
}

// explanation returns manner or definition for a question that begins like one, and else anything. "What is" asks for a
// definition only of a short subject: "What is the name of …" does not.
func (e *Extractor) explanation(q *Query, words []string) kind {
	const shortSubject = 3
	switch {
	case prefix(words, e.words.how) > 0:
		return manner
	case prefix(words, e.words.what) > 0 && q.subjectWords() > 0 && q.subjectWords() <= shortSubject:
		return definition
	}
	return anything
}

// asksWhoSomeoneIs reports whether a question for a person names that person: "Who is Alan Turing?"
func (e *Extractor) asksWhoSomeoneIs(q *Query, words []string) bool {
	const longestName = 3
	return len(words) > 1 && prefix(words, e.words.what) > 0 && len(q.terms) > 0 && len(q.terms) <= longestName &&
		!slices.ContainsFunc(q.terms, func(t term) bool { return t.weak || !t.name && words[1] != "are" })
}

// foldWords returns the words of a text in folded form, with a space before, between and after them. Characters of
// scripts without spaces are left out.
func foldWords(a *analysis.Analyser, text string) string {
	var folded strings.Builder
	folded.WriteByte(' ')
	for w := range a.Words(text) {
		if !w.Unspaced {
			folded.Write(w.Folded)
			folded.WriteByte(' ')
		}
	}
	return folded.String()
}

// kindsIn returns the positions of the tokens that are of the wanted kind and not words of the question, as reported by
// asked. Units are those of the number, if it needs any.
func (v *vocabulary) kindsIn(
	wanted kind, units map[string]bool, text []rune, tokens []analysis.Token, asked func(string) bool,
) []int {
	var out []int
	if wanted == anything || wanted == manner || wanted == definition {
		return nil
	}
	for i, token := range tokens {
		first := text[token.Start]
		var found bool
		switch wanted {
		case name, place:
			// The first word of a sentence is always capitalized.
			found = i > 0 && !token.Stop && unicode.IsUpper(first) && (wanted == name || v.isPlace(text, tokens, i))
		case number:
			found = (unicode.IsDigit(first) && (!isYear(text, token) || hasUnit(text, tokens, i)) ||
				v.kinds[token.Term] == number) && hasUnitOf(units, tokens[i+1:])
		case date:
			found = isYearOrDecade(text[token.Start:token.End]) || v.kinds[token.Term] == date
		default:
			found = v.kinds[token.Term] == wanted
		}
		if found && !asked(token.Term) {
			out = append(out, i)
		}
	}
	return out
}

// nearWords is the distance in words within which a thing of the wanted kind belongs to a word of the question.
const nearWords = 12

// kindNear reports whether one of the things, by position, belongs to a word of the question: "When was the canal
// opened?" is not answered by a sentence about the canal in which the year of a war is mentioned far away. Names of
// months and places are no persons.
func (v *vocabulary) kindNear(wanted kind, tokens []analysis.Token, things, words []int) bool {
	return slices.ContainsFunc(things, func(i int) bool {
		if wanted == name && v.kinds[tokens[i].Term] == date {
			return false
		}
		return slices.ContainsFunc(words, func(w int) bool { return max(i-w, w-i) <= nearWords })
	})
}

// isPlace reports whether the capitalized token may be a place: no month, and after a preposition of place, if those of
// the language are known.
func (v *vocabulary) isPlace(text []rune, tokens []analysis.Token, i int) bool {
	const before = 2
	if len(v.placeAfter) == 0 {
		return true
	}
	if v.kinds[tokens[i].Term] == date {
		return false
	}
	return slices.ContainsFunc(tokens[max(0, i-before):i], func(t analysis.Token) bool {
		return v.placeAfter[lower(text, t)]
	})
}

// isYear reports whether a token is a number of four digits that may be a year.
func isYear(text []rune, token analysis.Token) bool {
	if token.End-token.Start != 4 || text[token.Start] != '1' && text[token.Start] != '2' {
		return false
	}
	for _, r := range text[token.Start:token.End] {
		if !unicode.IsDigit(r) {
			return false
		}
	}
	return true
}

// isYearOrDecade reports whether a word is a year of three or four digits, or a decade: 1990s.
func isYearOrDecade(word []rune) bool {
	if n := len(word); n == 5 && word[n-1] == 's' {
		word = word[:n-1]
	}
	if len(word) != 3 && len(word) != 4 || word[0] == '0' || len(word) == 4 && word[0] > '2' {
		return false
	}
	return !slices.ContainsFunc(word, func(r rune) bool { return !unicode.IsDigit(r) })
}

// hasUnit reports whether a noun directly follows the token, so that it counts something: "1900 ships".
func hasUnit(text []rune, tokens []analysis.Token, i int) bool {
	return i+1 < len(tokens) && !tokens[i+1].Stop && tokens[i+1].Start == tokens[i].End+1 &&
		unicode.IsLower(text[tokens[i+1].Start])
}

// hasUnitOf reports whether one of the units is among the next tokens: "30,000 hours", "three megabits a second".
func hasUnitOf(units map[string]bool, next []analysis.Token) bool {
	const near = 4
	return len(units) == 0 || slices.ContainsFunc(next[:min(near, len(next))], func(t analysis.Token) bool {
		return units[t.Term]
	})
}
