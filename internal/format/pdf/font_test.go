package pdf_test

import (
	"errors"
	"testing"

	"carrel/internal/format/pdf"
)

func TestSimpleFontsAreDecodedByTheirEncoding(t *testing.T) {
	t.Parallel()
	font := func(encoding string) object {
		return object("<</Type/Font/Subtype/Type1/BaseFont/Times" + encoding + ">>")
	}
	for name, c := range map[string]struct {
		font  object
		codes string // hexadecimal
		want  string
	}{
		"WinAnsi":                 {font("/Encoding/WinAnsiEncoding"), "E4F6FC80", "äöü€"},
		"MacRoman":                {font("/Encoding/MacRomanEncoding"), "8A9A9FA7", "äöüß"},
		"Standard":                {font("/Encoding/StandardEncoding"), "E9FB27", "Øß’"},
		"Standard by default":     {font(""), "E9FB", "Øß"},
		"Symbol by the font name": {"<</Type/Font/Subtype/Type1/BaseFont/Symbol>>", "616244", "αβΔ"},
		"WinAnsi for TrueType":    {"<</Type/Font/Subtype/TrueType/BaseFont/Arial>>", "E4F6", "äö"},
		"Differences": {font(
			"/Encoding<</BaseEncoding/WinAnsiEncoding/Differences[65/eacute/ccedilla 90/Delta]>>",
		), "41425A43", "éçΔC"},
		"Differences as uniXXXX":   {font("/Encoding<</Differences[65/uni00E9/u1D11E]>>"), "4142", "é𝄞"},
		"Differences of ligatures": {font("/Encoding<</Differences[65/f_f_i/fi/f_l]>>"), "4142434F", "ffififlO"},
		"variants of a shape":      {font("/Encoding<</Differences[65/a.sc/one.oldstyle]>>"), "4142", "a1"},
		"unknown glyph names":      {font("/Encoding<</Differences[65/g123/nosuchname]>>"), "414243", "ABC"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, onePageOf(c.font, "BT /F 10 Tf 50 700 Td <"+c.codes+"> Tj ET"), c.want)
		})
	}
}

// The built-in encoding of a Type 1 font program is readable until "eexec".
func TestEncodingOfAnEmbeddedType1FontIsUsed(t *testing.T) {
	t.Parallel()
	font := object("<</Type/Font/Subtype/Type1/BaseFont/CMR10/FontDescriptor 7 0 R>>")
	data := onePageOf(font, show(50, 700, "abc"),
		"<</Type/FontDescriptor/FontFile 8 0 R>>",
		stream("/Encoding 256 array\ndup 97 /alpha put\ndup 98/f_f put\ncurrentfile eexec dup 99 /omega put"))
	wantText(t, data, "αffc")
}

const toUnicode = `/CIDInit /ProcSet findresource begin 12 dict begin begincmap
1 begincodespacerange <0000> <FFFF> endcodespacerange
3 beginbfchar <0001> <0047> <0002> <00F6> <0003> <00660066> endbfchar
2 beginbfrange <0010> <0012> <0061> <0020> <0021> [<0078> <D835DC00>] endbfrange
endcmap`

func composite(unicodeMap string) object {
	return object(
		"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[7 0 R]" + unicodeMap + ">>",
	)
}

const cidFont = object("<</Type/Font/Subtype/CIDFontType2/DW 500>>")

func TestCompositeFontsAreDecodedByToUnicode(t *testing.T) {
	t.Parallel()
	for codes, want := range map[string]string{
		"00010002": "Gö", "00030001": "ffG", "001000110012": "abc", "00200021": "x𝐀", "0001FFFF0002": "G ö",
	} {
		data := onePageOf(
			composite("/ToUnicode 8 0 R"), "BT /F 10 Tf 50 700 Td <"+codes+"> Tj ET", cidFont, stream(toUnicode),
		)
		wantText(t, data, want)
	}
}

func TestSimpleFontPrefersToUnicodeToItsEncoding(t *testing.T) {
	t.Parallel()
	font := object("<</Type/Font/Subtype/Type1/BaseFont/X/Encoding/WinAnsiEncoding/ToUnicode 7 0 R>>")
	wantText(t, onePageOf(font, show(50, 700, "AB"), stream("1 beginbfchar <41> <03A9> endbfchar")), "ΩB")
}

// Character ids of a composite font without ToUnicode are positions in the embedded font and stand for no known text.
func TestCompositeFontWithoutToUnicodeHasNoText(t *testing.T) {
	t.Parallel()
	data := onePageOf(composite(""), "BT /F 10 Tf 50 700 Td <00010002> Tj ET", cidFont)
	if _, err := pdf.Extract(data, newBudget(t.Context(), data), pdf.DefaultLimits); !errors.Is(err, pdf.ErrNoUnicode) {
		t.Errorf("got %v, want ErrNoUnicode", err)
	}
}

func TestWidthsDecideWhereWordsEnd(t *testing.T) {
	t.Parallel()
	// Both programs draw "ab" and then "cd" 20 points to the right; only the width of "b" differs.
	narrow := object(
		"<</Type/Font/Subtype/Type1/BaseFont/X/Encoding/WinAnsiEncoding/FirstChar 97/Widths[500 500 500 500]>>",
	)
	wide := object(
		"<</Type/Font/Subtype/Type1/BaseFont/X/Encoding/WinAnsiEncoding/FirstChar 97/Widths[500 1500 500 500]>>",
	)
	program := "BT /F 10 Tf 50 700 Td (ab) Tj 20 0 Td (cd) Tj ET"
	wantText(t, onePageOf(narrow, program), "ab cd")
	wantText(t, onePageOf(wide, program), "abcd")
}

func FuzzToUnicode(f *testing.F) {
	f.Add([]byte(toUnicode), []byte{0, 1, 0, 2, 0, 0x20})
	f.Add([]byte("1 beginbfrange <00> <FF> <FFFF> endbfrange"), []byte("abc"))
	f.Add([]byte("1 begincodespacerange <00> <80> endcodespacerange 1 beginbfchar <> <> endbfchar"), []byte{0xff})
	f.Fuzz(func(t *testing.T, cmap, codes []byte) {
		program := "BT /F 10 Tf 50 700 Td <" + hexText(codes) + "> Tj ET"
		fuzzExtract(t, onePageOf(composite("/ToUnicode 8 0 R"), program, cidFont, stream(string(cmap))))
	})
}
