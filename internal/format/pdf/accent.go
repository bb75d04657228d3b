package pdf

import (
	"math"

	"golang.org/x/text/unicode/norm"
)

// overprinted maps the accents that TeX's older fonts draw over a letter to combining characters.
var overprinted = map[string]string{
	"´": "\u0301", "`": "\u0300", "ˆ": "\u0302", "¨": "\u0308", "˜": "\u0303", "˚": "\u030a", "ˇ": "\u030c", "¯": "\u0304",
	"˘": "\u0306", "˙": "\u0307", "˝": "\u030b", "¸": "\u0327",
}

// compose merges an accent and the letter that it is drawn over, in either order, into one character.
func compose(glyphs []glyph) []glyph {
	out := glyphs[:0]
	for i := 0; i < len(glyphs); i++ {
		g := glyphs[i]
		if mark, ok := overprinted[g.text]; ok {
			if i+1 < len(glyphs) && over(g, glyphs[i+1]) {
				letter := glyphs[i+1]
				letter.text = accented(letter.text, mark)
				out = append(out, letter)
				i++
				continue
			}
			if k := len(out); k > 0 && over(g, out[k-1]) {
				out[k-1].text = accented(out[k-1].text, mark)
				continue
			}
		}
		out = append(out, g)
	}
	return out
}

// accented returns a letter with an accent. Dotless i and j exist only to carry accents, so they become i and j.
func accented(letter, mark string) string {
	switch letter {
	case "ı":
		letter = "i"
	case "ȷ":
		letter = "j"
	}
	return norm.NFC.String(letter + mark)
}

// over reports whether an accent is drawn over or under a letter rather than next to it.
func over(accent, letter glyph) bool {
	middle := (accent.x + accent.end) / 2
	return len(letter.text) <= 2 && letter.text > "@" && middle > letter.x && middle < letter.end &&
		math.Abs(accent.y-letter.y) < letter.size
}
