package analysis

import "unicode/utf8"

// Passage is a part of a text: code point offsets, the end exclusive.
type Passage struct {
	Start, End int
	// Page counts from 1 where the text has form feeds between its pages, and is 0 where it has none.
	Page int
	// Heading is the text of the nearest Markdown heading at or above the passage's start.
	Heading string
}

// Passages cuts a text into the parts that are searched on their own. There is always at least one, and a short
// text is exactly one.
func Passages(text string) []Passage {
	return []Passage{{End: utf8.RuneCountInString(text)}}
}

// Of returns the passage's part of the text. It reads the text up to the passage's end and no further.
func (p Passage) Of(text string) string {
	from := skip(text, p.Start)
	return text[from : from+skip(text[from:], p.End-p.Start)]
}

// skip returns the number of bytes of the text's first n code points.
func skip(text string, n int) int {
	for i := range text {
		if n <= 0 {
			return i
		}
		n--
	}
	return len(text)
}
