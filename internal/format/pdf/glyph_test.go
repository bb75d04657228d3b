package pdf

import (
	"fmt"
	"strings"
	"testing"
)

// The rules of the Adobe Glyph List specification, and names of TeX fonts that follow none.
func TestGlyphNamesBecomeText(t *testing.T) {
	t.Parallel()
	for glyph, want := range map[string]string{
		"A": "A", "z": "z", "one": "1", "space": " ", "nbspace": " ", "germandbls": "ß", "AE": "Æ", "Lslash": "Ł",
		"eacute": "é", "Udieresis": "Ü", "ccedilla": "ç", "ncaron": "ň", "aring": "å", "Odblacute": "", "uhungarumlaut": "ű",
		"tcommaaccent": "ț", "aogonek": "ą", "Idotaccent": "İ", "adotbelow": "ạ", "ahookabove": "ả",
		"f_i": "fi", "f_f_i": "ffi", "T_h": "Th", "one_two.frac": "12", "f_nosuch": "f",
		"a.sc": "a", "one.oldstyle": "1", "eacute.alt": "é", ".notdef": "", ".null": "",
		"uni20AC": "€", "uni00660069": "fi", "uni20A": "", "uni20ACX": "", "uniXYZW": "", "uni0007": "", "uniD835": "",
		"u1D11E": "𝄞", "u20AC": "€", "u110000": "", "u20": "", "u12345678": "",
		"alpha": "α", "Omega": "Ω", "infinity": "∞", "negationslash": "/", "dotlessi": "ı", "visiblespace": " ",
		"g123": "", "cid42": "", "nosuchname": "", "": "", "é": "é", "1acute": "",
	} {
		if got := glyphText(glyph); got != want {
			t.Errorf("%q: got %q, want %q", glyph, got, want)
		}
	}
}

// The code tables of ISO 32000-1, annex D, at the places where the encodings differ.
func TestPredefinedEncodings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code                     int
		standard, mac, win, text rune
	}{
		{0x27, '’', '\'', '\'', '\''},
		{0x60, '‘', '`', '`', '`'},
		{0x80, 0, 'Ä', '€', '•'},
		{0x8a, 0, 'ä', 'Š', '−'},
		{0x93, 0, 'ì', '“', 'ﬁ'},
		{0x9f, 0, 'ü', 'Ÿ', 0},
		{0xa4, '⁄', '§', '¤', 0},
		{0xa7, '§', 'ß', '§', 0},
		{0xae, 'ﬁ', 'Æ', '®', 0},
		{0xb4, '·', '¥', '´', 0},
		{0xd0, '—', '–', 'Ð', 0},
		{0xe1, 'Æ', '·', 'á', 0},
		{0xe9, 'Ø', 'È', 'é', 0},
		{0xfb, 'ß', '˚', 'û', 0},
		{0x41, 'A', 'A', 'A', 'A'},
		{0x7f, 0, 0, 0, 0},
		{0x0a, 0, 0, 0, 0},
	} {
		got := [4]rune{
			standardEncoding[c.code], macRomanEncoding[c.code], winAnsiEncoding[c.code], docEncoding[c.code],
		}
		if want := [4]rune{c.standard, c.mac, c.win, c.text}; got != want {
			t.Errorf("%#x: got %q, want %q", c.code, string(got[:]), string(want[:]))
		}
	}
	for code, want := range map[int]rune{
		0x41: 'Α', 0x61: 'α', 0x5a: 'Ζ', 0x7a: 'ζ', 0xa3: '≤', 0xb9: '≠', 0xce: '∈', 0xe5: '∑',
	} {
		if got := symbolEncoding[code]; got != want {
			t.Errorf("Symbol %#x: got %q, want %q", code, got, want)
		}
	}
}

func readMap(t testing.TB, program string) *cmap {
	t.Helper()
	return emptyFile(t).readCMap([]byte(program))
}

func TestToUnicodeMaps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		program string
		want    map[uint32]string
	}{
		{"1 beginbfchar <41> <0061> endbfchar", map[uint32]string{0x41: "a"}},
		{"2 beginbfchar <0001> <0066006C> <0002> <D835DC00> endbfchar", map[uint32]string{1: "fl", 2: "𝐀"}},
		{"1 beginbfrange <20> <22> <0041> endbfrange", map[uint32]string{0x20: "A", 0x21: "B", 0x22: "C"}},
		{"1 beginbfrange <00> <02> <00FF> endbfrange", map[uint32]string{0: "ÿ", 1: "Ā", 2: "ā"}}, // carry
		{"1 beginbfrange <01> <02> [<0078> <0079007A>] endbfrange", map[uint32]string{1: "x", 2: "yz"}},
		{"1 beginbfrange <05> <01> <0041> endbfrange", nil},             // the end comes first
		{"1 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange", nil}, // more codes than a font has
		{"1 beginbfrange <01> <02> 7 endbfrange", nil},                  // neither a text nor a list
		{"1 beginbfchar <41> endbfchar", nil},                           // no text
		{"1 beginbfchar <41> <0061> <42> endbfchar", map[uint32]string{0x41: "a"}},
		{"<41> <0061> endbfchar", map[uint32]string{0x41: "a"}},              // the count is not needed
		{"1 beginbfchar <41> <00> endbfchar", map[uint32]string{0x41: ""}},   // half a unit
		{"1 beginbfchar <41> <0000> endbfchar", map[uint32]string{0x41: ""}}, // control characters are removed
		{"1 beginbfchar <41> <0061> endbfchar 1 beginbfchar <41> <0062> endbfchar", map[uint32]string{0x41: "b"}},
		{"1 beginnotdefrange <00> <1F> 1 endnotdefrange", nil},
		{"", nil},
	} {
		m := readMap(t, c.program)
		if len(m.text) != len(c.want) {
			t.Errorf("%s: got %v, want %v", c.program, m.text, c.want)
		}
		for code, want := range c.want {
			if got := m.text[code]; got != want {
				t.Errorf("%s: code %#x is %q, want %q", c.program, code, got, want)
			}
		}
	}
}

func TestCodeSpaceRangesDefineTheLengthOfCodes(t *testing.T) {
	t.Parallel()
	mixed := "2 begincodespacerange <00> <7F> <8000> <FFFF> endcodespacerange"
	for _, c := range []struct {
		program, codes string
		want           int
	}{
		{"", "\x01\x02", 2},
		{"", "\x01", 2},
		{mixed, "\x41\x42", 1},
		{mixed, "\x81\x42", 2},
		{"1 begincodespacerange <00> <FF> endcodespacerange", "\x81\x42", 1},
		{"1 begincodespacerange <000000> <FFFFFF> endcodespacerange", "abcd", 3},
		{"1 begincodespacerange <20> <7E> endcodespacerange", "\x01\x02", 1},   // outside: as long as the first range
		{"1 begincodespacerange <00> <FFFF> endcodespacerange", "\x01\x02", 2}, // ends of different lengths are ignored
		{"1 begincodespacerange <0000000000> <FFFFFFFFFF> endcodespacerange", "\x01\x02", 2},
	} {
		if got := readMap(t, c.program).length(c.codes); got != c.want {
			t.Errorf("%s: the code of % x has %d bytes, want %d", c.program, c.codes, got, c.want)
		}
	}
}

// Without limits, a few bytes could name millions of texts.
func TestToUnicodeMapsAreLimited(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0061", 1000)
	m := readMap(t, "2 beginbfrange <0000> <FFFF> <"+long+"> <00010000> <0001FFFF> <0041> endbfrange")
	if len(m.text) != maxMapped {
		t.Errorf("%d codes, want %d", len(m.text), maxMapped)
	}
	if got := m.text[0]; len(got) != maxUnits/2 {
		t.Errorf("a text of %d bytes, want %d", len(got), maxUnits/2)
	}
	var ranges strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&ranges, "<%04x> <%04x> ", i, i)
	}
	if n := len(readMap(t, ranges.String()+"endcodespacerange").ranges); n > 256 {
		t.Errorf("%d code space ranges", n)
	}
}

// A simple font is one byte per code, a composite font as many as its map says.
func TestFontsDecodeStrings(t *testing.T) {
	t.Parallel()
	simple := &font{scale: 0.001, missing: 250, widths: map[int]float64{'a': 500}}
	simple.simple['a'], simple.simple[' '] = "a", " "
	mixed := readMap(t, `2 begincodespacerange <00> <7F> <8000> <FFFF> endcodespacerange
		3 beginbfchar <20> <0020> <41> <0061> <8001> <0062> endbfchar`)
	composite := &font{composite: true, scale: 0.001, missing: 1000, toUnicode: mixed}
	composite.widths = map[int]float64{0x8001: 300}
	for _, c := range []struct {
		font  *font
		codes string
		want  []code
	}{
		{simple, "a b", []code{{"a", 0.5, false}, {" ", 0.25, true}, {"", 0.25, false}}},
		{composite, "A\x80\x01 ", []code{{"a", 1, false}, {"b", 0.3, false}, {" ", 1, true}}},
		{composite, "\x80", []code{{"", 1, false}}}, // a cut code
		{&font{composite: true, scale: 0.001, missing: 1000}, "\x00 \x00", []code{{"", 1, false}, {"", 1, false}}},
	} {
		var got []code
		c.font.decode(c.codes, unlimited(t), func(x code) { got = append(got, x) })
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("% x: got %v, want %v", c.codes, got, c.want)
		}
	}
}

func TestWidthsOfFonts(t *testing.T) {
	t.Parallel()
	descendant := func(entries dict) dict {
		return dict{"Subtype": name("Type0"), "DescendantFonts": array{entries}}
	}
	for kind, c := range map[string]struct {
		font dict
		want map[int]float64
	}{
		"a list":          {dict{"FirstChar": 65.0, "Widths": array{500.0, 600.0}}, map[int]float64{65: .5, 66: .6, 67: .5}},
		"a missing width": {dict{"FontDescriptor": dict{"MissingWidth": 250.0}}, map[int]float64{65: .25}},
		"too many":        {dict{"Widths": make(array, 5000)}, map[int]float64{0: 0, 255: 0, 256: .5}},
		"Type 3": {dict{
			"Subtype": name("Type3"), "FontMatrix": array{.01, 0., 0., .01, 0., 0.}, "Widths": array{50.0},
		}, map[int]float64{0: .5}},
		"composite":        {descendant(nil), map[int]float64{1: 1}},
		"a default":        {descendant(dict{"DW": 600.0}), map[int]float64{1: .6}},
		"a list of ids":    {descendant(dict{"W": array{10.0, array{200.0, 300.0}}}), map[int]float64{10: .2, 11: .3, 12: 1}},
		"a range of ids":   {descendant(dict{"W": array{5.0, 7.0, 400.0}}), map[int]float64{4: 1, 5: .4, 7: .4, 8: 1}},
		"both":             {descendant(dict{"W": array{5.0, 6.0, 400.0, 9.0, array{100.0}}}), map[int]float64{6: .4, 9: .1}},
		"an unended range": {descendant(dict{"W": array{5.0, 6.0}}), map[int]float64{5: 1}},
		"the first wins":   {descendant(dict{"W": array{5.0, 5.0, 400.0, 5.0, 5.0, 700.0}}), map[int]float64{5: .4}},
	} {
		ft := emptyFile(t).readFont(c.font)
		for at, want := range c.want {
			if got := ft.width(at); got < want-1e-9 || got > want+1e-9 {
				t.Errorf("%s: code %d is %v wide, want %v", kind, at, got, want)
			}
		}
	}
	endless := emptyFile(t).readFont(descendant(dict{"W": array{0.0, 1e9, 400.0, 0.0, 1e9, 400.0}}))
	if len(endless.widths) > maxMapped {
		t.Errorf("%d widths", len(endless.widths))
	}
}

func TestBuiltInEncodingIsReadFromTheClearPart(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"dup 65 /alpha put\ndup 66/beta put":             "map[65:alpha 66:beta]",
		"dup 65 /alpha put eexec dup 66 /beta put":       "map[65:alpha]",
		"dup 999 /alpha put dup 256 /beta put":           "map[]",
		"dup 65 alpha put, dup /alpha put":               "map[]",
		"dup\n65\t/a.sc\nput":                            "map[65:a.sc]",
		strings.Repeat(" ", maxBuiltIn) + "dup 1 /a put": "map[]",
	} {
		if got := fmt.Sprint(builtIn([]byte(program))); got != want {
			t.Errorf("%.40q: got %s, want %s", program, got, want)
		}
	}
}
