package pdf

import (
	"encoding/binary"
	"strings"
)

// glyphTexts maps the glyph numbers of a font program to their text.
type glyphTexts map[int]string

// sfnt holds the tables of an embedded TrueType or OpenType font that tell which characters its glyphs are.
type sfnt struct {
	f *file
	// text maps glyph numbers to text, codes the codes of a symbolic font to glyph numbers.
	text  glyphTexts
	codes map[int]int
	// read counts the entries of all subtables, which a hostile font repeats.
	read int
}

const (
	maxTables    = 64
	maxSubtables = 32
)

func be16(b []byte, at int) int {
	if at < 0 || at+2 > len(b) {
		return 0
	}
	return int(binary.BigEndian.Uint16(b[at:]))
}

func be32(b []byte, at int) int {
	if at < 0 || at+4 > len(b) {
		return 0
	}
	return int(binary.BigEndian.Uint32(b[at:]))
}

// part returns b[from:from+n] as far as it exists.
func part(b []byte, from, n int) []byte {
	if from < 0 || n < 0 || from >= len(b) {
		return nil
	}
	return b[from : from+min(n, len(b)-from)]
}

// tables returns the tables of a font file by name.
func tables(data []byte) map[string][]byte {
	out := map[string][]byte{}
	for i := range min(be16(data, 4), maxTables) {
		entry := part(data, 12+16*i, 16)
		if len(entry) == 16 {
			out[string(entry[:4])] = part(data, be32(entry, 8), be32(entry, 12))
		}
	}
	return out
}

// readSFNT reads the character map of a font file, and the glyph names where it has none.
func (f *file) readSFNT(data []byte) *sfnt {
	s := &sfnt{f: f, text: glyphTexts{}, codes: map[int]int{}}
	list := tables(data)
	names := s.names(list["post"])
	cmapTable := list["cmap"]
	for i := range min(be16(cmapTable, 2), maxSubtables) {
		platform, encoding := be16(cmapTable, 4+8*i), be16(cmapTable, 6+8*i)
		at := be32(cmapTable, 8+8*i)
		if at >= len(cmapTable) {
			continue
		}
		switch {
		case platform == 0, platform == 3 && (encoding == 1 || encoding == 10):
			s.subtable(cmapTable[at:], func(c, glyph int) { s.set(glyph, clean(string(rune(c)))) })
		case platform == 3 && encoding == 0, platform == 1:
			s.subtable(cmapTable[at:], func(c, glyph int) {
				if _, have := s.codes[c&0xff]; !have && (platform == 1 || c>>8 == 0xf0 || c < 256) {
					s.codes[c&0xff] = glyph
				}
			})
		}
	}
	for glyph, name := range names {
		s.set(glyph, glyphText(name))
	}
	return s
}

// set stores the text of a glyph. The first text wins, unless it is of private use.
func (s *sfnt) set(glyph int, text string) {
	s.f.b.Work(workEntry)
	if old := s.text[glyph]; text == "" || glyph == 0 || old != "" && !private(old) || len(s.text) >= maxMapped {
		return
	}
	s.f.b.Hold(memoryEntry)
	s.text[glyph] = text
}

// private reports whether a text is of the private use area, and so has no known meaning.
func private(s string) bool {
	for _, r := range s {
		return r >= 0xe000 && r <= 0xf8ff
	}
	return false
}

// subtable passes the codes of a character map and their glyphs to give (OpenType, table cmap).
func (s *sfnt) subtable(t []byte, give func(c, glyph int)) {
	switch be16(t, 0) {
	case 0:
		for c, glyph := range part(t, 6, 256) {
			give(c, int(glyph))
		}
	case 4:
		s.segments(t, give)
	case 6:
		for i := range min(be16(t, 8), (len(t)-10)/2) {
			give(be16(t, 6)+i, be16(t, 10+2*i))
		}
	case 12:
		for i := range min(be32(t, 12), (len(t)-16)/12) {
			first, last, glyph := be32(t, 16+12*i), be32(t, 20+12*i), be32(t, 24+12*i)
			s.f.b.Work(workEntry)
			for c := first; c <= last && c <= 0x10ffff && s.more(); c++ {
				give(c, glyph+c-first)
			}
		}
	}
}

// more charges one entry of a subtable and reports whether it may be read.
func (s *sfnt) more() bool {
	s.f.b.Work(2 * workEntry)
	s.read++
	return s.read <= 2*maxMapped
}

// segments reads a subtable of format 4.
func (s *sfnt) segments(t []byte, give func(c, glyph int)) {
	n := min(be16(t, 6)/2, len(t)/8)
	for i := range n {
		last, first := be16(t, 14+2*i), be16(t, 16+2*n+2*i)
		delta, offset := be16(t, 16+4*n+2*i), be16(t, 16+6*n+2*i)
		s.f.b.Work(workEntry)
		for c := first; c <= last && c != 0xffff && s.more(); c++ {
			glyph := c
			if offset != 0 {
				if glyph = be16(t, 16+6*n+2*i+offset+2*(c-first)); glyph == 0 {
					continue
				}
			}
			give(c, (glyph+delta)&0xffff)
		}
	}
}

// standardNames is the number of names of the Macintosh glyph order, which format 2 does not repeat.
const standardNames = 258

// names returns the glyph names of a post table of format 2, except those of the Macintosh glyph order.
func (s *sfnt) names(t []byte) map[int]string {
	out := map[int]string{}
	if be32(t, 0) != 0x20000 {
		return out
	}
	n := min(be16(t, 32), (len(t)-34)/2)
	var list []string
	for at := 34 + 2*n; n > 0 && at < len(t) && len(list) < maxMapped; {
		s.f.b.Work(workEntry)
		name := part(t, at+1, int(t[at]))
		list = append(list, string(name))
		at += 1 + int(t[at])
	}
	for glyph := range n {
		if i := be16(t, 34+2*glyph) - standardNames; i >= 0 && i < len(list) {
			out[glyph] = list[i]
		} else if i < 0 && i >= macFirst-standardNames && i < macLast-standardNames {
			out[glyph] = strings.TrimSpace(macGlyph(i + standardNames))
		}
	}
	return out
}

// The Macintosh glyph order starts with ASCII from the third glyph on.
const (
	macFirst = 3
	macLast  = macFirst + 0x7f - ' '
)

// macGlyph returns the name of an ASCII character of the Macintosh glyph order in the form uniXXXX.
func macGlyph(i int) string {
	const hex = "0123456789ABCDEF"
	c := ' ' + i - macFirst
	return "uni00" + string(hex[c>>4]) + string(hex[c&15])
}
