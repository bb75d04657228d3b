package quote

import (
	"unicode"
	"unicode/utf8"

	"carrel/internal/search/analysis"
)

// isStop reports whether a sentence can end with r: the stops at which passages are cut, and some rare ones.
func isStop(r rune) bool {
	switch r {
	case '‼', '⁇', '⁈', '⁉', '፧', '៕', '᠃', '꓿', '\u037e':
		return true
	case '၊': // a comma, although passages may be cut after it
		return false
	}
	return analysis.IsSentenceEnd(r)
}

// isFree reports whether a stop has no other use than to end sentences, so that no space needs to follow.
func isFree(r rune) bool {
	switch r {
	case '।', '॥', '።', '፧', '။', '។', '៕', '۔', '؟':
		return true
	}
	return false
}

// isOpening reports whether r belongs to the sentence that begins after it.
func isOpening(r rune) bool {
	switch r {
	case '(', '[', '"', '\'', '*', '_', '¿', '¡', '-', '–', '—':
		return true
	}
	return r >= utf8.RuneSelf && unicode.In(r, unicode.Ps, unicode.Pi)
}

// partner returns the bracket that closes r, or 0.
func partner(r rune) rune {
	switch r {
	case '(':
		return ')'
	case '[':
		return ']'
	case '{':
		return '}'
	case '（':
		return '）'
	case '［':
		return '］'
	case '【':
		return '】'
	case '「':
		return '」'
	case '『':
		return '』'
	case '〈':
		return '〉'
	case '《':
		return '》'
	}
	return 0
}

func isSuperscript(r rune) bool {
	return r == '¹' || r == '²' || r == '³' || '⁰' <= r && r <= '⁹' || r == '†' || r == '‡'
}

// isEllipsisInBrackets reports whether the stop at i marks omitted words: [...] or (…).
func isEllipsisInBrackets(text []rune, i int) bool {
	for i > 0 && isStop(text[i-1]) {
		i--
	}
	return i > 0 && (text[i-1] == '[' || text[i-1] == '(')
}

// isSpaceAt reports whether the code point at i is white space without a combining mark.
func isSpaceAt(text []rune, i int) bool {
	r := text[i]
	if r < utf8.RuneSelf {
		if r != ' ' && (r < '\t' || r > '\r') {
			return false
		}
	} else if !unicode.IsSpace(r) {
		return false
	}
	return i+1 == len(text) || text[i+1] < utf8.RuneSelf || analysis.BetweenCharacters(r, text[i+1])
}
