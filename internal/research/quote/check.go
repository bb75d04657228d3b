package quote

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"carrel/internal/search/analysis"
)

// State is the result of checking a sentence.
type State uint8

// The states of a sentence.
const (
	Uncited     State = iota // has no citation
	Supported                // the cited quotes exist and hold all of its numbers
	Unsupported              // the citation does not exist or does not hold
)

// Reason is why a sentence is not supported.
type Reason string

// The reasons.
const (
	NoReason     Reason = ""
	NoSuchSource Reason = "no_such_source" // it cites only unknown keys
	NoQuote      Reason = "no_quote"       // there is no quote under its keys
	NumberAbsent Reason = "number_absent"  // a number is in none of its quotes
	WordsAbsent  Reason = "words_absent"   // a quotation is in none of its quotes
)

// Checked is a sentence of an answer with the result of its check.
type Checked struct {
	Start, End int // code points of the cleaned text
	Keys       []int
	State      State
	Reason     Reason
	Absent     []string // the numbers or words that are in no quote
}

// Checks is a checked answer.
type Checks struct {
	// Text is the answer with a citation [n] for every known key, and no other citations.
	Text      string
	Sentences []Checked
}

// Check checks an answer against its quotes, which are given by key. Citations have the forms [2], [1][3], [1, 3] and
// [1–3]; unknown keys are removed. A sentence with citations is supported if there is a quote under one of its keys,
// and every number and every longer quotation in it occurs in one of these quotes. Numbers are compared by value.
// Number words from two to twelve are compared only if the quotes hold small numbers too, because a sentence may count
// its sources.
func Check(answer string, quotes map[int][]string) Checks {
	text, unknown := cleanMarks([]rune(answer), quotes)
	// Removing a nested citation can form a new one: [9[9]].
	removed := unknown
	for pass := 0; len(removed) > 0 && pass < maxPasses; pass++ {
		text, removed = cleanMarks(text, quotes)
		unknown = append(unknown, removed...)
	}
	if len(removed) > 0 {
		text = slices.DeleteFunc(text, func(r rune) bool { return r == '[' || r == '【' })
	}
	checks := Checks{Text: string(text)}
	for _, s := range sentencesOf(text, rulesOf(analysis.Guess(checks.Text))) {
		c := Checked{Start: s.Start, End: s.End}
		if s.Kind == Prose || s.Kind == Item {
			c.Keys = keysIn(text[s.Start:s.End])
			lost := len(c.Keys) == 0 &&
				slices.ContainsFunc(unknown, func(at int) bool { return s.Start < at && at <= s.End })
			c.judge(string(withoutMarks(text[s.Body:s.End])), quotes, lost)
		}
		checks.Sentences = append(checks.Sentences, c)
	}
	return checks
}

// judge sets the state of a sentence from its text without citations. Lost means that it cited only unknown keys.
func (c *Checked) judge(text string, quotes map[int][]string, lost bool) {
	switch {
	case lost:
		c.State, c.Reason = Unsupported, NoSuchSource
		return
	case len(c.Keys) == 0:
		return
	}
	var cited []string
	for _, key := range c.Keys {
		for _, quote := range quotes[key] {
			if strings.ContainsFunc(quote, isWordRune) {
				cited = append(cited, quote)
			}
		}
	}
	c.State = Unsupported
	if len(cited) == 0 {
		c.Reason = NoQuote
		return
	}
	if c.Absent = absentNumbers(text, cited); len(c.Absent) > 0 {
		c.Reason = NumberAbsent
		return
	}
	if c.Absent = absentWords(text, cited); len(c.Absent) > 0 {
		c.Reason = WordsAbsent
		return
	}
	c.State = Supported
}

// absentNumbers returns the numbers of a text that are in none of the quotes.
func absentNumbers(text string, quotes []string) []string {
	wanted := numerals(text)
	if len(wanted) == 0 {
		return nil
	}
	var there []numeral
	for _, quote := range quotes {
		there = append(there, numerals(quote)...)
	}
	small := slices.ContainsFunc(there, isSmall)
	var absent []string
	for _, n := range wanted {
		if n.word && !small {
			continue
		}
		if !slices.ContainsFunc(there, func(o numeral) bool { return o.value == n.value && (o.percent || !n.percent) }) {
			absent = append(absent, n.text)
		}
	}
	return absent
}

// isSmall reports whether a number could be written as a word.
func isSmall(n numeral) bool {
	value, err := strconv.Atoi(n.value)
	return err == nil && 2 <= value && value <= 12 && !n.percent
}

// absentWords returns the quotations in a text that are in none of the quotes. Up to three words may be a term or a
// title rather than a quotation.
func absentWords(text string, quotes []string) []string {
	const least = 4
	var absent []string
	for part := range quotations(text) {
		if len(strings.Fields(part)) < least {
			continue
		}
		part = strings.TrimRight(part, ".,;:!?… ")
		if !slices.ContainsFunc(quotes, func(quote string) bool { _, _, ok := Find(quote, part); return ok }) {
			absent = append(absent, part)
		}
	}
	return absent
}

// quotations yields the texts in double quotation marks.
func quotations(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		open := -1
		for i, r := range text {
			if !isDoubleQuote(r) {
				continue
			}
			if open < 0 {
				open = i + len(string(r))
				continue
			}
			if !yield(text[open:i]) {
				return
			}
			open = -1
		}
	}
}

// maxRange limits a range of keys such as [1–3].
const maxRange = 20

// cleanMarks writes every citation as [n] for its known keys, and returns the positions of citations that were removed.
func cleanMarks(text []rune, quotes map[int][]string) ([]rune, []int) {
	out := make([]rune, 0, len(text))
	var removed []int
	for i := 0; i < len(text); {
		size := markSize(text[i:])
		if size == 0 {
			out = append(out, text[i])
			i++
			continue
		}
		known := 0
		for _, key := range keysOf(text[i+1 : i+size-1]) {
			if _, ok := quotes[key]; ok {
				out = append(out, []rune("["+strconv.Itoa(key)+"]")...)
				known++
			}
		}
		i += size
		if known > 0 {
			continue
		}
		// Remove the space before it as well, unless a word follows.
		wordFollows := i < len(text) && (unicode.IsLetter(text[i]) || unicode.IsDigit(text[i]))
		if n := len(out); n > 0 && out[n-1] == ' ' && !wordFollows {
			out = out[:n-1]
		}
		removed = append(removed, len(out))
	}
	return out, removed
}

// markSize returns the length of the citation at the start of a text, or 0. Some models write 【1】.
func markSize(text []rune) int {
	if text[0] == '[' {
		return citationSize(text)
	}
	if text[0] != '【' {
		return 0
	}
	end := slices.Index(text[:min(len(text), 40)], '】')
	if end < 0 {
		return 0
	}
	plain := slices.Concat([]rune("["), text[1:end], []rune("]"))
	if citationSize(plain) == len(plain) {
		return end + 1
	}
	return 0
}

// keysOf returns the distinct keys of a citation, in order.
func keysOf(mark []rune) []int {
	var keys []int
	text := strings.NewReplacer("–", "-", " - ", "-", " – ", "-").Replace(string(mark))
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ';' || r == ' ' }) {
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		if err != nil {
			continue
		}
		to := from
		if ranged {
			if to, err = strconv.Atoi(last); err != nil || to < from || to-from >= maxRange {
				to = from
			}
		}
		for key := from; key <= to; key++ {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// keysIn returns the distinct keys that a cleaned text cites, in order.
func keysIn(text []rune) []int {
	var keys []int
	for i := 0; i < len(text); i++ {
		if size := markSize(text[i:]); size > 0 {
			for _, key := range keysOf(text[i+1 : i+size-1]) {
				if !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
			i += size - 1
		}
	}
	return keys
}

func withoutMarks(text []rune) []rune {
	out := make([]rune, 0, len(text))
	for i := 0; i < len(text); {
		if size := markSize(text[i:]); size > 0 {
			out = append(out, ' ')
			i += size
			continue
		}
		out = append(out, text[i])
		i++
	}
	return out
}
