package transcript

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
)

// trueType is a TrueType font of which a file contains only the used glyphs.
type trueType struct {
	tables map[string][]byte
	// units is the number of font units per em.
	units             int
	ascent, descent   int
	metrics           int // the number of glyphs with a width of their own
	longOffsets       bool
	glyphOf           map[rune]int
	italic, fixedWide bool
}

// parseTrueType parses one of the fonts of the binary. Their format is fixed, so that no input is untrusted.
func parseTrueType(data []byte, italic, fixedWide bool) *trueType {
	f := &trueType{tables: map[string][]byte{}, glyphOf: map[rune]int{}, italic: italic, fixedWide: fixedWide}
	for i := range int(binary.BigEndian.Uint16(data[4:])) {
		entry := data[12+16*i:]
		offset, length := binary.BigEndian.Uint32(entry[8:]), binary.BigEndian.Uint32(entry[12:])
		f.tables[string(entry[:4])] = data[offset : offset+length]
	}
	head, hhea := f.tables["head"], f.tables["hhea"]
	f.units = int(binary.BigEndian.Uint16(head[18:]))
	f.longOffsets = binary.BigEndian.Uint16(head[50:]) == 1
	f.ascent, f.descent = signed(hhea[4:]), signed(hhea[6:])
	f.metrics = int(binary.BigEndian.Uint16(hhea[34:]))
	f.readGlyphs(f.tables["cmap"])
	return f
}

func signed(b []byte) int { return int(int16(binary.BigEndian.Uint16(b))) }

// readGlyphs reads the character map of format 4, which covers the Basic Multilingual Plane.
func (f *trueType) readGlyphs(cmap []byte) {
	for i := range int(binary.BigEndian.Uint16(cmap[2:])) {
		table := cmap[binary.BigEndian.Uint32(cmap[8+8*i:]):]
		if binary.BigEndian.Uint16(table) != 4 {
			continue
		}
		word := func(at int) int { return int(binary.BigEndian.Uint16(table[at:])) }
		size := word(6) // twice the number of segments
		for s := 0; s < size; s += 2 {
			end, start := word(14+s), word(16+size+s)
			delta, offset := word(16+2*size+s), word(16+3*size+s)
			for c := start; c <= end && c < 0xffff; c++ {
				glyph := c + delta
				if offset != 0 {
					if glyph = word(16 + 3*size + s + offset + 2*(c-start)); glyph != 0 {
						glyph += delta
					}
				}
				if glyph &= 0xffff; glyph != 0 {
					f.glyphOf[rune(c)] = glyph
				}
			}
		}
		return
	}
}

// width returns the width of a glyph in thousandths of an em.
func (f *trueType) width(glyph int) int {
	at := min(glyph, f.metrics-1)
	return int(binary.BigEndian.Uint16(f.tables["hmtx"][4*at:])) * 1000 / f.units
}

func (f *trueType) glyph(n int) []byte {
	loca, glyf := f.tables["loca"], f.tables["glyf"]
	if f.longOffsets {
		return glyf[binary.BigEndian.Uint32(loca[4*n:]):binary.BigEndian.Uint32(loca[4*n+4:])]
	}
	return glyf[2*int(binary.BigEndian.Uint16(loca[2*n:])) : 2*int(binary.BigEndian.Uint16(loca[2*n+2:]))]
}

// withParts adds the glyphs that composite glyphs consist of.
func (f *trueType) withParts(used map[int]bool) {
	const wordArguments, more, scale, twoScales, matrix = 0x0001, 0x0020, 0x0008, 0x0040, 0x0080
	for queue := slices.Collect(maps.Keys(used)); len(queue) > 0; queue = queue[1:] {
		g := f.glyph(queue[0])
		if len(g) == 0 || signed(g) >= 0 {
			continue
		}
		for at, flags := 10, more; flags&more != 0; {
			flags = int(binary.BigEndian.Uint16(g[at:]))
			part := int(binary.BigEndian.Uint16(g[at+2:]))
			if !used[part] {
				used[part] = true
				queue = append(queue, part)
			}
			at += 6
			if flags&wordArguments != 0 {
				at += 2
			}
			switch {
			case flags&scale != 0:
				at += 2
			case flags&twoScales != 0:
				at += 4
			case flags&matrix != 0:
				at += 8
			}
		}
	}
}

// subset returns a font file with the given glyphs. All others are empty, so that the numbers of glyphs stay the same.
func (f *trueType) subset(used map[int]bool) []byte {
	used[0] = true
	f.withParts(used)
	count := int(binary.BigEndian.Uint16(f.tables["maxp"][4:]))
	var glyf, loca []byte
	for n := range count {
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
		if used[n] {
			glyf = append(glyf, f.glyph(n)...)
			for len(glyf)%4 != 0 {
				glyf = append(glyf, 0)
			}
		}
	}
	loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
	head := slices.Clone(f.tables["head"])
	head[51] = 1 // long offsets
	tables := map[string][]byte{"glyf": glyf, "loca": loca, "head": head}
	for _, name := range []string{"hhea", "hmtx", "maxp", "cvt ", "fpgm", "prep"} {
		if t, ok := f.tables[name]; ok {
			tables[name] = t
		}
	}
	return assemble(tables)
}

// assemble writes the tables of a font with their directory.
func assemble(tables map[string][]byte) []byte {
	names := slices.Sorted(maps.Keys(tables))
	out := []byte{0, 1, 0, 0, 0, byte(len(names)), 0, 0, 0, 0, 0, 0}
	offset := len(out) + 16*len(names)
	var body []byte
	for _, name := range names {
		t := tables[name]
		out = append(out, name...)
		out = binary.BigEndian.AppendUint32(out, tableSum(t))
		out = binary.BigEndian.AppendUint32(out, uint32(offset+len(body)))
		out = binary.BigEndian.AppendUint32(out, uint32(len(t)))
		body = append(body, t...)
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
	}
	return append(out, body...)
}

func tableSum(t []byte) (sum uint32) {
	for i, b := range t {
		sum += uint32(b) << (24 - 8*(i%4))
	}
	return sum
}

// pdfFont is a font of a PDF file. Its character codes count the used characters, so that a character without a glyph
// has a code of its own and can be copied, although it is shown as a box.
type pdfFont struct {
	*trueType
	name  string
	codes map[rune]int
	used  []rune // by code, from 1
}

func (f *pdfFont) code(r rune) int {
	code, ok := f.codes[r]
	if !ok {
		f.used = append(f.used, r)
		code = len(f.used)
		f.codes[r] = code
	}
	return code
}

// textWidth returns the width of a text at a font size.
func (f *pdfFont) textWidth(text string, size float64) float64 {
	sum := 0
	for _, r := range text {
		sum += f.width(f.glyphOf[r])
	}
	return float64(sum) * size / 1000
}

// encode returns a text as a hexadecimal string.
func (f *pdfFont) encode(text string) string {
	var b strings.Builder
	b.WriteByte('<')
	for _, r := range text {
		fmt.Fprintf(&b, "%04X", f.code(r))
	}
	b.WriteByte('>')
	return b.String()
}

// write adds the objects of the font to a file and returns its reference.
func (f *pdfFont) write(p *pdfFile) int {
	used := map[int]bool{}
	glyphs := []byte{0, 0}
	var widths, characters strings.Builder
	for i, r := range f.used {
		g := f.glyphOf[r]
		used[g] = true
		glyphs = binary.BigEndian.AppendUint16(glyphs, uint16(g))
		fmt.Fprintf(&widths, "%d ", f.width(g))
		if i%100 == 0 {
			if i > 0 {
				characters.WriteString("endbfchar\n")
			}
			fmt.Fprintf(&characters, "%d beginbfchar\n", min(100, len(f.used)-i))
		}
		fmt.Fprintf(&characters, "<%04X> <", i+1)
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&characters, "%04X", unit)
		}
		characters.WriteString(">\n")
	}
	characters.WriteString("endbfchar\n")
	scale := func(n int) int { return n * 1000 / f.units }
	flags, angle := 4, 0
	if f.italic {
		flags, angle = flags|64, -12
	}
	if f.fixedWide {
		flags |= 1
	}
	file := f.subset(used)
	data := p.stream(fmt.Sprintf("/Length1 %d", len(file)), file)
	descriptor := p.object(fmt.Sprintf("<< /Type /FontDescriptor /FontName /CARREL+%s /Flags %d"+
		" /FontBBox [-500 -300 1500 1000] /ItalicAngle %d /Ascent %d /Descent %d /CapHeight 700 /StemV 80"+
		" /FontFile2 %d 0 R >>",
		f.name, flags, angle, scale(f.ascent), scale(f.descent), data))
	descendant := p.object(fmt.Sprintf("<< /Type /Font /Subtype /CIDFontType2 /BaseFont /CARREL+%s /CIDSystemInfo"+
		" << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor %d 0 R /W [1 [%s]]"+
		" /CIDToGIDMap %d 0 R >>", f.name, descriptor, widths.String(), p.stream("", glyphs)))
	unicode := p.stream("", []byte("/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n"+
		"/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n/CMapName /Adobe-Identity-UCS def\n"+
		"/CMapType 2 def\n1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n"+characters.String()+
		"endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n"))
	return p.object(fmt.Sprintf("<< /Type /Font /Subtype /Type0 /BaseFont /CARREL+%s /Encoding /Identity-H"+
		" /DescendantFonts [%d 0 R] /ToUnicode %d 0 R >>", f.name, descendant, unicode))
}
