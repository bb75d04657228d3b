package favourite

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"carrel/internal/core"
)

// plainLetters replaces letters with strokes and ligatures that Unicode does not decompose by what people type.
var plainLetters = strings.NewReplacer(
	"ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ı", "i", "ς", "σ",
)

// fold returns the form in which words are compared: core.Fold without accents, with spaces for everything outside
// words.
func fold(s string) string {
	var f folder
	return string(f.append(nil, []byte(s)))
}

// folder folds text by character and caches the results, because normalizing whole texts took most of the time of a
// search over cards that are not in English.
type folder struct {
	known map[rune]string
}

// foldASCII is the result of foldRune for ASCII.
var foldASCII = func() (table [utf8.RuneSelf]byte) {
	for c := range table {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			table[c] = byte(c)
		case 'A' <= c && c <= 'Z':
			table[c] = byte(c) + 'a' - 'A'
		default:
			table[c] = ' '
		}
	}
	return table
}()

// maxKnown limits the cache; it exceeds the characters of any one language.
const maxKnown = 1 << 14

// append folds text onto dst.
func (f *folder) append(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			dst = append(dst, foldASCII[c])
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		folded, ok := f.known[r]
		if !ok {
			folded = foldRune(r)
			if f.known == nil {
				f.known = map[rune]string{}
			}
			if len(f.known) < maxKnown {
				f.known[r] = folded
			}
		}
		dst = append(dst, folded...)
		i += size
	}
	return dst
}

// foldRune folds one character. A letter with an accent and a letter followed by the accent fold alike, because the
// accent alone folds to nothing. Marks of a combining class below 10 are kept: they form another letter (Indic vowel
// signs, the kana voicing mark).
func foldRune(r rune) string {
	// Enclosed in dots, because white space at the ends would be trimmed and some characters begin with a space
	// ("¨").
	const dot = "."
	folded := strings.TrimSuffix(strings.TrimPrefix(core.Fold(dot+string(r)+dot), dot), dot)
	decomposed := norm.NFKD.String(folded)
	var out strings.Builder
	for i, r := range decomposed {
		if unicode.Is(unicode.Mn, r) && norm.NFKD.PropertiesString(decomposed[i:]).CCC() >= 10 {
			continue
		}
		if !unicode.In(r, unicode.L, unicode.N, unicode.M) {
			r = ' '
		}
		out.WriteRune(r)
	}
	return plainLetters.Replace(out.String())
}
