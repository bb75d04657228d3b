package thread

import (
	"context"
	"strings"
	"unicode"

	"carrel/internal/core"
)

// Match is the latest message of a thread that contains one of the words that were searched for.
type Match struct {
	MessageID string
	// Snippet is the part of the message around the first of the words, on one line.
	Snippet string
}

// addMatches sets the matches of threads that were found by words.
func (s *Service) addMatches(ctx context.Context, threads []Thread, words []string) error {
	if len(words) == 0 || len(threads) == 0 {
		return nil
	}
	ids := make([]string, len(threads))
	for i, t := range threads {
		ids[i] = t.ID
	}
	found, err := s.store.LatestMatches(ctx, ids, words)
	if err != nil {
		return err
	}
	for i, t := range threads {
		if m, ok := found[t.ID]; ok {
			threads[i].Match = &Match{MessageID: m.ID, Snippet: snippetOf(m.Text, words)}
		}
	}
	return nil
}

// snippetBefore and snippetAfter are the lengths of the text before and after the first word of a snippet, in code
// points.
const (
	snippetBefore = 40
	snippetAfter  = 120
)

// snippetOf returns the part of a text around the first of the words, on one line. An ellipsis marks a cut end.
func snippetOf(text string, words []string) string {
	runes := []rune(core.OneLine(text))
	// Case is folded by character, so that positions in both texts are the same.
	folded := make([]rune, len(runes))
	for i, r := range runes {
		folded[i] = unicode.ToLower(r)
	}
	at := len(runes)
	for _, word := range words {
		before, _, found := strings.Cut(string(folded), strings.ToLower(word))
		if n := len([]rune(before)); found && n < at {
			at = n
		}
	}
	if at == len(runes) {
		at = 0 // the word differs from the text in more than case
	}
	start, end := max(0, at-snippetBefore), min(len(runes), at+snippetAfter)
	for start > 0 && start < at && !unicode.IsSpace(runes[start-1]) {
		start++
	}
	snippet := strings.TrimSpace(string(runes[start:end]))
	if start > 0 {
		snippet = "…" + snippet
	}
	if end < len(runes) {
		snippet += "…"
	}
	return snippet
}
