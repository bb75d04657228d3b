package pdf

// cff is the part of a Compact Font Format program that tells which characters its glyphs are (Adobe Technical Note
// 5176).
type cff struct {
	// text is the text of each glyph by number, from the glyph names.
	text glyphTexts
	// codes maps the codes of the built-in encoding to glyph numbers.
	codes map[int]int
	// keyed means that the font has character ids instead of names.
	keyed bool
}

const (
	opCharset     = 15
	opEncoding    = 16
	opCharStrings = 17
	opROS         = 12<<8 | 30
	// standardStrings is the number of predefined strings.
	standardStrings = 391
)

// expertText is the text of the predefined strings of expert fonts that are words or numbers: digits in old style and
// ligatures, which TeX's fonts have.
var expertText = map[int]string{
	239: "0", 240: "1", 241: "2", 242: "3", 243: "4", 244: "5", 245: "6", 246: "7", 247: "8", 248: "9",
	266: "ff", 267: "ffi", 268: "ffl",
}

// standardText is the text of the predefined strings, as far as they are not of expert fonts. The first 149 have the
// order of the standard encoding.
var standardText = func() []string {
	out := []string{""}
	for _, r := range standardEncoding {
		if r != 0 {
			out = append(out, normal(string(r)))
		}
	}
	const latin = "¹¬µ™Ð½±Þ¼÷¦°þ¾²®−ð×³©ÁÂÄÀÅÃÇÉÊËÈÍÎÏÌÑÓÔÖÒÕŠÚÛÜÙÝŸŽáâäàåãçéêëèíîïìñóôöòõšúûüùýÿž"
	for _, r := range latin {
		out = append(out, string(r))
	}
	return out
}()

// cffIndex splits an INDEX at an offset and returns the offset behind it.
func cffIndex(data []byte, at int) (items [][]byte, end int) {
	n := be16(data, at)
	if n == 0 || at+3 > len(data) {
		return nil, at + 2
	}
	size := int(data[at+2])
	if size < 1 || size > 4 || at+3+(n+1)*size > len(data) {
		return nil, len(data)
	}
	offset := func(i int) int { return bigEndian(data[at+3+i*size : at+3+(i+1)*size]) }
	base := at + 2 + (n+1)*size
	for i := range n {
		items = append(items, part(data, base+offset(i), offset(i+1)-offset(i)))
	}
	return items, base + offset(n)
}

// cffDict returns the first integer operand of each operator of a DICT.
func cffDict(data []byte) map[int]int {
	out := map[int]int{}
	first, have := 0, false
	operand := func(v int) {
		if !have {
			first, have = v, true
		}
	}
	for i := 0; i < len(data); i++ {
		switch b := int(data[i]); {
		case b <= 21:
			if b == 12 && i+1 < len(data) {
				i++
				b = 12<<8 | int(data[i])
			}
			out[b] = first
			first, have = 0, false
		case b == 28:
			operand(int(int16(be16(data, i+1))))
			i += 2
		case b == 29:
			operand(int(int32(be32(data, i+1))))
			i += 4
		case b == 30:
			for i++; i < len(data) && data[i]&0x0f != 0x0f; i++ {
				continue // the nibbles of a real number
			}
			operand(0)
		case b >= 32 && b <= 246:
			operand(b - 139)
		case b >= 247 && b <= 250 && i+1 < len(data):
			i++
			operand((b-247)*256 + int(data[i]) + 108)
		case b >= 251 && b <= 254 && i+1 < len(data):
			i++
			operand(-(b-251)*256 - int(data[i]) - 108)
		}
	}
	return out
}

// readCFF reads the glyph names and the encoding of a font program.
func (f *file) readCFF(data []byte) *cff {
	c := &cff{text: glyphTexts{}, codes: map[int]int{}}
	if len(data) < 4 {
		return c
	}
	f.b.Work(len(data) / 8)
	_, at := cffIndex(data, int(data[2]))
	tops, at := cffIndex(data, at)
	strings, _ := cffIndex(data, at)
	if len(tops) == 0 {
		return c
	}
	top := cffDict(tops[0])
	if _, c.keyed = top[opROS]; c.keyed {
		return c
	}
	glyphs := be16(data, top[opCharStrings])
	set := func(glyph, id int) {
		text := ""
		switch i := id - standardStrings; {
		case id < len(standardText):
			text = standardText[id]
		case id < standardStrings:
			text = expertText[id]
		case i >= 0 && i < len(strings):
			text = glyphText(string(strings[i]))
		}
		f.b.Work(2 * workEntry)
		if text != "" {
			f.b.Hold(memoryEntry)
			c.text[glyph] = text
		}
	}
	readCharset(data, top[opCharset], glyphs, set)
	c.readEncoding(part(data, top[opEncoding], 1024), top[opEncoding])
	return c
}

// readCharset passes the string id of each glyph to set.
func readCharset(data []byte, at, glyphs int, set func(glyph, id int)) {
	if at <= 2 { // a predefined charset; that of Latin fonts has the ids in order
		for g := 1; g < glyphs && at == 0; g++ {
			set(g, g)
		}
		return
	}
	format := part(data, at, 1)
	if len(format) == 0 {
		return
	}
	at++
	for g := 1; g < glyphs && at+2 <= len(data); {
		id, left := be16(data, at), 0
		at += 2
		switch format[0] {
		case 1:
			if at < len(data) {
				left = int(data[at])
			}
			at++
		case 2:
			left = be16(data, at)
			at += 2
		}
		for i := 0; i <= left && g < glyphs; i++ {
			set(g, id+i)
			g++
		}
	}
}

// readEncoding reads the built-in encoding. The predefined ones (offset 0 and 1) are left to the caller.
func (c *cff) readEncoding(t []byte, at int) {
	if at <= 1 || len(t) < 2 {
		return
	}
	glyph := 1
	for i := range int(t[1]) {
		switch t[0] & 0x7f {
		case 0:
			if code := part(t, 2+i, 1); len(code) == 1 {
				c.codes[int(code[0])] = glyph
				glyph++
			}
		case 1:
			r := part(t, 2+2*i, 2)
			for k := 0; len(r) == 2 && k <= int(r[1]); k++ {
				c.codes[(int(r[0])+k)&0xff] = glyph
				glyph++
			}
		}
	}
}
