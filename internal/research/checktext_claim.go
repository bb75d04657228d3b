package research

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"carrel/internal/language"
	"carrel/internal/lazyregexp"
	"carrel/internal/research/check"
	"carrel/internal/research/quote"
	"carrel/internal/search/analysis"
	"carrel/internal/thread"
)

// claim is a sentence of a text that states a fact.
type claim struct {
	sentence *CheckedSentence
	// text is the sentence without Markdown.
	text string
	// subject are the words of an earlier sentence that a pronoun at the beginning refers to, or "".
	subject string
	// terms are the terms of the claim in each language of the sources.
	terms map[string]*claimTerms
	// found are the candidates for evidence, best first.
	found []candidate
	// ranked means that the ranker has read candidates.
	ranked bool
}

// split splits the text into sentences and claims. Headings, code, tables and sentences that state no fact are talk.
func (t *textCheck) split() {
	runes := []rune(t.text)
	t.language = cmp.Or(analysis.Guess(t.text), t.mainLanguage())
	all := quote.Sentences(t.text, t.language)
	t.sentences = make([]CheckedSentence, 0, len(all))
	subjects := pronounsOf(t.language)
	before := ""
	for _, s := range all {
		t.sentences = append(t.sentences, CheckedSentence{
			Check: thread.Check{Start: s.Start, End: s.End, State: thread.Talk},
		})
		text := plainSentence(string(runes[s.Body:s.End]))
		if s.Kind == quote.Heading {
			before = text
		}
		if s.Kind != quote.Prose && s.Kind != quote.Item || countWords(text) < 2 || !check.Claims(text, t.language) {
			continue
		}
		sentence := &t.sentences[len(t.sentences)-1]
		sentence.State = thread.Uncited
		c := &claim{sentence: sentence, text: text}
		if subjects[firstWord(text)] {
			c.subject = before
		} else {
			before = subjectOf(text)
		}
		t.claims = append(t.claims, c)
	}
}

// mainLanguage returns the language of the source with the most documents.
func (t *textCheck) mainLanguage() string {
	code, most := "", -1
	for _, src := range t.sources {
		if src.Documents > most {
			code, most = src.Language, src.Documents
		}
	}
	return code
}

// countWords counts the words with a letter or digit.
func countWords(text string) (n int) {
	for w := range strings.FieldsSeq(text) {
		if strings.TrimFunc(w, isMark) != "" {
			n++
		}
	}
	return n
}

// pronounsOf returns the words that at the beginning of a sentence refer to the sentence before.
func pronounsOf(code string) map[string]bool {
	out := make(map[string]bool)
	if v := language.LookupOrDefault(code).Vocabulary; v != nil {
		for w := range strings.FieldsSeq(v.Subjects) {
			out[w] = true
		}
	}
	return out
}

func isMark(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// firstWord returns the first word of a sentence in lower case.
func firstWord(text string) string {
	text = strings.TrimLeftFunc(text, isMark)
	if end := strings.IndexFunc(text, isMark); end >= 0 {
		text = text[:end]
	}
	return strings.ToLower(text)
}

// subjectOf returns the words that a pronoun in the next sentence is likely to refer to: the first name, or else the
// first words.
func subjectOf(text string) string {
	const most = 4 // words
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) })
	var name []string
	for i, w := range words {
		w = strings.TrimFunc(w, isMark)
		first, _ := firstRune(w)
		capital := unicode.IsUpper(first)
		switch {
		case capital && (i > 0 || len(words) > 1 && startsUpper(words[1])) || capital && len(name) > 0:
			name = append(name, w)
		case len(name) > 0:
			return strings.Join(name, " ")
		}
		if len(name) == most {
			break
		}
	}
	if len(name) > 0 {
		return strings.Join(name, " ")
	}
	return strings.Join(words[:min(len(words), most)], " ")
}

func firstRune(w string) (rune, bool) {
	for _, r := range w {
		return r, true
	}
	return 0, false
}

func startsUpper(w string) bool {
	r, ok := firstRune(strings.TrimFunc(w, isMark))
	return ok && unicode.IsUpper(r)
}

// linkTarget is the address of a link, which may contain a pair of brackets.
const linkTarget = `\([^()\s]*(?:\([^()\s]*\)[^()\s]*)?\)`

var (
	imageMark    = lazyregexp.New(`!\[[^\]]*\]` + linkTarget)
	linkMark     = lazyregexp.New(`\[([^\]]+)\]` + linkTarget)
	footnoteMark = lazyregexp.New(`\[[\^@][^\]]*\]`)
	quoteLine    = lazyregexp.New(`(?:^|\n)[ \t]*>[ \t]?`)
	emphasis     = strings.NewReplacer("**", "", "__", "", "~~", "", "`", "", "*", "")
	underscores  = lazyregexp.New(`(^|[^\pL\pN])_+|_+([^\pL\pN]|$)`)
	spaces       = lazyregexp.New(`\s+`)
)

// plainSentence removes Markdown from a sentence: images, notes, emphasis, and the addresses of links.
func plainSentence(text string) string {
	if strings.ContainsAny(text, "[>*_`~") {
		text = imageMark.ReplaceAllString(text, "")
		text = linkMark.ReplaceAllString(text, "$1")
		text = footnoteMark.ReplaceAllString(text, "")
		text = quoteLine.ReplaceAllString(text, " ")
		text = emphasis.Replace(text)
		text = underscores.ReplaceAllString(text, "$1$2")
	}
	return strings.TrimSpace(spaces.ReplaceAllString(markNumber.ReplaceAllString(text, ""), " "))
}

// searchText returns the words of a claim as a query without operators.
func (c *claim) searchText() string {
	text := c.subject + " " + c.text
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("'’-.,", r)
	})
	for i, w := range words {
		words[i] = strings.Trim(w, "'’-.,")
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}
