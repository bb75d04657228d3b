package check

import (
	"slices"
	"strings"
	"unicode"
)

// Claims reports whether a sentence states a fact. Greetings, thanks, questions, instructions and remarks about the
// answer or its sources state none. In doubt it states one, because a fact must not escape the check.
func Claims(sentence, language string) bool {
	return claims(sentence, lexiconOf(languageOf(language, sentence)), 0)
}

func claims(sentence string, l *lexicon, depth int) bool {
	text := strings.TrimRight(strings.TrimSpace(sentence), "\"”“»'’)* ")
	if text == "" || !strings.ContainsFunc(text, unicode.IsLetter) {
		return false
	}
	if runes := []rune(text); slices.Contains([]rune("?？؟"), runes[len(runes)-1]) {
		return false
	}
	if !l.known {
		return true
	}
	words := plainWords(text)
	joined := strings.Join(words, " ") + " "
	if len(words) == 0 || hasPhrase(joined, l.meta, strings.HasPrefix) || hasPhrase(joined, l.remarks, strings.Contains) {
		return false
	}
	// The rest of "Yes, …" or "In short, …" decides.
	const least, deepest = 4, 2 // words of the rest, phrases removed
	for _, p := range l.talk {
		if !strings.HasPrefix(joined, p+" ") {
			continue
		}
		rest, ended := afterPhrase(text, p)
		if len(plainWords(rest)) < least || depth == deepest {
			return !ended && !strings.Contains(p, " ")
		}
		if ended {
			return claims(rest, l, depth+1)
		}
		if strings.Contains(p, " ") {
			return false
		}
	}
	// A line that ends with a colon introduces the next ones.
	return !l.instructs(words) && !strings.HasSuffix(text, ":")
}

// hasPhrase reports whether a text of words holds one of the phrases.
func hasPhrase(joined string, phrases []string, holds func(text, phrase string) bool) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return holds(joined, p+" ") })
}

// instructs reports whether words begin with a verb of command and its object. "Open access grew" does not.
func (l *lexicon) instructs(words []string) bool {
	return len(words) > 1 && l.orders[words[0]] && l.objects[words[1]] && !slices.ContainsFunc(words, isPast)
}

// isPast reports whether a word is an auxiliary of the past, which no instruction has.
func isPast(w string) bool { return w == "was" || w == "were" || w == "wurde" || w == "wurden" }

// afterPhrase returns the text after a phrase at its beginning, and whether punctuation ends the phrase.
func afterPhrase(text, phrase string) (rest string, ended bool) {
	at := 0
	for range strings.Fields(phrase) {
		at += strings.IndexFunc(text[at:], isPhraseRune)
		if end := strings.IndexFunc(text[at:], func(c rune) bool { return !isPhraseRune(c) }); end >= 0 {
			at += end
		} else {
			at = len(text)
		}
	}
	rest = strings.TrimLeftFunc(text[at:], func(c rune) bool { return !isPhraseRune(c) })
	return rest, at == len(text) || strings.ContainsAny(text[at:at+1], ",.!;:")
}

func isPhraseRune(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c) || c == '\'' || c == '’' || c == '-'
}

// plainWords returns the words of a text in lower case.
func plainWords(text string) []string {
	text = strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	return strings.FieldsFunc(text, func(c rune) bool { return !isPhraseRune(c) })
}
