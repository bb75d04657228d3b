package quote

import (
	"bytes"
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"

	"carrel/internal/search/analysis"
)

// Text is a text prepared for finding many quotes in it.
type Text struct{ *folded }

// NewText prepares a text.
func NewText(text string) Text { return Text{fold(text)} }

// Find returns the position of a quote in a text: code point offsets in the original text, the end exclusive.
//
// Quote and text may differ in white space, hyphens, dashes, quotation marks, ligatures and other compatible forms
// (NFKC), soft hyphens, and words broken at the end of a line. Letters, their case, and digits must be equal. A quote
// must begin and end at word boundaries, so that "5 percent" is not found in "2.5 percent", nor "linear" in
// "non-linear". It cannot begin within a web address.
func Find(text, quote string) (start, end int, ok bool) { return NewText(text).Find(quote) }

// Find returns the position of a quote; see the function Find.
func (t Text) Find(quote string) (start, end int, ok bool) {
	q := fold(quote)
	hanging := trimHyphen(q)
	if !bytes.ContainsFunc(q.text, isWordRune) {
		return 0, 0, false
	}
	for from := 0; ; {
		at := bytes.Index(t.text[from:], q.text)
		if at < 0 {
			return 0, 0, false
		}
		at += from
		if to := at + len(q.text); t.whole(at, to) && t.begins(at) && t.stops(to, hanging) && t.sameHyphens(q, at) {
			return int(t.starts[at]), int(t.end(to, hanging)), true
		}
		_, size := utf8.DecodeRune(t.text[at:])
		from = at + size
	}
}

// trimHyphen removes a hyphen from the end of a quote, as of "pre-" from "pre- and postwar", and reports whether there
// was one.
func trimHyphen(q *folded) bool {
	n := len(q.text)
	if n < 2 || q.text[n-1] != '-' {
		return false
	}
	if before, _ := utf8.DecodeLastRune(q.text[:n-1]); !isWordLetter(before) {
		return false
	}
	q.text = q.text[:n-1]
	return true
}

// whole reports whether a match does not split a code point of the original, such as the ½ of "1".
func (f *folded) whole(at, to int) bool {
	return (at == 0 || f.starts[at] != f.starts[at-1]) && (to == len(f.text) || f.starts[to] != f.starts[to-1])
}

// hyphenAt returns the hyphen before a byte.
func (f *folded) hyphenAt(at int) (hyphen, bool) {
	i := f.hyphenFrom(at)
	if i < len(f.hyphens) && f.hyphens[i].at == at {
		return f.hyphens[i], true
	}
	return hyphen{}, false
}

// hyphenFrom returns the index of the first hyphen at or after a byte.
func (f *folded) hyphenFrom(at int) int {
	i, _ := slices.BinarySearchFunc(f.hyphens, at, func(h hyphen, at int) int { return cmp.Compare(h.at, at) })
	return i
}

// begins reports whether a word or a number begins at a byte.
func (f *folded) begins(at int) bool {
	if at == 0 {
		return true
	}
	if h, ok := f.hyphenAt(at); ok {
		return h.kind == dash || h.kind == gap
	}
	first, _ := utf8.DecodeRune(f.text[at:])
	before, size := utf8.DecodeLastRune(f.text[:at])
	if unicode.IsMark(first) || f.insideAddress(at) {
		return false
	}
	if isWordRune(first) && isWordRune(before) {
		return analysis.IsUnspaced(first) || analysis.IsUnspaced(before)
	}
	if !unicode.IsDigit(first) {
		return true
	}
	// A number includes a point, comma, slash or sign before its digits.
	earlier, _ := utf8.DecodeLastRune(f.text[:at-size])
	switch before {
	case '.', ',', '/', ':', '⁄':
		return !unicode.IsDigit(earlier) && (before != '.' || at != size && earlier != ' ' && earlier != '-')
	case '-':
		// Between two numbers it is a range, and after a word a joint (COVID-19).
		return unicode.IsDigit(earlier)
	}
	return !isRaised(before)
}

// longestAddress is how far back the scheme of a web address is looked for, in bytes.
const longestAddress = 2048

// insideAddress reports whether a byte is within a web address, after the letters of its scheme. An address without its
// scheme would not be recognized as a link and removed.
func (f *folded) insideAddress(at int) bool {
	const mark = "://"
	from := max(0, at-longestAddress)
	from += bytes.LastIndexByte(f.text[from:at], ' ') + 1
	return bytes.Contains(f.text[from:min(len(f.text), at+len(mark))], []byte(mark))
}

// stops reports whether a word or a number ends before a byte. Hanging means that a hyphen must follow.
func (f *folded) stops(to int, hanging bool) bool {
	h, aside := f.hyphenAt(to)
	if hanging {
		if aside || to == len(f.text) || f.text[to] != '-' {
			return aside
		}
		after, _ := utf8.DecodeRune(f.text[to+1:])
		return !unicode.IsMark(after)
	}
	if aside {
		return h.kind == dash
	}
	if to == len(f.text) {
		return true
	}
	last, _ := utf8.DecodeLastRune(f.text[:to])
	next, size := utf8.DecodeRune(f.text[to:])
	if unicode.IsMark(next) {
		return false
	}
	if isWordRune(last) && isWordRune(next) {
		return analysis.IsUnspaced(last) || analysis.IsUnspaced(next) || isWordLetter(last) && f.isNote(to)
	}
	later, _ := utf8.DecodeRune(f.text[to+size:])
	switch {
	case unicode.IsDigit(last):
		switch next {
		case '.', ',', '/', ':', '⁄':
			return !unicode.IsDigit(later)
		}
		return !isRaised(next)
	case next == '\'' && isWordLetter(last) && isWordLetter(later):
		// The rest of "can't" changes the meaning, the rest of "Zipf's" does not.
		after, _ := utf8.DecodeRune(f.text[min(len(f.text), to+size+1):])
		return later == 's' && !isWordRune(after)
	}
	return true
}

// isNote reports whether the byte was a superscript digit after a letter: the number of a note, or a power.
func (f *folded) isNote(at int) bool {
	_, found := slices.BinarySearch(f.notes, at)
	return found
}

// sameHyphens reports whether the hyphens within the quote match the hyphens of the text at a position.
func (f *folded) sameHyphens(q *folded, at int) bool {
	i := f.hyphenFrom(at + 1)
	j := 0
	for {
		mine, theirs := len(q.text), len(q.text)
		if i < len(f.hyphens) {
			mine = min(mine, f.hyphens[i].at-at)
		}
		if j < len(q.hyphens) {
			theirs = min(theirs, q.hyphens[j].at)
		}
		place := min(mine, theirs)
		if place >= len(q.text) {
			return true
		}
		a, b := none, none
		if mine == place {
			a = f.hyphens[i].kind
			i++
		}
		if theirs == place {
			b = q.hyphens[j].kind
			j++
		}
		if !a.same(b) {
			return false
		}
	}
}

// end returns the end of a match in the original.
func (f *folded) end(to int, hanging bool) int32 {
	if hanging && to < len(f.text) && f.text[to] == '-' {
		return f.ends[to]
	}
	if h, aside := f.hyphenAt(to); hanging && aside {
		return h.end
	}
	return f.ends[to-1]
}

func isWordRune(r rune) bool { return isWordLetter(r) || unicode.IsDigit(r) }
