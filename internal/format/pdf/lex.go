package pdf

import (
	"bytes"
	"strconv"

	"carrel/internal/format/budget"
)

// The objects of a file. Numbers are float64, true and false bool, null and whatever is broken nil.
type (
	name   string
	str    string
	array  []any
	dict   map[name]any
	ref    struct{ num, gen int }
	opword string // an operator, or any other word outside strings
	stream struct {
		dict dict
		raw  []byte
		// of is the object's own number, which its encryption depends on.
		of ref
	}
)

// maxNesting is how deep arrays and dictionaries may be nested. Files need less than ten.
const maxNesting = 64

// lexer reads objects from bytes. It never fails: what can't be read is nil, and it always gets on.
type lexer struct {
	data []byte
	pos  int
	// refs says that "1 0 R" is a reference, as it is everywhere but in the contents of pages.
	refs bool
	b    *budget.Budget
	// held is the memory of the objects that were read.
	held int
}

// The memory that parts of objects take, growing slices and maps included.
const (
	memoryItem  = 48
	memoryField = 96
	memoryEntry = 64
)

func (l *lexer) hold(n int) {
	l.held += n
	l.b.Hold(n)
}

var (
	space = classOf("\x00\t\n\f\r ")
	delim = classOf("()<>[]{}/%")
)

func classOf(chars string) (c [256]bool) {
	for i := range len(chars) {
		c[chars[i]] = true
	}
	return c
}

func (l *lexer) skipSpace() {
	for l.pos < len(l.data) {
		switch c := l.data[l.pos]; {
		case space[c]:
			l.pos++
		case c == '%':
			for l.pos < len(l.data) && l.data[l.pos] != '\r' && l.data[l.pos] != '\n' {
				l.pos++
			}
		default:
			return
		}
	}
}

// closer is what ends an array or a dictionary.
type closer byte

// next returns the next object, an opword, or a closer; at the end of the data it returns false.
func (l *lexer) next() (any, bool) { return l.object(0) }

func (l *lexer) object(depth int) (any, bool) {
	start := l.pos
	l.skipSpace()
	l.b.Work(workToken + l.pos - start)
	if l.pos >= len(l.data) {
		return nil, false
	}
	switch c := l.data[l.pos]; c {
	case '/':
		l.pos++
		return l.name(), true
	case '(':
		l.pos++
		return l.literal(), true
	case '<':
		if l.at(1) == '<' {
			l.pos += 2
			return l.dict(depth + 1), true
		}
		l.pos++
		return l.hex(), true
	case '[':
		l.pos++
		return l.array(depth + 1), true
	case '>':
		l.pos++
		if l.at(0) == '>' {
			l.pos++
		}
		return closer('>'), true
	case ']', '}', ')':
		l.pos++
		return closer(c), true
	case '{':
		l.pos++
		return opword("{"), true
	}
	return l.word(), true
}

func (l *lexer) at(ahead int) byte {
	if l.pos+ahead < len(l.data) {
		return l.data[l.pos+ahead]
	}
	return 0
}

// regular returns the characters up to the next white space or delimiter.
func (l *lexer) regular() []byte {
	start := l.pos
	for l.pos < len(l.data) && !space[l.data[l.pos]] && !delim[l.data[l.pos]] {
		l.pos++
	}
	l.b.Work(l.pos - start)
	return l.data[start:l.pos]
}

func (l *lexer) word() any {
	w := l.regular()
	if c := w[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		if n, ok := number(w); ok {
			if l.refs && n >= 0 && c >= '0' && c <= '9' {
				return l.reference(n)
			}
			return n
		}
	}
	switch string(w) {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	return opword(w)
}

// number reads what files have for numbers, "--5" and "1.2.3" included: programs write them, and readers take them.
func number(w []byte) (float64, bool) {
	neg, i := false, 0
	for i < len(w) && (w[i] == '-' || w[i] == '+') {
		neg = neg || w[i] == '-'
		i++
	}
	n, scale, digits, point := 0.0, 1.0, 0, false
	for ; i < len(w); i++ {
		switch c := w[i]; {
		case c >= '0' && c <= '9':
			digits++
			n = n*10 + float64(c-'0')
			if point {
				scale *= 10
			}
		case c == '.' && !point:
			point = true
		case digits > 0:
			i = len(w) // what comes after is noise
		default:
			return 0, false
		}
	}
	if digits == 0 && !point || scale > 1e200 || n > 1e200 {
		return 0, digits > 0
	}
	if n /= scale; neg {
		n = -n
	}
	return n, true
}

// reference turns "n g R" into a reference, and leaves a number alone that is none.
func (l *lexer) reference(n float64) any {
	start := l.pos
	l.skipSpace()
	gen := l.regular()
	if g, err := strconv.Atoi(string(gen)); err == nil && len(gen) <= 5 && g >= 0 && n < 1<<31 {
		l.skipSpace()
		if l.at(0) == 'R' && (l.pos+1 >= len(l.data) || space[l.at(1)] || delim[l.at(1)]) {
			l.pos++
			return ref{int(n), g}
		}
	}
	l.pos = start
	return n
}

func (l *lexer) name() name {
	w := l.regular()
	l.hold(len(w))
	if bytes.IndexByte(w, '#') < 0 {
		return name(w)
	}
	out := make([]byte, 0, len(w))
	for i := 0; i < len(w); i++ {
		if w[i] == '#' && i+2 < len(w) {
			hi, lo := unhex(w[i+1]), unhex(w[i+2])
			if hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		out = append(out, w[i])
	}
	return name(out)
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func (l *lexer) hex() str {
	size := bytes.IndexByte(l.data[l.pos:], '>')
	if size < 0 {
		size = len(l.data) - l.pos
	}
	l.b.Work(4 * size)
	l.hold(size) // half for the bytes, half for the string made of them
	out := make([]byte, 0, size/2+1)
	half := -1
	for l.pos < len(l.data) {
		c := l.data[l.pos]
		l.pos++
		if c == '>' {
			break
		}
		switch d := unhex(c); {
		case d < 0:
		case half < 0:
			half = d
		default:
			out, half = append(out, byte(half<<4|d)), -1
		}
	}
	if half >= 0 {
		out = append(out, byte(half<<4))
	}
	return str(out)
}

// chunk is how many bytes of a string are counted at once.
const chunk = 4096

// escapes are the characters after a backslash that stand for others.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f'}

func (l *lexer) literal() str {
	var out []byte
	for open := 1; l.pos < len(l.data); l.pos++ {
		if len(out)&(chunk-1) == 0 && len(out) > 0 {
			l.b.Work(4 * chunk)
			l.hold(3 * chunk) // of a slice that doubles, and the string made of it
		}
		c := l.data[l.pos]
		switch c {
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				l.pos++
				return str(out)
			}
		case '\\':
			l.pos++
			out = l.escape(out)
			continue
		}
		out = append(out, c)
	}
	return str(out)
}

// escape reads what follows a backslash; it leaves the position on the last character of it.
func (l *lexer) escape(out []byte) []byte {
	c := l.at(0)
	switch {
	case c >= '0' && c <= '7':
		n := 0
		for i := 0; i < 3 && l.at(0) >= '0' && l.at(0) <= '7'; i++ {
			n = n<<3 | int(l.at(0)-'0')
			l.pos++
		}
		l.pos--
		return append(out, byte(n))
	case c == '\r':
		if l.at(1) == '\n' {
			l.pos++
		}
		return out
	case c == '\n':
		return out
	case escapes[c] != 0:
		return append(out, escapes[c])
	}
	return append(out, c)
}

func (l *lexer) array(depth int) array {
	var out array
	for {
		if depth > maxNesting {
			l.pos = len(l.data)
			return out
		}
		x, ok := l.object(depth)
		if !ok {
			return out
		}
		switch x := x.(type) {
		case closer:
			return out
		case opword:
			// Noise, or the end of an object that was never closed.
			if x == "endobj" || x == "endstream" {
				return out
			}
		default:
			l.hold(memoryItem)
			out = append(out, x)
		}
	}
}

func (l *lexer) dict(depth int) dict {
	out := dict{}
	for {
		if depth > maxNesting {
			l.pos = len(l.data)
			return out
		}
		key, ok := l.object(depth)
		if !ok {
			return out
		}
		switch key := key.(type) {
		case closer:
			return out
		case opword:
			if key == "endobj" || key == "stream" {
				l.pos -= len(key)
				return out
			}
		case name:
			value, ok := l.object(depth)
			if _, early := value.(closer); !ok || early {
				return out
			}
			l.hold(memoryField)
			out[key] = value
		}
	}
}
