package pdf

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// charset is the encoding of the strings of a composite font with a predefined CMap (ISO 32000-1, section 9.7.5.2).
type charset struct {
	// length returns the number of bytes of the first code of a string that is not empty.
	length func(s string) int
	// text decodes one code.
	text func(s string) string
}

// charsetOf returns the charset of a predefined CMap, or nil if it is an Identity CMap or unknown.
func charsetOf(cmap name) *charset {
	n := strings.TrimSuffix(strings.TrimSuffix(string(cmap), "-H"), "-V")
	has := func(part string) bool { return strings.Contains(n, part) }
	switch {
	case has("UCS2"), has("UTF16"):
		return &charset{utf16Length, func(s string) string { return utf16Text(s) }}
	case has("UTF32"):
		return &charset{func(string) int { return 4 }, utf32Text}
	case has("UTF8"):
		return &charset{utf8Length, clean}
	case has("RKSJ"):
		return &charset{shiftLength, decoded(japanese.ShiftJIS)}
	case n == "H", n == "V", n == "Ext", n == "Add":
		return &charset{func(string) int { return 2 }, shifted(japanese.EUCJP)}
	case n == "EUC":
		return &charset{eucLength, decoded(japanese.EUCJP)}
	case has("GBK2K"):
		return &charset{gb18030Length, decoded(simplifiedchinese.GB18030)}
	case strings.HasPrefix(n, "GB"):
		return &charset{doubleLength, decoded(simplifiedchinese.GBK)}
	case has("B5"), has("HKscs"):
		return &charset{doubleLength, decoded(traditionalchinese.Big5)}
	case strings.HasPrefix(n, "KSC") && !has("Johab"):
		return &charset{doubleLength, decoded(korean.EUCKR)}
	}
	return nil
}

func decoded(e encoding.Encoding) func(s string) string {
	d := e.NewDecoder()
	return func(s string) string {
		text, err := d.String(s)
		if err != nil {
			return ""
		}
		return clean(text)
	}
}

// shifted decodes codes of a 94 × 94 set without its high bits.
func shifted(e encoding.Encoding) func(s string) string {
	decode := decoded(e)
	return func(s string) string {
		high := []byte(s)
		for i := range high {
			high[i] |= 0x80
		}
		return decode(string(high))
	}
}

func utf16Length(s string) int {
	if len(s) >= 4 && utf16.IsSurrogate(rune(s[0])<<8|rune(s[1])) {
		return 4
	}
	return 2
}

func utf8Length(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}

func utf32Text(s string) string {
	if len(s) != 4 {
		return ""
	}
	return clean(string(rune(be32([]byte(s), 0)))) // an invalid rune becomes a replacement character, which clean removes
}

func shiftLength(s string) int {
	if c := s[0]; c >= 0x81 && c <= 0x9f || c >= 0xe0 && c <= 0xfc {
		return 2
	}
	return 1
}

func eucLength(s string) int {
	switch {
	case s[0] == 0x8f:
		return 3
	case s[0] >= 0xa1, s[0] == 0x8e:
		return 2
	}
	return 1
}

func doubleLength(s string) int {
	if s[0] > 0x80 && s[0] < 0xff {
		return 2
	}
	return 1
}

func gb18030Length(s string) int {
	if n := doubleLength(s); n == 1 || len(s) < 2 || s[1] < '0' || s[1] > '9' {
		return n
	}
	return 4
}

// cidRun is a run of character ids whose characters follow each other in a set of 94 rows of 94 characters.
type cidRun struct{ cid, code, count int }

// collection is a character collection of Adobe as far as it follows a national standard: most of its characters in
// use. The first 95 ids are ASCII.
type collection struct {
	encoding encoding.Encoding
	runs     []cidRun
}

// collections by their ordering (Adobe Technical Notes 5078, 5079, 5093).
var collections = map[string]collection{
	"Japan1": {japanese.EUCJP, []cidRun{
		{633, 0x2121, 94},
		{727, 0x2221, 14},
		{741, 0x223a, 8},
		{749, 0x224a, 7},
		{756, 0x225c, 15},
		{771, 0x2272, 8},
		{779, 0x227e, 1},
		{780, 0x2330, 10},
		{790, 0x2341, 26},
		{816, 0x2361, 26},
		{842, 0x2421, 83},
		{925, 0x2521, 86},
		{1011, 0x2621, 24},
		{1035, 0x2641, 24},
		{1059, 0x2721, 33},
		{1092, 0x2751, 33},
		{1125, 0x3021, 2965},
		{4090, 0x5021, 3388},
		{8284, 0x7425, 2},
	}},
	"GB1": {simplifiedchinese.GBK, []cidRun{
		{96, 0x2121, 94},
		{190, 0x2231, 50},
		{240, 0x2265, 10},
		{250, 0x2271, 12},
		{262, 0x2321, 94},
		{356, 0x2421, 83},
		{439, 0x2521, 86},
		{525, 0x2621, 24},
		{549, 0x2641, 24},
		{602, 0x2721, 33},
		{635, 0x2751, 33},
		{668, 0x2821, 32},
		{700, 0x2845, 38},
		{738, 0x2924, 76},
		{940, 0x3021, 3755},
		{4695, 0x5821, 3008},
	}},
	"Korea1": {korean.EUCKR, []cidRun{
		{101, 0x2121, 94},
		{195, 0x2221, 69},
		{264, 0x2321, 94},
		{358, 0x2421, 51},
		{409, 0x2455, 42},
		{461, 0x2530, 10},
		{1086, 0x3021, 2350},
		{3436, 0x4a21, 141},
	}},
}

// text returns the text of a character id, or "".
func (c collection) text(cid int) string {
	if cid >= 1 && cid <= 95 {
		return string(rune(' ' + cid - 1))
	}
	for _, r := range c.runs {
		if i := cid - r.cid; i >= 0 && i < r.count {
			cell := r.code&0xff - 0x21 + i
			return shifted(c.encoding)(string([]byte{byte(r.code>>8 + cell/94), byte(0x21 + cell%94)}))
		}
	}
	return ""
}
