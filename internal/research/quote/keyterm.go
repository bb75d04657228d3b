package quote

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// articles are the articles before which a term is kept as it is written. German nouns have no other form after "über"
// with these two, and other languages have no cases.
var articles = map[string][]string{"en": {"the"}, "de": {"das", "die"}}

// longestKeyTerm is the number of words of a key term, without its article.
const longestKeyTerm = 2

// keyTerm is a phrase of a text that an example question can be about.
type keyTerm struct {
	phrase         string
	inTitle        bool
	words, repeats int
}

// keyTerms returns phrases that the text is about, the most characteristic first: those that are also in the title,
// then the longer ones, then the frequent ones. Without a dictionary, nouns are found by their surroundings: words
// between an article and the end of a clause, and in languages that capitalize nouns, capitalized words within a
// sentence.
func (e *Extractor) keyTerms(p *Passage) []string {
	var found []keyTerm
	runes := []rune(p.Text)
	title := make(map[string]bool)
	for token := range e.analyser.Tokens(p.Title) {
		title[token.Term] = !token.Stop
	}
	code := e.analyser.Language()
	add := func(article string, words []word, closed bool) {
		if len(words) == 0 || len(words) > longestKeyTerm {
			return
		}
		inTitle := !slices.ContainsFunc(words, func(w word) bool { return !title[w.term] })
		// Two words before another word may be a noun and its verb, unless the title has them too.
		if article == "" && !inTitle || len(words) > 1 && !closed && !inTitle {
			return
		}
		phrase := string(runes[words[0].start:words[len(words)-1].end])
		if slices.Contains(articles[code], article) && len(words) == 1 && !inTitle {
			phrase = article + " " + phrase
		}
		if !isSubject(phrase) || strings.ContainsFunc(phrase, unicode.IsDigit) {
			return
		}
		at := slices.IndexFunc(found, func(t keyTerm) bool { return strings.EqualFold(t.phrase, phrase) })
		if at < 0 {
			found = append(found, keyTerm{phrase: phrase, inTitle: inTitle, words: len(words)})
			at = len(found) - 1
		}
		found[at].repeats++
	}
	e.eachRun(runes, code, add)
	slices.SortStableFunc(found, func(a, b keyTerm) int {
		return cmp.Or(compareTrueFirst(a.inTitle, b.inTitle), cmp.Compare(b.words, a.words),
			cmp.Compare(b.repeats, a.repeats), cmp.Compare(len(b.phrase), len(a.phrase)))
	})
	out := make([]string, len(found))
	for i, t := range found {
		out[i] = t.phrase
	}
	return out
}

func compareTrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// word is a content word of a text by its code points.
type word struct {
	term       string
	start, end int
}

// eachRun calls add with each run of content words that only spaces separate: with the article before it, or "", and
// whether a punctuation mark or the end of the text follows.
func (e *Extractor) eachRun(runes []rune, code string, add func(article string, words []word, closed bool)) {
	var run []word
	article, end := "", 0
	flush := func(closed bool) {
		add(article, run, closed)
		run, article = nil, ""
	}
	for token := range e.analyser.Tokens(string(runes)) {
		if token.Start < end {
			continue // a part of the last token, or one that overlaps it
		}
		if strings.TrimSpace(string(runes[end:token.Start])) != "" || token.Start > end+1 {
			flush(true)
		}
		text := string(runes[token.Start:token.End])
		switch end = token.End; {
		case !token.Stop:
			run = append(run, word{token.Term, token.Start, token.End})
		default:
			flush(false)
			if slices.Contains(articles[code], strings.ToLower(text)) {
				article = strings.ToLower(text)
			}
		}
	}
	flush(true)
}
