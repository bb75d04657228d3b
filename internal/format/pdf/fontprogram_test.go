package pdf_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"carrel/internal/format/pdf"
)

func u16(values ...int) string {
	var out []byte
	for _, v := range values {
		out = binary.BigEndian.AppendUint16(out, uint16(v))
	}
	return string(out)
}

func u32(values ...int) string {
	var out []byte
	for _, v := range values {
		out = binary.BigEndian.AppendUint32(out, uint32(v))
	}
	return string(out)
}

// sfntOf builds a font file of tables, given as name and content.
func sfntOf(tables ...string) string {
	head := u32(0x10000) + u16(len(tables)/2, 0, 0, 0)
	at, body := len(head)+16*len(tables)/2, ""
	for i := 0; i < len(tables); i += 2 {
		head += tables[i] + u32(0, at+len(body), len(tables[i+1]))
		body += tables[i+1]
	}
	return head + body
}

// cmapTable builds a character map with one subtable.
func cmapTable(platform, encoding int, subtable string) string {
	return u16(0, 1, platform, encoding) + u32(12) + subtable
}

// format4 maps the codes from first to last to glyphs from 1 on.
func format4(first, last int) string {
	return u16(4, 32, 0, 4, 0, 0, 0, last, 0xffff, 0, first, 0xffff, 1-first, 1, 0, 0)
}

// embedded builds a page with a composite font whose descendant has a font file.
func embedded(key, file, more, codes string) []byte {
	descendant := object("<</Type/Font/Subtype/CIDFontType2/DW 500/FontDescriptor 8 0 R" + more + ">>")
	return onePageOf(composite(""), "BT /F 10 Tf 50 700 Td <"+codes+"> Tj ET", descendant,
		object("<</Type/FontDescriptor/"+key+" 9 0 R>>"), stream(file), stream(u16(0, 0, 2, 1)))
}

func TestCompositeFontsAreDecodedByTheEmbeddedCharacterMap(t *testing.T) {
	t.Parallel()
	four := sfntOf("cmap", cmapTable(3, 1, format4('a', 'c')))
	twelve := sfntOf("cmap", cmapTable(3, 10, u16(12, 0)+u32(28, 0, 1, 0x1d400, 0x1d401, 1)))
	six := sfntOf("cmap", cmapTable(0, 3, u16(6, 16, 0, 'x', 3, 3, 2, 1)))
	post := u32(0x20000) + strings.Repeat("\x00", 28) + u16(4, 0, 258, 259, 36) + "\x06eacute\x02ff"
	for name, c := range map[string]struct{ file, more, codes, want string }{
		"format 4":             {four, "", "000100020003", "abc"},
		"format 12":            {twelve, "", "00010002", "𝐀𝐁"},
		"format 6":             {six, "", "000100020003", "zyx"},
		"glyph names":          {sfntOf("post", post), "", "000100020003", "éffA"},
		"a map of glyphs":      {four, "/CIDToGIDMap 10 0 R", "00020003", "ba"},
		"codes without glyphs": {four, "", "000100070002", "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, embedded("FontFile2", c.file, c.more, c.codes), c.want)
		})
	}
}

func TestASymbolicTrueTypeFontIsDecodedByItsOwnCharacterMaps(t *testing.T) {
	t.Parallel()
	// Code 0x21 is glyph 1 in the symbol map, and glyph 1 is "a" in the Unicode map.
	table := u16(0, 2, 3, 0) + u32(20) + u16(3, 1) + u32(20+32) + format4(0xf021, 0xf023) + format4('a', 'c')
	font := object("<</Type/Font/Subtype/TrueType/BaseFont/X/FontDescriptor 7 0 R>>")
	data := onePageOf(font, show(50, 700, `"#!`), "<</Type/FontDescriptor/Flags 4/FontFile2 8 0 R>>",
		stream(sfntOf("cmap", table)))
	wantText(t, data, "bca")
}

// cffOf builds a font program of three glyphs: .notdef, a predefined name and a name of its own.
func cffOf(own string) string {
	index := func(items ...string) string {
		if len(items) == 0 {
			return u16(0)
		}
		out, at := u16(len(items))+"\x01", 1
		for _, item := range items {
			out += string(rune(at))
			at += len(item)
		}
		return out + string(rune(at)) + strings.Join(items, "")
	}
	number := func(n int) string { return "\x1d" + u32(n) }
	top := func(charset, encoding, glyphs int) string {
		return number(charset) + "\x0f" + number(encoding) + "\x10" + number(glyphs) + "\x11"
	}
	head := "\x01\x00\x04\x01" + index("X")
	size := len(head) + len(index(top(0, 0, 0))) + len(index(own)) + len(index())
	charset := "\x00" + u16(34, 391) // A, and the first own string
	encoding := "\x00\x02\x41\x42"
	return head + index(top(size, size+len(charset), size+len(charset)+len(encoding))) + index(own) + index() +
		charset + encoding + index("\x0e", "\x0e", "\x0e")
}

func TestTextOfACompactFontIsItsGlyphNames(t *testing.T) {
	t.Parallel()
	simple := object("<</Type/Font/Subtype/Type1/BaseFont/X/FontDescriptor 7 0 R>>")
	file := cffOf("afii10018")
	data := onePageOf(simple, show(50, 700, "ABC"), "<</Type/FontDescriptor/FontFile3 8 0 R>>",
		object(fmt.Sprintf("<</Subtype/Type1C/Length %d>>stream\n%s\nendstream", len(file), file)))
	wantText(t, data, "AБC")
	wantText(t, embedded("FontFile3", file, "", "00010002"), "AБ")
	for id, want := range map[int]string{267: "ffi", 240: "1", 230: ""} { // strings of expert fonts
		file := strings.Replace(file, u16(34, 391), u16(id, 391), 1)
		wantText(t, embedded("FontFile3", file, "", "00010002"), want+"Б")
	}
}

func TestAToUnicodeMapNamedIdentityMeansThatCodesAreUnicode(t *testing.T) {
	t.Parallel()
	data := onePageOf(composite("/ToUnicode/Identity-H"), "BT /F 10 Tf 50 700 Td <00E903A9> Tj ET", cidFont)
	wantText(t, data, "éΩ")
}

func TestPredefinedCMapsAreDecoded(t *testing.T) {
	t.Parallel()
	for encoding, c := range map[string]struct{ codes, want string }{
		"UniJIS-UCS2-H":   {"65E5672C", "日本"},
		"UniGB-UTF16-V":   {"4E2DD835DC00", "中𝐀"},
		"90ms-RKSJ-H":     {"93FA967B41", "日本A"},
		"EUC-H":           {"C6FCCBDC41", "日本A"},
		"H":               {"467C4B5C", "日本"},
		"GBK-EUC-H":       {"D6D0B9FA41", "中国A"},
		"GBK2K-H":         {"D6D041", "中A"},
		"ETen-B5-H":       {"A4A4B0EA", "中國"},
		"KSCms-UHC-H":     {"C7D1B1B9", "한국"},
		"UniJIS-UTF32-H":  {"000065E5", "日"},
		"UniJIS2004-UTF8": {"E697A5", "日"},
	} {
		font := object("<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/" + encoding + "/DescendantFonts[7 0 R]>>")
		wantText(t, onePageOf(font, "BT /F 10 Tf 50 700 Td <"+c.codes+"> Tj ET", cidFont), c.want)
	}
}

func TestCharacterIDsOfAdobeCollectionsAreDecoded(t *testing.T) {
	t.Parallel()
	for ordering, c := range map[string]struct{ codes, want string }{
		"Japan1": {"0022034B04650466", "Aあ亜唖"},
		"GB1":    {"002203AC", "A啊"},
		"Korea1": {"0022043E", "A가"},
	} {
		descendant := object("<</Type/Font/Subtype/CIDFontType0/DW 500/CIDSystemInfo<</Ordering(" + ordering + ")>>>>")
		data := onePageOf(composite(""), "BT /F 10 Tf 50 700 Td <"+c.codes+"> Tj ET", descendant)
		wantText(t, data, c.want)
	}
}

func TestAnEmbeddedEncodingMapsCodesToCharacterIDs(t *testing.T) {
	t.Parallel()
	font := object("<</Type/Font/Subtype/Type0/BaseFont/X/Encoding 8 0 R/DescendantFonts[7 0 R]>>")
	descendant := object("<</Type/Font/Subtype/CIDFontType0/DW 500/CIDSystemInfo<</Ordering(Japan1)>>>>")
	encoding := stream("1 begincodespacerange <00> <FF> endcodespacerange\n" +
		"1 begincidrange <41> <42> 1125 endcidrange 1 begincidchar <43> 34 endcidchar")
	wantText(t, onePageOf(font, show(50, 700, "ABC"), descendant, encoding), "亜唖A")
}

func FuzzFontProgram(f *testing.F) {
	f.Add([]byte(sfntOf("cmap", cmapTable(3, 1, format4('a', 'c')))), []byte{0, 1, 0, 2})
	f.Add([]byte(sfntOf("cmap", cmapTable(3, 10, u16(12, 0)+u32(28, 0, 1, 0x1d400, 0x1d401, 1)))), []byte{0, 1})
	f.Add([]byte(cffOf("eacute")), []byte{0, 1, 0, 2})
	f.Fuzz(func(t *testing.T, program, codes []byte) {
		for _, key := range []string{"FontFile2", "FontFile3"} {
			data := embedded(key, string(program), "/CIDToGIDMap 10 0 R", hex.EncodeToString(codes))
			_, _ = pdf.Extract(data, newBudget(t.Context(), data), pdf.DefaultLimits)
			simple := object("<</Type/Font/Subtype/TrueType/FontDescriptor 7 0 R>>")
			data = onePageOf(simple, show(50, 700, string(codes)), object("<</Type/FontDescriptor/"+key+" 8 0 R>>"),
				object(fmt.Sprintf("<</Subtype/Type1C/Length %d>>stream\n%s\nendstream", len(program), program)))
			_, _ = pdf.Extract(data, newBudget(t.Context(), data), pdf.DefaultLimits)
		}
	})
}

func FuzzXMP(f *testing.F) {
	f.Add("<dc:creator><rdf:Seq><rdf:li>A</rdf:li></rdf:Seq></dc:creator><dc:title>T</dc:title>")
	f.Fuzz(func(t *testing.T, packet string) {
		data := withXMP(packet)
		_, _ = pdf.Extract(data, newBudget(t.Context(), data), pdf.DefaultLimits)
	})
}

func FuzzRightToLeft(f *testing.F) {
	f.Add([]byte{0, 1, 0, 2, 0, 0x41, 0, 0x28, 0, 3})
	f.Fuzz(func(t *testing.T, codes []byte) {
		data := onePageOf(composite("/ToUnicode 8 0 R"), fmt.Sprintf("BT /F 10 Tf 50 700 Td <%x> Tj ET", codes), cidFont,
			stream(hebrew))
		_, _ = pdf.Extract(data, newBudget(t.Context(), data), pdf.DefaultLimits)
	})
}
