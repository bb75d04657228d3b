package local

import (
	"context"
	"strings"
	"unicode/utf8"

	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/search/query"
	"carrel/internal/search/rank"
)

// maxMisspelt is how many words of a query are looked for among those that are near. One with more words that nobody
// holds is not misspelt but about something else, and looking takes its time.
const maxMisspelt = 8

// correct returns the query with its unknown words replaced by what was likely meant, "" when nothing is known.
// Unknown are the places of the terms that no searched document holds.
func correct(ctx context.Context, views []rank.View, q search.Query, parsed query.Parsed, unknown []int) (string, error) {
	if len(unknown) == 0 || len(unknown) > maxMisspelt {
		return "", nil
	}
	unheld := make(map[string]bool)
	for _, place := range unknown {
		unheld[parsed.Terms[place].Text] = true
	}
	// It is going to see much that is no word, which those that build segments need not remember.
	a := analysis.New(q.Language)
	text := []rune(q.Text)
	var out strings.Builder
	at, corrected := 0, false
	for _, word := range parsed.Words {
		if !unheld[word.Term] || word.Start < at {
			continue
		}
		meant, err := meantBy(ctx, views, q.Sources, a, word)
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

// meantBy returns the word that was likely meant by one that no document holds, "" when none is near.
func meantBy(ctx context.Context, views []rank.View, sources []string, a *analysis.Analyser, word query.Word) (string, error) {
	folded := foldedWord(a, word.Text)
	meant, err := oneSlip(ctx, views, sources, a, folded, word.Term)
	if meant != "" || err != nil {
		return meant, err
	}
	meant, _, err = rank.Suggest(ctx, views, sources, word.Term)
	if isKin(folded, word.Term, meant) {
		return "", err
	}
	return meant, err
}

// foldedWord is a word without what the index does not tell apart.
func foldedWord(a *analysis.Analyser, word string) string {
	for w := range a.Words(word) {
		return string(w.Folded)
	}
	return ""
}

// isKin reports whether a word is one of its own beside the words of a stem, and no slip of them: it begins with the stem
// and ends in an ending, as "eventual" does beside "event". What is misspelt in its ending seldom has one.
func isKin(word, term, stem string) bool {
	return term != word && strings.HasPrefix(word, stem)
}

// Words of these lengths are tried letter by letter: shorter ones have too many neighbours for any guess, and longer
// ones are seldom words.
const minSlipped, maxSlipped = 4, 30

// oneSlip returns the word that one slip of the keyboard away from this one is held by the most documents, "" when
// there is none. Terms are stems, which a slip in the ending makes another of altogether ("relatoinal" and
// "relational"), so that words have to be tried and not terms.
func oneSlip(ctx context.Context, views []rank.View, sources []string, a *analysis.Analyser, word, term string) (string, error) {
	if n := utf8.RuneCountInString(word); n < minSlipped || n > maxSlipped {
		return "", nil
	}
	best, most := "", 0
	seen := make(map[string]bool)
	for _, near := range oneSlipAway(word) {
		for token := range a.Tokens(near) {
			if token.Stop || seen[token.Term] || !isNoWord(word, near) && isKin(word, term, token.Term) {
				continue
			}
			seen[token.Term] = true
			if err := ctx.Err(); err != nil {
				return "", err
			}
			n, err := rank.Holders(views, sources, token.Term)
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

// isNoWord reports whether what makes one word of another is no way to form words: neighbours in each other's place, or a
// letter twice.
func isNoWord(word, meant string) bool {
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

// oneSlipAway returns the words from which one slip makes this one: two neighbours in each other's place, a letter too
// many, another in its place, and one missing. Slips at the first letter are rare. What is not written in Latin letters
// has none.
func oneSlipAway(word string) []string {
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
