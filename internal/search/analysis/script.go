package analysis

import "unicode"

var unspacedScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// IsUnspaced reports whether a letter belongs to a script that is analysed in bigrams because it does not separate
// words by spaces. Korean has spaces, but attaches particles to words.
func IsUnspaced(r rune) bool {
	const firstThai, kanaLengthMark = '\u0e00', 'ー'
	return r >= firstThai && (isHanOrHangul(r) || r == kanaLengthMark || unicode.In(r, unspacedScripts...))
}

// isHanOrHangul reports whether r is one of the frequent characters of Chinese, Japanese and Korean, which have neither
// case nor decompositions.
func isHanOrHangul(r rune) bool { return '一' <= r && r <= '鿿' || '가' <= r && r <= '힣' }

// isTrailingJamo reports whether r is a vowel or final consonant that completes a decomposed Hangul syllable.
func isTrailingJamo(r rune) bool { return '\u1160' <= r && r <= '\u11ff' }

func isSubscript(r rune) bool { return '₀' <= r && r <= '₉' }

// isIgnorable reports whether r is invisible inside a word: soft hyphens, joiners, direction marks, and the tatweel of
// Arabic. The zero-width space is not included, because it separates words.
func isIgnorable(r rune) bool {
	const zeroWidthSpace, tatweel = '\u200b', '\u0640'
	return r == tatweel || r != zeroWidthSpace && unicode.Is(unicode.Cf, r)
}

// BetweenCharacters reports whether a text may be cut between two code points. It must not be cut within a grapheme: a
// letter and its marks, a Hangul syllable, consonants joined by a virama, a composed emoji.
func BetweenCharacters(before, after rune) bool {
	const combining, zeroWidthJoiner = '\u0300', '\u200d'
	switch {
	case before == zeroWidthJoiner, before == '\r' && after == '\n':
		return false
	case after < combining:
		return true
	case after == zeroWidthJoiner, unicode.IsMark(after), isTrailingJamo(after), isTrailingSign(after):
		return false
	}
	return (!isVirama(before) || !unicode.IsLetter(after)) && (!isRegional(before) || !isRegional(after))
}

// isVirama reports whether r joins the consonants on both sides (Unicode Standard Annex 29, rule GB9c).
func isVirama(r rune) bool {
	switch r {
	case '\u094d', '\u09cd', '\u0acd', '\u0b4d', '\u0c4d', '\u0d4d':
		return true
	}
	return false
}

// isTrailingSign reports whether r belongs to the preceding code point although it is not a mark: the vowel am of Thai
// and Lao, skin tones, and the tags of regional flags.
func isTrailingSign(r rune) bool {
	return r == '\u0e33' || r == '\u0eb3' || '\U0001f3fb' <= r && r <= '\U0001f3ff' ||
		'\U000e0020' <= r && r <= '\U000e007f'
}

// isRegional reports whether r is half of a flag.
func isRegional(r rune) bool { return '\U0001f1e6' <= r && r <= '\U0001f1ff' }
