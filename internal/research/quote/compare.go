package quote

import (
	"slices"
	"strings"
	"unicode"

	"carrel/internal/search/analysis"
)

// sides returns the two subjects of a comparison in their original spelling, or nil: "Compare HITS with PageRank".
func (v *vocabulary) sides(question string) []string {
	original := strings.Fields(strings.TrimRight(question, "?!. "))
	words := make([]string, len(original))
	for i, word := range original {
		words[i] = strings.ToLower(strings.Trim(word, ",;:.?!\"“”"))
	}
	for _, pattern := range v.comparisons {
		first, second := slices.Index(pattern, "1"), slices.Index(pattern, "2")
		if first < 0 || second < 0 {
			continue
		}
		before, between, after := pattern[:first], pattern[first+1:second], pattern[second+1:]
		from := 0
		if len(before) > 0 {
			if from = find(words, before); from < 0 || from > maxBeforeComparison {
				continue
			}
			from += len(before)
		}
		to := len(words)
		if len(after) > 0 {
			at := find(words[from:], after)
			if at < 0 {
				continue
			}
			to = from + at
		}
		at := find(words[from:to], between)
		if at < 1 || from+at+len(between) >= to {
			continue
		}
		a, b := trimArticle(original[from:from+at]), trimArticle(original[from+at+len(between):to])
		if a == "" || b == "" || at > maxSide || to-from-at-len(between) > maxSide {
			continue
		}
		return []string{a, b}
	}
	return nil
}

// Limits of a question that compares, in words.
const (
	maxBeforeComparison = 3 // "What is the difference between"
	maxSide             = 6
)

// find returns the index of a sequence of words, or -1.
func find(words, sequence []string) int {
	for i := 0; i+len(sequence) <= len(words); i++ {
		if slices.Equal(words[i:i+len(sequence)], sequence) {
			return i
		}
	}
	return -1
}

func trimArticle(words []string) string {
	if len(words) > 1 && slices.Contains([]string{"the", "a", "an", "der", "die", "das"}, strings.ToLower(words[0])) {
		words = words[1:]
	}
	return strings.Trim(strings.Join(words, " "), ",;: ")
}

// quotesOfSide is how many quotes each side of a comparison has.
const quotesOfSide = 2

// compare answers a comparison with quotes about each side, from one document each. Both sides must be answered for the
// outcome to be Answered. A sentence about both sides is shown once, for the first.
func (e *Extractor) compare(q Query, passages []Passage, statistics Statistics) Answer {
	e = e.Ranked(nil) // a side of a comparison is no question
	answer := Answer{Query: q, Form: Comparison, Outcome: Answered, Coverage: 1}
	passages = slices.Clone(passages)
	for i := range passages {
		passages[i].Score = 0 // the search was for both sides
	}
	for i, side := range q.sides {
		asked := e.Ask(side, Talk{}, statistics)
		asked.form, asked.kind = Quotes, definition
		asked.avoid, _ = e.termsOf(q.sides[1-i])
		one := e.Answer(asked, passages, statistics)
		answer.Unmatched = append(answer.Unmatched, one.Unmatched...)
		answer.Missing = append(answer.Missing, one.Missing...)
		answer.Outcome, answer.Coverage = min(answer.Outcome, one.Outcome), min(answer.Coverage, one.Coverage)
		if one.Outcome == Nothing {
			continue
		}
		n := 0
		for _, found := range e.quotesOfMain(asked, passages, statistics) {
			if n == quotesOfSide || slices.ContainsFunc(answer.Quotes, found.overlaps) {
				continue
			}
			found.Subject = side
			answer.Quotes = append(answer.Quotes, found)
			n++
		}
	}
	if len(answer.Quotes) == 0 {
		answer.Outcome = Nothing
	} else if answer.Outcome == Nothing {
		answer.Outcome = Closest // only one side was found
	}
	return answer
}

// quotesOfMain returns the quotes of the document that is most about one side of a comparison and least about the
// other.
func (e *Extractor) quotesOfMain(q Query, passages []Passage, statistics Statistics) []Quote {
	const aboutBoth = 0.5
	m := e.read(q, passages, statistics)
	ranked := m.rank()
	main, best := "", -1.0
	for _, at := range ranked {
		p := &m.passages[m.sentences[at].passage]
		score := p.score
		if m.aboutOther(p) {
			score *= aboutBoth
		}
		if score > best {
			main, best = p.DocumentID, score
		}
	}
	ranked = slices.DeleteFunc(ranked, func(at int) bool { return m.documentOf(at) != main })
	if len(ranked) == 0 {
		return nil
	}
	return m.quotes(m.choose(ranked))
}

// isAvoided reports whether tokens of a text hold a word of the other side of a comparison. A name is written with a
// capital: hits are not HITS.
func (m *material) isAvoided(text []rune, tokens []analysis.Token) bool {
	return slices.ContainsFunc(tokens, func(t analysis.Token) bool {
		return slices.ContainsFunc(m.query.avoid, func(a term) bool {
			return a.text == t.Term && (!unicode.IsUpper([]rune(a.word)[0]) || unicode.IsUpper(text[t.Start]))
		})
	})
}

// aboutOther reports whether a passage or its title holds a word of the other side of a comparison.
func (m *material) aboutOther(p *reading) bool {
	return m.isAvoided(p.text, p.tokens) || m.isAvoided([]rune(p.Title), p.title)
}
