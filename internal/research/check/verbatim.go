package check

import (
	"strings"
	"unicode"

	"carrel/internal/research/quote"
)

// wholeSentences finds a text in a quote where it covers whole sentences. A part of a sentence may mean something else
// than the whole: "No one believes that …".
func wholeSentences(source, sentence, code string) (start, end int, ok bool) {
	wanted := trimEnds(sentence)
	if len(strings.Fields(wanted)) < 2 {
		return 0, 0, false
	}
	start, end, ok = quote.Find(source, wanted)
	if !ok {
		return 0, 0, false
	}
	runes := []rune(source)
	begins, stops := false, false
	for _, s := range quote.Sentences(source, code) {
		begins = begins || s.Start <= start && onlyMarks(runes[s.Start:start])
		stops = stops || end <= s.End && onlyMarks(runes[end:s.End])
	}
	return start, end, begins && stops
}

// onlyMarks reports whether a text holds no letter and no digit.
func onlyMarks(text []rune) bool {
	for _, c := range text {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return false
		}
	}
	return true
}

// leastQuotation is the number of words from which on a text in quotation marks is a quotation, and not a term or
// title.
const leastQuotation = 4

// quotations checks the texts in double quotation marks. The sentence is quoted if the rest of it says nothing.
func (j *judge) quotations(e Evidence) (Finding, bool) {
	if !strings.ContainsAny(j.sentence, "\"“„«»”") {
		return Finding{}, false
	}
	found := Finding{State: Quoted, Start: -1}
	rest, open := []rune(nil), -1
	runes := []rune(j.sentence)
	for i, c := range runes {
		if !isDoubleQuote(c) {
			if open < 0 {
				rest = append(rest, c)
			}
			continue
		}
		if open < 0 {
			open = i + 1
			continue
		}
		part := trimEnds(strings.TrimRight(string(runes[open:i]), ",;: "))
		open = -1
		if len(strings.Fields(part)) < leastQuotation {
			return Finding{}, false
		}
		start, end, ok := quote.Find(e.Quote, part)
		if !ok && e.Context != "" {
			if _, _, there := quote.Find(e.Context, part); there {
				return Finding{}, false
			}
		}
		if !ok {
			return Finding{
				State: Unsupported, Reason: WordsAbsent, Detail: "The source does not hold the words “" + part + "”.",
			}, true
		}
		if found.Start < 0 {
			found.Start, found.End = start, end
		}
	}
	if found.Start < 0 || open >= 0 || !j.saysNothing(string(rest), e) {
		return Finding{}, false
	}
	return found, true
}

// saysNothing reports whether a text holds only function words, words of saying, and words of the title.
func (j *judge) saysNothing(rest string, e Evidence) bool {
	title := make(map[string]bool)
	for t := range j.reader.analyser.Tokens(e.Title) {
		title[t.Term] = true
	}
	for _, t := range j.reader.read(rest) {
		if j.counts(&t) && t.entry.role&attributes == 0 && !title[t.term] {
			return false
		}
		if t.entry.role&(negates|quantifies) != 0 {
			return false
		}
	}
	return true
}

func isDoubleQuote(c rune) bool {
	switch c {
	case '"', '“', '”', '„', '«', '»':
		return true
	}
	return false
}
