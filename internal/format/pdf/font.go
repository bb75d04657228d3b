package pdf

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/lazyregexp"
)

// font maps the codes of a string to text and widths.
type font struct {
	// composite fonts have codes of several bytes: as charset, codes or toUnicode define, else two.
	composite bool
	toUnicode *cmap
	// identity means that codes are two bytes and equal character ids.
	identity bool
	// vertical fonts write from top to bottom.
	vertical bool
	bold     bool
	// plain means that codes are UTF-16.
	plain bool
	// charset is the encoding of strings with a predefined CMap, or nil.
	charset *charset
	// codes is an embedded CMap from codes to character ids, or nil.
	codes *cmap
	// cidText returns the text of a character id from the font program or the character collection; it may be nil.
	cidText func(cid int) string
	// simple is the text of each code of a simple font.
	simple [256]string
	widths map[int]float64
	// missing is the default width, in thousandths of an em.
	missing float64
	// scale is 1/1000, except in Type 3 fonts, which define their own.
	scale float64
}

// code is one decoded character of a string.
type code struct {
	text  string
	width float64
	// space is set for the single byte 32, to which word spacing applies.
	space bool
}

// font returns the font with a resource name. Fonts are cached for the whole file.
func (f *file) font(resources dict, of name) *font {
	x := f.dictOf(resources["Font"])[of]
	r, isRef := x.(ref)
	if isRef {
		if known, ok := f.fonts[r]; ok {
			return known
		}
	}
	d := f.dictOf(x)
	at := reflect.ValueOf(d).Pointer() // dictionaries are cached, so each has its own address
	if known, ok := f.inline[at]; ok && !isRef && d != nil {
		return known
	}
	f.b.Hold(memoryFont)
	f.b.Work(memoryFont)
	ft := f.readFont(d)
	switch {
	case isRef:
		f.fonts[r] = ft
	case d != nil:
		f.inline[at] = ft
	}
	return ft
}

// memoryFont estimates the memory of a font without its maps.
const memoryFont = 6000

func (f *file) readFont(d dict) *font {
	ft := &font{widths: map[int]float64{}, scale: 0.001, missing: 500}
	if s, ok := f.resolve(d["ToUnicode"]).(*stream); ok {
		program, held := f.decode(s)
		ft.toUnicode = f.readCMap(program)
		f.b.Release(held)
	}
	if named := f.nameOf(d["ToUnicode"]); strings.HasPrefix(string(named), "Identity") {
		ft.plain = true
	}
	if f.nameOf(d["Subtype"]) == "Type0" {
		ft.composite = true
		f.readComposite(ft, d)
		if descendants := f.arrayOf(d["DescendantFonts"]); len(descendants) > 0 {
			ft.bold = f.isBold(d, f.dictOf(f.dictOf(descendants[0])["FontDescriptor"]))
		}
		return ft
	}
	descriptor := f.dictOf(d["FontDescriptor"])
	ft.bold = f.isBold(d, descriptor)
	if m, ok := f.resolve(descriptor["MissingWidth"]).(float64); ok && m > 0 {
		ft.missing = m
	}
	first := asInt(f.resolve(d["FirstChar"]))
	for i, w := range f.arrayOf(d["Widths"]) {
		if i > 255 {
			break
		}
		ft.widths[first+i] = f.numberOf(w)
	}
	if len(ft.widths) == 0 {
		ft.setStandardWidths(string(f.nameOf(d["BaseFont"])))
	}
	if f.nameOf(d["Subtype"]) == "Type3" {
		if m := f.arrayOf(d["FontMatrix"]); len(m) == 6 {
			ft.scale = f.numberOf(m[0])
		}
	}
	f.readEncoding(ft, d, descriptor)
	return ft
}

var boldName = lazyregexp.New(`(?i)bold|black|heavy|[-,](?:bd|demi|semi)|^(?:\w+\+)?CM\w*BX`)

// isBold reports whether a font is bold, by its name or its descriptor (ISO 32000-1, section 9.8).
func (f *file) isBold(d, descriptor dict) bool {
	const forceBold = 1 << 18
	return boldName.MatchString(string(f.nameOf(d["BaseFont"]))) || f.numberOf(descriptor["FontWeight"]) >= 600 ||
		asInt(f.resolve(descriptor["Flags"]))&forceBold != 0
}

// readEncoding sets the text of a simple font's codes. ToUnicode takes precedence over glyph names.
func (f *file) readEncoding(ft *font, d, descriptor dict) {
	base := &standardEncoding
	encoding := f.resolve(d["Encoding"])
	named, _ := encoding.(name)
	details, _ := encoding.(dict)
	if details != nil {
		named = f.nameOf(details["BaseEncoding"])
	}
	switch named {
	case "WinAnsiEncoding":
		base = &winAnsiEncoding
	case "MacRomanEncoding":
		base = &macRomanEncoding
	case "":
		if s := string(f.nameOf(d["BaseFont"])); strings.HasSuffix(s, "Symbol") {
			base = &symbolEncoding
		} else if f.nameOf(d["Subtype"]) == "TrueType" {
			base = &winAnsiEncoding
		}
	}
	for i, r := range base {
		if r != 0 {
			ft.simple[i] = string(r)
		}
	}
	if named == "" {
		f.readBuiltIn(ft, descriptor)
	}
	at := 0
	for _, x := range f.arrayOf(details["Differences"]) {
		f.b.Work(workEntry)
		switch x := f.resolve(x).(type) {
		case float64:
			at = int(x)
		case name:
			if at >= 0 && at < 256 {
				if s := glyphText(string(x)); s != "" {
					ft.simple[at] = s
				}
			}
			at++
		}
	}
	if ft.toUnicode != nil {
		for i := range 256 {
			if s, ok := ft.toUnicode.text[uint32(i)]; ok && s != "" {
				ft.simple[i] = s
			}
		}
	}
}

// readBuiltIn sets the texts of the encoding that an embedded font program has.
func (f *file) readBuiltIn(ft *font, descriptor dict) {
	for _, key := range []name{"FontFile", "FontFile2", "FontFile3"} {
		s, ok := f.resolve(descriptor[key]).(*stream)
		if !ok {
			continue
		}
		program, held := f.decode(s)
		switch {
		case key == "FontFile":
			f.b.Work(maxBuiltIn)
			for at, glyph := range builtIn(program) {
				ft.simple[at] = glyphText(glyph)
			}
		case key == "FontFile2":
			font := f.readSFNT(program)
			ft.setSimple(font.codes, font.text)
		case f.nameOf(s.dict["Subtype"]) == "Type1C":
			font := f.readCFF(program)
			ft.setSimple(font.codes, font.text)
		}
		f.b.Release(held)
	}
}

// setSimple sets the texts of codes whose glyphs have one.
func (ft *font) setSimple(codes map[int]int, texts glyphTexts) {
	for c, glyph := range codes {
		if text := texts[glyph]; text != "" && !private(text) {
			ft.simple[c] = text
		}
	}
}

var builtInEntry = lazyregexp.New(`dup\s+(\d{1,3})\s*/([!-~]+?)\s+put`)

// maxBuiltIn limits the search for the encoding, which precedes the glyphs of a font program.
const maxBuiltIn = 64 << 10

// builtIn reads the encoding from the clear-text part of a Type 1 font program.
func builtIn(program []byte) map[int]string {
	program = program[:min(len(program), maxBuiltIn)]
	if i := bytes.Index(program, []byte("eexec")); i >= 0 {
		program = program[:i]
	}
	out := map[int]string{}
	for _, m := range builtInEntry.FindAllSubmatch(program, 1024) {
		if at, err := strconv.Atoi(string(m[1])); err == nil && at < 256 {
			out[at] = string(m[2])
		}
	}
	return out
}

// readComposite reads the encoding and the widths of a composite font. Widths are listed by character id, which equals
// the code in the usual Identity encodings.
func (f *file) readComposite(ft *font, d dict) {
	ft.missing = 1000
	switch e := f.resolve(d["Encoding"]).(type) {
	case name:
		ft.identity = strings.HasPrefix(string(e), "Identity")
		ft.charset = charsetOf(e)
		ft.vertical = e == "V" || strings.HasSuffix(string(e), "-V")
	case *stream:
		program, held := f.decode(e)
		ft.codes = f.readCMap(program)
		ft.vertical = f.numberOf(e.dict["WMode"]) == 1
		f.b.Release(held)
	}
	descendants := f.arrayOf(d["DescendantFonts"])
	if len(descendants) == 0 {
		return
	}
	cid := f.dictOf(descendants[0])
	ft.cidText = f.cidTexts(cid)
	f.readWidths(ft, cid)
}

// cidTexts returns a function that finds the text of a character id. The font program is read when it is first called.
func (f *file) cidTexts(cid dict) func(int) string {
	ordering, _ := f.resolve(f.dictOf(cid["CIDSystemInfo"])["Ordering"]).(str)
	known, isKnown := collections[string(ordering)]
	var texts glyphTexts
	return func(c int) string {
		if isKnown {
			f.b.Work(4 * workGlyph)
			return known.text(c)
		}
		if texts == nil {
			texts = f.programTexts(cid)
		}
		return texts[c]
	}
}

// programTexts returns the texts of the character ids of an embedded font program.
func (f *file) programTexts(cid dict) glyphTexts {
	descriptor := f.dictOf(cid["FontDescriptor"])
	for _, key := range []name{"FontFile2", "FontFile3"} {
		s, ok := f.resolve(descriptor[key]).(*stream)
		if !ok {
			continue
		}
		program, held := f.decode(s)
		defer f.b.Release(held)
		if key == "FontFile3" && f.nameOf(s.dict["Subtype"]) != "OpenType" {
			return f.readCFF(program).text
		}
		texts := f.readSFNT(program).text
		if by, ok := f.resolve(cid["CIDToGIDMap"]).(*stream); ok {
			return f.mapped(texts, by)
		}
		return texts
	}
	return glyphTexts{}
}

// mapped returns the texts of character ids whose glyph numbers a stream of two-byte numbers lists.
func (f *file) mapped(texts glyphTexts, by *stream) glyphTexts {
	table, held := f.decode(by)
	defer f.b.Release(held)
	out := glyphTexts{}
	for c := range min(len(table)/2, maxMapped) {
		f.b.Work(workEntry)
		if text := texts[be16(table, 2*c)]; text != "" {
			f.b.Hold(memoryEntry)
			out[c] = text
		}
	}
	return out
}

// readWidths reads the widths of character ids.
func (f *file) readWidths(ft *font, cid dict) {
	if w, ok := f.resolve(cid["DW"]).(float64); ok {
		ft.missing = w
	}
	w := f.arrayOf(cid["W"])
	for len(w) >= 2 {
		f.b.Work(workEntry)
		first := asInt(f.resolve(w[0]))
		if list, ok := f.resolve(w[1]).(array); ok {
			for i, x := range list {
				f.setWidth(ft, first+i, f.numberOf(x))
			}
			w = w[2:]
			continue
		}
		if len(w) < 3 {
			return
		}
		width := f.numberOf(w[2])
		for c := first; c <= min(asInt(f.resolve(w[1])), first+1<<16); c++ {
			f.setWidth(ft, c, width)
		}
		w = w[3:]
	}
}

// setWidth sets the width of a two-byte code.
func (f *file) setWidth(ft *font, c int, width float64) {
	f.b.Work(workEntry)
	if _, have := ft.widths[c]; !have && len(ft.widths) < maxMapped {
		f.b.Hold(memoryEntry)
		ft.widths[c] = width
	}
}

// decode passes the characters of a string to give.
func (ft *font) decode(s string, b *budget.Budget, give func(code)) {
	if !ft.composite {
		for i := range len(s) {
			c := int(s[i])
			give(code{text: ft.simple[c], width: ft.width(c), space: c == ' '})
		}
		return
	}
	for len(s) > 0 {
		n := min(ft.length(s, b), len(s))
		give(ft.composed(s[:n]))
		s = s[n:]
	}
}

// length returns the number of bytes of the first code of a string of a composite font.
func (ft *font) length(s string, b *budget.Budget) int {
	by := ft.toUnicode
	switch {
	case ft.charset != nil:
		return ft.charset.length(s)
	case ft.codes != nil && len(ft.codes.ranges) > 0:
		by = ft.codes
	case ft.identity:
		return 2
	}
	if by == nil {
		return 2
	}
	b.Work(len(by.ranges))
	return by.length(s)
}

// composed decodes one code of a composite font.
func (ft *font) composed(s string) code {
	c := codeValue(s)
	cid := int(c)
	if ft.codes != nil {
		cid = ft.codes.cid(c)
	}
	text := ""
	if ft.toUnicode != nil {
		text = ft.toUnicode.text[c]
	}
	switch {
	case text != "":
	case ft.plain:
		text = utf16Text(s)
	case ft.charset != nil:
		text = ft.charset.text(s)
	case ft.cidText != nil && (ft.identity || ft.codes != nil):
		text = ft.cidText(cid)
	}
	return code{text: text, width: ft.width(cid), space: len(s) == 1 && c == ' '}
}

func (ft *font) width(c int) float64 {
	if w, ok := ft.widths[c]; ok {
		return w * ft.scale
	}
	return ft.missing * ft.scale
}
