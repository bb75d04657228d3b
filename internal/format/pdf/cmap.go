package pdf

import "carrel/internal/format/budget"

// cmap is the ToUnicode map of a font: character codes to text. An embedded encoding maps codes to character ids.
type cmap struct {
	text map[uint32]string
	// cids are runs of codes with consecutive character ids.
	cids []cidRange
	b    *budget.Budget
	// ranges are the code space ranges, which define how many bytes a code has.
	ranges []codeRange
}

type codeRange struct {
	low, high uint32
	bytes     int
}

type cidRange struct {
	low, high uint32
	cid       int
}

// maxCIDRanges limits the search for a code.
const maxCIDRanges = 4096

// maxMapped is the number of two-byte codes.
const maxMapped = 1 << 16

func (f *file) readCMap(data []byte) *cmap {
	m := &cmap{text: map[uint32]string{}, b: f.b}
	l := lexer{data: data, b: f.b}
	defer func() { f.b.Release(l.held) }()
	var operands []any
	for {
		x, ok := l.next()
		if !ok {
			return m
		}
		op, isOp := x.(opword)
		if !isOp {
			if len(operands) < 3*maxMapped {
				l.hold(memoryItem)
				operands = append(operands, x)
			}
			continue
		}
		switch op {
		case "endcodespacerange":
			for ; len(operands) >= 2; operands = operands[2:] {
				m.addRange(operands[0], operands[1])
			}
		case "endcidchar":
			for ; len(operands) >= 2; operands = operands[2:] {
				m.addCIDs(operands[0], operands[0], operands[1])
			}
		case "endcidrange":
			for ; len(operands) >= 3; operands = operands[3:] {
				m.addCIDs(operands[0], operands[1], operands[2])
			}
		case "endbfchar":
			for ; len(operands) >= 2; operands = operands[2:] {
				from, _ := operands[0].(str)
				to, _ := operands[1].(str)
				m.set(codeValue(string(from)), string(to))
			}
		case "endbfrange":
			for ; len(operands) >= 3; operands = operands[3:] {
				m.addTexts(operands[0], operands[1], operands[2])
			}
		}
		operands = operands[:0]
		f.b.Release(l.held)
		l.held = 0
	}
}

func codeValue(s string) (v uint32) {
	for i := range min(4, len(s)) {
		v = v<<8 | uint32(s[i])
	}
	return v
}

// maxUnits limits the UTF-16 bytes of one code. A ligature has eight; without a limit one range of codes could repeat
// a long text 65,536 times.
const maxUnits = 64

// set stores the text of a code, given as UTF-16.
func (m *cmap) set(c uint32, units string) {
	m.b.Work(2 * workEntry)
	if len(m.text) < maxMapped {
		text := utf16Text(units[:min(len(units), maxUnits)])
		m.b.Hold(memoryEntry + len(text))
		m.text[c] = text
	}
}

func (m *cmap) addRange(low, high any) {
	from, ok := low.(str)
	to, _ := high.(str)
	if n := len(from); ok && n >= 1 && n <= 4 && len(to) == n && len(m.ranges) < 256 {
		m.ranges = append(m.ranges, codeRange{codeValue(string(from)), codeValue(string(to)), n})
	}
}

func (m *cmap) addCIDs(low, high, cid any) {
	from, ok := low.(str)
	to, _ := high.(str)
	if ok && len(m.cids) < maxCIDRanges {
		m.b.Hold(memoryEntry)
		m.cids = append(m.cids, cidRange{codeValue(string(from)), codeValue(string(to)), asInt(cid)})
	}
}

// cid returns the character id of a code, which is the code itself if the map does not have it.
func (m *cmap) cid(c uint32) int {
	m.b.Work(len(m.cids) / 4)
	for _, r := range m.cids {
		if c >= r.low && c <= r.high {
			return r.cid + int(c-r.low)
		}
	}
	return int(c)
}

func (m *cmap) addTexts(low, high, to any) {
	from, _ := low.(str)
	until, _ := high.(str)
	first, last := codeValue(string(from)), codeValue(string(until))
	if last < first || last-first > maxMapped {
		return
	}
	switch to := to.(type) {
	case array:
		for i, x := range to {
			s, _ := x.(str)
			m.set(first+uint32(i), string(s))
		}
	case str:
		units := []byte(to[:min(len(to), maxUnits)])
		for c := first; c <= last && len(units) > 0; c++ {
			m.set(c, string(units))
			// The last unit is incremented with carry, because some writers let a range cross a byte boundary.
			for i := len(units) - 1; i >= max(0, len(units)-2); i-- {
				if units[i]++; units[i] != 0 {
					break
				}
			}
			if c == 1<<32-1 {
				return
			}
		}
	}
}

// length returns the number of bytes of the first code in s.
func (m *cmap) length(s string) int {
	for n := 1; n <= min(4, len(s)); n++ {
		v := codeValue(s[:n])
		for _, r := range m.ranges {
			if r.bytes == n && r.low <= v && v <= r.high {
				return n
			}
		}
	}
	if len(m.ranges) > 0 {
		return m.ranges[0].bytes
	}
	return 2
}
