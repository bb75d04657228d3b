package quote

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"carrel/internal/language"
)

// definedTerm matches a term that a text defines.
var definedTerm = regexp.MustCompile(
	`\b(?:now called|known as|later called|which he calls|which she calls|he calls|names|known today as|called)` +
		` ((?:the |an? )?\pL[\pL\pN'’-]*(?: \pL[\pL\pN'’-]*){0,3})[,.;:)]`)

// longestSubject is the number of words up to which a phrase can be the subject of an example.
const longestSubject = 4

// Examples returns up to n questions that the passages answer, each by another document. They are in the language of
// the extractor, or in English if that has no language.Conversation.
func (e *Extractor) Examples(passages []Passage, n int) []string {
	texts := language.Lookup(e.analyser.Language()).Conversation
	if texts == nil {
		texts = language.Lookup(language.Default).Conversation
	}
	statistics := Count(e.analyser, passages)
	var out []string
	used := make(map[string]bool) // documents
	for _, definitions := range []bool{true, false} {
		for i := range passages {
			p := &passages[i]
			if len(out) == n || used[p.DocumentID] {
				continue
			}
			template, subjects := texts.WhatIs, definedTerms(p)
			if !definitions {
				template, subjects = texts.SaysAbout, e.namesIn(p.Text)
			}
			for _, subject := range subjects {
				question := strings.Replace(template, "%s", subject, 1)
				if !slices.Contains(out, question) && e.answeredBy(subject, p.DocumentID, passages, statistics) {
					out = append(out, question)
					used[p.DocumentID] = true
					break
				}
			}
		}
	}
	return out
}

// definedTerms returns the subject of the title, if it is short, and the terms that the text defines.
func definedTerms(p *Passage) []string {
	var out []string
	if head, _, _ := strings.Cut(p.Title, ":"); isSubject(head) && len(strings.Fields(head)) < longestSubject {
		// "The Perceptron" within a question is "the Perceptron".
		if rest, found := strings.CutPrefix(head, "The "); found {
			head = "the " + rest
		}
		out = append(out, head)
	}
	for _, match := range definedTerm.FindAllStringSubmatch(p.Text, -1) {
		if isSubject(match[1]) && !isPlural(match[1]) && !slices.Contains(out, match[1]) {
			out = append(out, match[1])
		}
	}
	return out
}

// isPlural reports whether a phrase seems to end with a plural, for which "What is" would be wrong.
func isPlural(phrase string) bool {
	return strings.HasSuffix(phrase, "s") &&
		!slices.ContainsFunc([]string{"ss", "is", "us"}, func(end string) bool { return strings.HasSuffix(phrase, end) })
}

// noSubject are words of a description rather than of a term, such as "the first compiler".
var noSubject = []string{"first", "second", "last", "only", "most", "best", "largest", "new", "other", "same"}

// isSubject reports whether a phrase is short enough to be asked for, and no sentence, list or file name. It must be in
// the script of the example questions, which is Latin.
func isSubject(phrase string) bool {
	words := strings.Fields(phrase)
	if len(words) == 0 || len(words) > longestSubject || len(words) == 1 && len(words[0]) < 3 {
		return false
	}
	for _, r := range phrase {
		if !unicode.Is(unicode.Latin, r) && !unicode.IsDigit(r) && !strings.ContainsRune(" -'’", r) {
			return false
		}
	}
	for _, word := range words {
		if slices.Contains(noSubject, strings.ToLower(word)) {
			return false
		}
	}
	return !slices.Contains(strings.Fields("in as on to of by after for and or with from"), strings.ToLower(words[0]))
}

// answeredBy reports whether a question for the subject is answered, first of all by this document.
func (e *Extractor) answeredBy(subject, document string, passages []Passage, statistics Statistics) bool {
	q := e.Ask(subject, Talk{}, nil)
	q.form, q.kind = Quotes, definition
	answer := e.Answer(q, passages, statistics)
	return answer.Outcome == Answered && len(answer.Quotes) > 0 && answer.Quotes[0].DocumentID == document
}
