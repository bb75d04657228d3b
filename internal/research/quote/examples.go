package quote

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/language"
	"carrel/internal/lazyregexp"
)

// definedTerm matches a term that a text defines.
var definedTerm = lazyregexp.New(
	`\b(?:now called|known as|later called|which he calls|which she calls|he calls|names|known today as|called)` +
		` ((?:the |an? )?\pL[\pL\pN'’-]*(?: \pL[\pL\pN'’-]*){0,3})[,.;:)]`)

// longestSubject is the number of words up to which a phrase can be the subject of an example.
const longestSubject = 4

// Examples returns up to n questions that the passages answer, each by another document. They are in the language of
// the extractor. Definitions come first, then names, then the key terms of documents that have neither.
func (e *Extractor) Examples(passages []Passage, n int) []string {
	whatIs, saysAbout := e.exampleTemplates()
	kinds := []struct {
		template string
		subjects func(*Passage) []string
	}{
		{whatIs, definedTerms},
		{saysAbout, func(p *Passage) []string { return e.namesIn(p.Text) }},
		{saysAbout, e.keyTerms},
	}
	statistics := Count(e.analyser, passages)
	var out []string
	used := make(map[string]bool) // documents
	for _, kind := range kinds {
		for i := range passages {
			p := &passages[i]
			if len(out) == n || used[p.DocumentID] {
				continue
			}
			for _, subject := range kind.subjects(p) {
				question := strings.Replace(kind.template, "%s", subject, 1)
				if !slices.Contains(out, question) && e.answeredBy(question, p.DocumentID, passages, statistics) {
					out = append(out, question)
					used[p.DocumentID] = true
					break
				}
			}
		}
	}
	return out
}

// exampleTemplates returns the questions for a definition and for statements about a subject. In a language without
// these texts the question is the subject alone.
func (e *Extractor) exampleTemplates() (whatIs, saysAbout string) {
	of := language.Lookup(e.analyser.Language())
	if of.Conversation == nil {
		return "%s", "%s"
	}
	return of.Conversation.WhatIs, of.Conversation.SaysAbout
}

// definedTerms returns the subject of the title, if it is short, and the terms that the text defines.
func definedTerms(p *Passage) []string {
	var out []string
	head, _, _ := strings.Cut(p.Title, ":")
	if !strings.Contains(head, " ") {
		head = strings.NewReplacer("-", " ", "_", " ").Replace(head) // the name of a file
	}
	if isSubject(head) && len(strings.Fields(head)) < longestSubject {
		// "The Perceptron" within a question is "the Perceptron".
		if rest, found := strings.CutPrefix(head, "The "); found {
			head = "the " + rest
		} else if lower := lowerFirst(head); strings.Contains(p.Text, " "+lower) {
			head = lower // it is no name
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

func lowerFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(first)) + s[size:]
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

// answeredBy reports whether a question is answered, first of all by this document.
func (e *Extractor) answeredBy(question, document string, passages []Passage, statistics Statistics) bool {
	q := e.Ask(question, Talk{}, nil)
	q.form, q.kind = Quotes, definition
	answer := e.Answer(q, passages, statistics)
	return answer.Outcome == Answered && len(answer.Quotes) > 0 && answer.Quotes[0].DocumentID == document
}
