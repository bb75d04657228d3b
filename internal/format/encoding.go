package format

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

const (
	// encodingSample is how much of a text is examined to find its encoding.
	encodingSample = 64 << 10
	// isolatedRun is the mean length of runs of bytes outside ASCII up to which a text is in a Latin script: accented
	// letters stand between plain ones, letters of other scripts follow each other.
	isolatedRun = 1.7
	// minPlausible is the share of plausible characters from which a guess is accepted.
	minPlausible = 0.9
)

// guessEncoding returns the encoding of a text that is not UTF-8, or nil if it may not be a text.
func guessEncoding(data []byte) encoding.Encoding {
	if len(data) > encodingSample {
		data = data[:encodingSample]
		if at := bytes.LastIndexByte(data, '\n'); at > 0 {
			data = data[:at] // does not cut a character of several bytes
		}
	}
	runs, high, control := 0, 0, 0
	for i, c := range data {
		switch {
		case c == 0:
			return nil
		case c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\x1b':
			control++
		case c >= utf8.RuneSelf:
			high++
			if i == 0 || data[i-1] < utf8.RuneSelf {
				runs++
			}
		}
	}
	if control > len(data)/100 {
		return nil
	}
	if float64(high) <= isolatedRun*float64(runs) && plausibleLatin(data) >= minPlausible {
		return charmap.Windows1252
	}
	return likeliest(data)
}

// candidate is an encoding with the characters that are frequent in its texts, and their least share.
type candidate struct {
	encoding encoding.Encoding
	frequent func(r rune) bool
	least    float64
}

// multibyte lists encodings of several bytes per character. The first that fits is taken: later ones accept texts of
// earlier ones.
var multibyte = []candidate{
	{japanese.ShiftJIS, isKana, 0.3},
	{japanese.EUCJP, isKana, 0.3},
	{korean.EUCKR, func(r rune) bool { return unicode.Is(unicode.Hangul, r) }, 0.9},
	{simplifiedchinese.GBK, isChinese(simplifiedchinese.HZGB2312), 0.9},
	{traditionalchinese.Big5, func(r rune) bool { return unicode.Is(unicode.Han, r) }, 0.9},
}

// withCase lists encodings of scripts with capitals, of which the most plausible is taken.
var withCase = []candidate{
	{charmap.Windows1251, isLower(unicode.Cyrillic), 0.6},
	{charmap.KOI8R, isLower(unicode.Cyrillic), 0.6},
	{charmap.CodePage866, isLower(unicode.Cyrillic), 0.6},
	{charmap.ISO8859_5, isLower(unicode.Cyrillic), 0.6},
	{charmap.Windows1253, isLower(unicode.Greek), 0.6},
}

// withoutCase lists encodings of scripts without capitals, which accept texts of withCase.
var withoutCase = []candidate{
	{charmap.Windows1255, func(r rune) bool { return unicode.Is(unicode.Hebrew, r) }, 0.8},
	{charmap.Windows1256, func(r rune) bool { return unicode.Is(unicode.Arabic, r) }, 0.8},
	{charmap.Windows874, func(r rune) bool { return unicode.Is(unicode.Thai, r) }, 0.8},
}

// isKana accepts full-width kana, half of a Japanese text. Other texts decoded as Japanese give kanji or half-width
// kana.
func isKana(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) && r < 0xff00 }

// isChinese accepts the characters of a small set, because in larger ones nearly every pair of bytes is a character.
func isChinese(small encoding.Encoding) func(r rune) bool {
	return func(r rune) bool {
		if !unicode.Is(unicode.Han, r) {
			return false
		}
		_, err := small.NewEncoder().String(string(r))
		return err == nil
	}
}

// isLower accepts lower-case letters: in another encoding of the same script they become capitals.
func isLower(script *unicode.RangeTable) func(r rune) bool {
	return func(r rune) bool { return unicode.Is(script, r) && !unicode.IsUpper(r) }
}

// likeliest returns the encoding of a text in another script than Latin, or nil.
func likeliest(data []byte) encoding.Encoding {
	data = data[:min(len(data), encodingSample/8)]
	if fits := firstFit(multibyte, data); fits != nil {
		return fits
	}
	var best encoding.Encoding
	most := 0.0
	for _, c := range withCase {
		if share := c.share(data); share >= c.least && share > most {
			best, most = c.encoding, share
		}
	}
	if best != nil {
		return best
	}
	return firstFit(withoutCase, data)
}

func firstFit(candidates []candidate, data []byte) encoding.Encoding {
	for _, c := range candidates {
		if c.share(data) >= c.least {
			return c.encoding
		}
	}
	return nil
}

// share returns the share of frequent characters among those outside ASCII.
func (c candidate) share(data []byte) float64 {
	decoded, err := c.encoding.NewDecoder().Bytes(data)
	if err != nil {
		return 0
	}
	frequent, others, invalid := 0, 0, -2 // the end of the sample may be cut
	for _, r := range string(decoded) {
		switch {
		case r == utf8.RuneError:
			invalid++
		case r < utf8.RuneSelf || unicode.IsPunct(r):
		case c.frequent(r):
			frequent++
		default:
			others++
		}
	}
	return float64(frequent) / float64(max(frequent+others+5*max(invalid, 0), 1))
}

// plausibleLatin returns the share of characters outside ASCII that texts in Latin script have.
func plausibleLatin(data []byte) float64 {
	good, all := 0, 0
	for _, c := range data {
		if c < utf8.RuneSelf {
			continue
		}
		all++
		if r := charmap.Windows1252.DecodeByte(c); r != utf8.RuneError && r >= 0xa0 {
			good++
		}
	}
	return float64(good) / float64(max(all, 1))
}
