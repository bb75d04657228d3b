package pdf

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// rightToLeft reports whether a character belongs to a script that is written from right to left.
func rightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8ff && !unicode.IsDigit(r) || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff ||
		r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1eeff
}

func hasRightToLeft(s string) bool { return strings.IndexFunc(s, rightToLeft) >= 0 }

// visual sorts the glyphs of lines with right-to-left text from left to right, because some programs draw them in
// logical order and others in the order of their places. The text of such a glyph, which may be several characters, is
// reversed; logical restores it with the rest of the line.
func visual(glyphs []glyph) []glyph {
	for start := 0; start < len(glyphs); {
		end, found := start, false
		for ; end < len(glyphs) && math.Abs(glyphs[end].y-glyphs[start].y) < 0.1*glyphs[start].size; end++ {
			if g := &glyphs[end]; hasRightToLeft(g.text) {
				g.text, found = reversed(norm.NFKC.String(g.text)), true
			}
		}
		end = max(end, start+1)
		if found {
			slices.SortStableFunc(glyphs[start:end], byMiddle)
		}
		start = end
	}
	return glyphs
}

// byMiddle orders glyphs by their middle. Marks are as wide as nothing and stand over or under their letter.
func byMiddle(a, b glyph) int {
	switch d := a.x + a.end - b.x - b.end; {
	case d < 0:
		return -1
	case d > 0:
		return 1
	}
	return 0
}

func reversed(s string) string {
	runes := []rune(s)
	slices.Reverse(runes)
	return string(runes)
}

// logical turns a line whose characters are ordered from left to right into the order of reading.
func logical(line string) string {
	if !hasRightToLeft(line) {
		return line
	}
	runes := []rune(line)
	right, left := 0, 0
	for _, r := range runes {
		switch {
		case rightToLeft(r):
			right++
		case unicode.IsLetter(r):
			left++
		}
	}
	if right < left { // a line that is read from left to right, with words in between that are not
		turnRuns(runes, rightToLeft, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		return string(marksBehind(runes))
	}
	slices.Reverse(runes)
	for i, r := range runes {
		if m, ok := mirrors[r]; ok {
			runes[i] = m
		}
	}
	turnRuns(runes, func(r rune) bool { return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !rightToLeft(r) },
		func(r rune) bool { return strings.ContainsRune(".,:/-@_'", r) })
	return string(marksBehind(runes))
}

// turnRuns reverses the runs of characters that are inside, including others that inner accepts between them.
func turnRuns(runes []rune, inside, inner func(rune) bool) {
	for i := 0; i < len(runes); i++ {
		if !inside(runes[i]) {
			continue
		}
		end := i + 1
		for j := end; j < len(runes) && (inside(runes[j]) || inner(runes[j])); j++ {
			if inside(runes[j]) {
				end = j + 1
			}
		}
		slices.Reverse(runes[i:end])
		i = end - 1
	}
}

// marksBehind moves combining marks, which reversal has put before their letter, behind it.
func marksBehind(runes []rune) []rune {
	for i := 0; i+1 < len(runes); i++ {
		if unicode.Is(unicode.Mn, runes[i]) && rightToLeft(runes[i+1]) && !unicode.Is(unicode.Mn, runes[i+1]) &&
			(i == 0 || !rightToLeft(runes[i-1])) {
			runes[i], runes[i+1] = runes[i+1], runes[i]
		}
	}
	return runes
}

// mirrors are the characters whose shape is mirrored in text from right to left.
var mirrors = map[rune]rune{
	'(': ')', ')': '(', '[': ']', ']': '[', '{': '}', '}': '{', '<': '>', '>': '<', '«': '»', '»': '«',
}
