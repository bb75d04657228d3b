package quote

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded is a text in the form in which quotes are compared: NFKC, single spaces, one kind of dash and of quotation
// marks, nothing invisible. Hyphens between letters are stored separately, because it cannot be decided whether one at
// the end of a line belongs to the word.
type folded struct {
	text []byte
	// starts and ends are the code points of the original that each byte came from. Bytes from the same code points
	// cannot be separated.
	starts, ends []int32
	hyphens      []hyphen
	notes        []int // the bytes that were superscript digits after a letter
}

// hyphen is a hyphen before byte at of the folded text.
type hyphen struct {
	at   int
	kind hyphenKind
	end  int32 // in the original
}

type hyphenKind uint8

const (
	none   hyphenKind = iota
	joint             // well-known
	dash              // a word—another
	gap               // pre- and postwar
	broken            // at the end of a line, and perhaps not part of the word
)

// same reports whether two hyphens can be the same. A dash equals a hyphen.
func (k hyphenKind) same(other hyphenKind) bool {
	return k == other || k == broken || other == broken || k == joint && other == dash || k == dash && other == joint
}

// folder folds a text.
type folder struct {
	folded
	place   int  // code points read
	last    rune // last code point written
	waiting bool // there is pending input
	pending pending
	buffer  []byte
}

// pending is the input since the last visible code point that has not been written yet: white space, a hyphen, white
// space.
type pending struct {
	before, after bool // white space on either side of the hyphen, or before if there is none
	line          bool // it includes the end of a line
	hyphen        hyphenKind
	soft          bool // a soft hyphen
	spaces        [2]area
	mark          area
}

// area is a range of the original.
type area struct{ start, end int32 }

func fold(text string) *folded {
	f := folder{}
	f.text = make([]byte, 0, len(text)+utf8.UTFMax)
	f.starts = make([]int32, 0, len(text)+utf8.UTFMax)
	f.ends = make([]int32, 0, len(text)+utf8.UTFMax)
	for at := 0; at < len(text); {
		normal := norm.NFKC.QuickSpanString(text[at:])
		for _, r := range text[at : at+normal] {
			f.add(r, 1)
			f.place++
		}
		if at += normal; at == len(text) {
			break
		}
		size := norm.NFKC.NextBoundaryInString(text[at:], true)
		if size <= 0 {
			size = len(text) - at
		}
		f.segment(text[at : at+size])
		at += size
	}
	f.finish()
	return &f.folded
}

// segment reads a unit of normalization: a character and its marks.
func (f *folder) segment(part string) {
	count := utf8.RuneCountInString(part)
	first, width := utf8.DecodeRuneInString(part)
	if isRaised(first) {
		f.raised(first)
		f.place++
		if width < len(part) {
			f.segment(part[width:])
		}
		return
	}
	f.buffer = norm.NFKC.AppendString(f.buffer[:0], part)
	for i := 0; i < len(f.buffer); {
		r, size := utf8.DecodeRune(f.buffer[i:])
		f.add(r, count)
		i += size
	}
	f.place += count
}

// raised reads a superscript or subscript digit. After a letter it equals a digit (CO₂, m²); after a digit it does not:
// 10² is not 102.
func (f *folder) raised(r rune) {
	if f.waiting || !isWordLetter(f.last) {
		f.add(r, 1)
		return
	}
	if r < '₀' {
		f.notes = append(f.notes, len(f.text))
	}
	digit := norm.NFKC.String(string(r))
	f.add(rune(digit[0]), 1)
}

// add reads a code point that stands for count code points of the original.
func (f *folder) add(r rune, count int) {
	here := area{int32(f.place), int32(f.place + count)}
	p := &f.pending
	switch {
	case 'a' <= r && r <= 'z':
		f.visible(r, here)
	case isWhite(r):
		f.waiting = true
		side := 0
		if p.hyphen != none || p.soft {
			side = 1
			p.after = true
		} else {
			p.before = true
		}
		p.line = p.line || side == 1 && isLineEnd(r)
		if p.spaces[side] == (area{}) {
			p.spaces[side] = here
		}
	case r == '\u00ad':
		p.soft, f.waiting = true, true
	case isInvisible(r):
	case isDash(r):
		f.dash(r, here)
	case isDoubleQuote(r):
		f.visible('"', here)
	case isSingleQuote(r):
		f.single(here)
	default:
		f.visible(r, here)
	}
}

// dash reads a hyphen or dash. Two or three hyphens are a typed dash.
func (f *folder) dash(r rune, here area) {
	p := &f.pending
	switch {
	case p.hyphen != none && !p.after:
		p.hyphen = dash
		p.mark.end = here.end
		return
	case p.hyphen != none:
		f.write()
	}
	p.hyphen, f.waiting = joint, true
	if r != '-' && r != '‐' && r != '‑' {
		p.hyphen = dash
	}
	p.mark = here
}

// single reads a single quotation mark. Two of them are a double one.
func (f *folder) single(here area) {
	if n := len(f.text); n > 0 && f.text[n-1] == '\'' && f.ends[n-1] == here.start && !f.waiting {
		f.text[n-1] = '"'
		f.ends[n-1] = here.end
		f.last = '"'
		return
	}
	f.visible('\'', here)
}

// visible writes a code point and the pending input before it.
func (f *folder) visible(r rune, here area) {
	if f.waiting {
		f.settle(r)
	}
	f.append(r, here)
}

// settle interprets the white space and hyphen before r.
func (f *folder) settle(r rune) {
	p := f.pending
	between := isWordLetter(f.last) && unicode.IsLetter(r)
	switch {
	case p.hyphen == none && p.soft && between && !p.before:
		// A soft hyphen is visible only at the end of a line, so it is dropped.
	case p.hyphen == none, p.before:
		f.write()
		return
	case between:
		kind := p.hyphen
		if p.line {
			kind = broken
		} else if p.after {
			kind = gap
		}
		f.hyphens = append(f.hyphens, hyphen{len(f.text), kind, p.mark.end})
	case p.line && (isWordLetter(f.last) || unicode.IsDigit(f.last)) && (isWordLetter(r) || unicode.IsDigit(r)):
		// COVID-⏎19
		f.append('-', p.mark)
	default:
		f.write()
		return
	}
	f.pending, f.waiting = pending{}, false
}

// write writes the pending input unchanged.
func (f *folder) write() {
	p := f.pending
	f.pending, f.waiting = pending{}, false
	if p.before && len(f.text) > 0 {
		f.append(' ', p.spaces[0])
	}
	if p.hyphen != none {
		f.append('-', p.mark)
	}
	if p.after && len(f.text) > 0 {
		if p.hyphen == none && p.before {
			return
		}
		f.append(' ', p.spaces[1])
	}
}

// finish writes a hyphen at the end of the text, without white space after it.
func (f *folder) finish() {
	if f.pending.hyphen != none {
		f.pending.after = false
		f.write()
	}
}

func (f *folder) append(r rune, here area) {
	f.last = r
	if r < utf8.RuneSelf {
		f.text = append(f.text, byte(r))
		f.starts = append(f.starts, here.start)
		f.ends = append(f.ends, here.end)
		return
	}
	n := len(f.text)
	f.text = utf8.AppendRune(f.text, r)
	for range len(f.text) - n {
		f.starts = append(f.starts, here.start)
		f.ends = append(f.ends, here.end)
	}
}

func isWordLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r|0x20 && r|0x20 <= 'z'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r)
}

func isRaised(r rune) bool {
	return r == '¹' || r == '²' || r == '³' || '⁰' <= r && r <= '⁹' || '₀' <= r && r <= '₉'
}

// isWhite reports whether r is white space, or a control character that a bad conversion left in its place.
func isWhite(r rune) bool {
	if r < utf8.RuneSelf {
		return r <= ' ' || r == 0x7f
	}
	return unicode.IsSpace(r) || unicode.IsControl(r)
}

// isInvisible reports whether r is a joiner, direction mark or variation selector.
func isInvisible(r rune) bool {
	return r >= utf8.RuneSelf && (unicode.Is(unicode.Cf, r) || '\ufe00' <= r && r <= '\ufe0f')
}

func isDash(r rune) bool {
	switch r {
	case '-', '‐', '‑', '‒', '–', '—', '―', '−', '⁃', '﹘':
		return true
	}
	return false
}

func isDoubleQuote(r rune) bool {
	switch r {
	case '"', '“', '”', '„', '‟', '«', '»':
		return true
	}
	return false
}

func isSingleQuote(r rune) bool {
	switch r {
	case '\'', '‘', '’', '‚', '‛', '`', '‹', '›', '′':
		return true
	}
	return false
}
