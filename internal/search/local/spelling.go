package local

import (
	"context"
	"strings"
	"unicode/utf8"

	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/search/local/rank"
	"carrel/internal/search/query"
)

// maxMisspelt is how many unknown words of a query are corrected. A query with more is not misspelt but about something
// else, and trying would take too long.
const maxMisspelt = 8

// speller corrects words by the terms of the searched sources.
type speller struct {
	views    []rank.View
	sources  []string
	analyser *analysis.Analyser
}

// newSpeller returns a speller with a new analyser, because the pooled ones should not cache the many non-words that a
// speller tries.
func newSpeller(views []rank.View, q search.Query) speller {
	return speller{views: views, sources: q.Sources, analyser: analysis.New(q.Language)}
}

// correct returns the query with its unknown words corrected, or "" if none could be. Unknown are the indexes of the
// terms that no searched document holds.
func (s speller) correct(ctx context.Context, q string, parsed query.Parsed, unknown []int) (string, error) {
	if len(unknown) == 0 || len(unknown) > maxMisspelt {
		return "", nil
	}
	unheld := make(map[string]bool)
	for _, place := range unknown {
		unheld[parsed.Terms[place].Text] = true
	}
	text := []rune(q)
	var out strings.Builder
	at, corrected := 0, false
	for _, word := range parsed.Words {
		if !unheld[word.Term] || word.Start < at {
			continue
		}
		meant, err := s.correctWord(ctx, word)
		if err != nil {
			return "", err
		}
		if meant == "" {
			continue
		}
		out.WriteString(string(text[at:word.Start]))
		out.WriteString(meant)
		at, corrected = word.End, true
	}
	if !corrected {
		return "", nil
	}
	out.WriteString(string(text[at:]))
	return out.String(), nil
}

// correctWord returns the correction of a word that no document holds, or "".
func (s speller) correctWord(ctx context.Context, word query.Word) (string, error) {
	folded := foldedWord(s.analyser, word.Text)
	meant, err := s.mostFrequentNeighbour(ctx, folded, word.Term)
	if meant != "" || err != nil {
		return meant, err
	}
	meant, _, err = rank.Suggest(ctx, s.views, s.sources, word.Term)
	if isDerivedForm(folded, word.Term, meant) {
		return "", err
	}
	return meant, err
}

// foldedWord returns the folded form of a word.
func foldedWord(a *analysis.Analyser, word string) string {
	for w := range a.Words(word) {
		return string(w.Folded)
	}
	return ""
}

// isDerivedForm reports whether a word is a derived form of a stem rather than a misspelling of it: it begins with the
// stem and has a regular ending, as "eventual" does for "event".
func isDerivedForm(word, term, stem string) bool {
	return term != word && strings.HasPrefix(word, stem)
}

// Words of these lengths are corrected letter by letter: shorter ones have too many neighbours, and longer ones are
// seldom words.
const minTypoLength, maxTypoLength = 4, 30

// mostFrequentNeighbour returns the most frequent word at edit distance 1, or "". It tries words and not terms,
// because a typo in the ending changes the stem ("relatoinal" and "relational").
func (s speller) mostFrequentNeighbour(ctx context.Context, word, term string) (string, error) {
	if n := utf8.RuneCountInString(word); n < minTypoLength || n > maxTypoLength {
		return "", nil
	}
	best, most := "", 0
	seen := make(map[string]bool)
	for _, near := range neighbours(word) {
		for token := range s.analyser.Tokens(near) {
			if token.Stop || seen[token.Term] || !isTypo(word, near) && isDerivedForm(word, term, token.Term) {
				continue
			}
			seen[token.Term] = true
			if err := ctx.Err(); err != nil {
				return "", err
			}
			n, err := rank.Holders(s.views, s.sources, token.Term)
			if err != nil {
				return "", err
			}
			if n > most {
				best, most = near, n
			}
		}
	}
	return best, nil
}

// isTypo reports whether the difference between two words is certainly a typo: swapped neighbours, or a doubled
// letter.
func isTypo(word, meant string) bool {
	at := 0
	for at < len(meant) && at < len(word) && word[at] == meant[at] {
		at++
	}
	switch len(word) - len(meant) {
	case 0:
		return at+1 < len(word) && word[at] == meant[at+1] && word[at+1] == meant[at]
	case 1:
		return at > 0 && word[at] == word[at-1]
	}
	return false
}

// neighbours returns the words at edit distance one, counting a swap of neighbours as one edit. The first letter is
// kept, because typos there are rare. Only words of the letters a to z have neighbours.
func neighbours(word string) []string {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return nil
		}
	}
	const letters = "abcdefghijklmnopqrstuvwxyz"
	out := make([]string, 0, 2*(len(letters)+1)*len(word))
	for i := 1; i+1 < len(word); i++ {
		out = append(out, word[:i]+word[i+1:i+2]+word[i:i+1]+word[i+2:])
	}
	for i := 1; i < len(word); i++ {
		out = append(out, word[:i]+word[i+1:])
	}
	for i := 1; i < len(word); i++ {
		for _, letter := range letters {
			out = append(out, word[:i]+string(letter)+word[i+1:])
		}
	}
	for i := 1; i <= len(word); i++ {
		for _, letter := range letters {
			out = append(out, word[:i]+string(letter)+word[i:])
		}
	}
	return out
}
