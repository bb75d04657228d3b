package pdf

import (
	"bytes"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"carrel/internal/format/budget"
)

// font maps the codes of a string to text and widths.
type font struct {
	// composite fonts have codes of several bytes: as toUnicode defines, else two.
	composite bool
	toUnicode *cmap
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
	if f.nameOf(d["Subtype"]) == "Type0" {
		ft.composite = true
		f.readComposite(ft, d)
		return ft
	}
	descriptor := f.dictOf(d["FontDescriptor"])
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
	if f.nameOf(d["Subtype"]) == "Type3" {
		if m := f.arrayOf(d["FontMatrix"]); len(m) == 6 {
			ft.scale = f.numberOf(m[0])
		}
	}
	f.readEncoding(ft, d, descriptor)
	return ft
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
	if s, ok := f.resolve(descriptor["FontFile"]).(*stream); ok && named == "" {
		program, held := f.decode(s)
		f.b.Work(maxBuiltIn)
		for at, glyph := range builtIn(program) {
			ft.simple[at] = glyphText(glyph)
		}
		f.b.Release(held)
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

var builtInEntry = regexp.MustCompile(`dup\s+(\d{1,3})\s*/([!-~]+?)\s+put`)

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

// readComposite reads the widths of a composite font. They are listed by character id, which equals the code in the
// usual Identity encodings.
func (f *file) readComposite(ft *font, d dict) {
	ft.missing = 1000
	descendants := f.arrayOf(d["DescendantFonts"])
	if len(descendants) == 0 {
		return
	}
	cid := f.dictOf(descendants[0])
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
		n := min(2, len(s))
		if ft.toUnicode != nil {
			b.Work(len(ft.toUnicode.ranges))
			n = min(ft.toUnicode.length(s), len(s))
		}
		c := uint32(0)
		for i := range n {
			c = c<<8 | uint32(s[i])
		}
		s = s[n:]
		text := ""
		if ft.toUnicode != nil {
			text = ft.toUnicode.text[c]
		}
		give(code{text: text, width: ft.width(int(c)), space: n == 1 && c == ' '})
	}
}

func (ft *font) width(c int) float64 {
	if w, ok := ft.widths[c]; ok {
		return w * ft.scale
	}
	return ft.missing * ft.scale
}
