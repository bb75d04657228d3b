// Package spelling corrects misspelt queries by the words of the searched sources.
package spelling

import (
	"context"
	"strings"
	"unicode/utf8"

	"carrel/internal/search/analysis"
	"carrel/internal/search/query"
)

// Vocabulary are the terms of the searched sources.
type Vocabulary interface {
	// Holders returns how many passages hold each of the terms.
	Holders(ctx context.Context, terms []string) ([]int, error)
	// Suggest returns a readable form of the term that is closest in spelling to an unknown word, given in folded form
	// and as a term, or "". It must not suggest a word that only other sources hold.
	Suggest(ctx context.Context, word, term string) (string, error)
}

// maxMisspelt is how many unknown words of a query are corrected. A query with more is not misspelt but about something
// else, and trying would take too long.
const maxMisspelt = 8

// Correct returns the query with its unknown words corrected, or "" if none could be. Unknown are the indexes of the
// terms that no searched document holds. The analyser should not be used for documents, because it caches the many
// non-words that are tried.
func Correct(
	ctx context.Context, v Vocabulary, a *analysis.Analyser, q string, parsed query.Parsed, unknown []int,
) (string, error) {
	if len(unknown) == 0 || len(unknown) > maxMisspelt {
		return "", nil
	}
	s := speller{vocabulary: v, analyser: a}
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

type speller struct {
	vocabulary Vocabulary
	analyser   *analysis.Analyser
}

// correctWord returns the correction of a word that no document holds, or "".
func (s speller) correctWord(ctx context.Context, word query.Word) (string, error) {
	folded := foldedWord(s.analyser, word.Text)
	meant, err := s.mostFrequentNeighbour(ctx, folded, word.Term)
	if meant != "" || err != nil {
		return meant, err
	}
	meant, err = s.vocabulary.Suggest(ctx, folded, word.Term)
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
	var words, terms []string
	seen := make(map[string]bool)
	for _, near := range neighbours(word) {
		for token := range s.analyser.Tokens(near) {
			if token.Stop || seen[token.Term] || !isTypo(word, near) && isDerivedForm(word, term, token.Term) {
				continue
			}
			seen[token.Term] = true
			words, terms = append(words, near), append(terms, token.Term)
		}
	}
	holders, err := s.vocabulary.Holders(ctx, terms)
	if err != nil {
		return "", err
	}
	best, most := "", 0
	for i, n := range holders {
		if n > most {
			best, most = words[i], n
		}
	}
	return best, nil
}

// isTypo reports whether the difference between two words is certainly a typo: swapped neighbours, a doubled letter, or
// a letter that is missing inside of the word, as in "relatonal".
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
	case -1:
		return at < len(word)
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
