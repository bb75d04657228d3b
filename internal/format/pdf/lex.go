package pdf

import (
	"bytes"
	"strconv"

	"carrel/internal/format/budget"
)

// The types of PDF objects. Numbers are float64, booleans bool; null and malformed objects are nil.
type (
	name   string
	str    string
	array  []any
	dict   map[name]any
	ref    struct{ num, gen int }
	opword string // an operator or keyword
	stream struct {
		dict dict
		raw  []byte
		// of is the number of the object, which the decryption key depends on.
		of ref
	}
)

// maxNesting limits nested arrays and dictionaries. Real files have fewer than ten levels.
const maxNesting = 64

// lexer reads objects. It has no errors: malformed input becomes nil, and every call makes progress.
type lexer struct {
	data []byte
	pos  int
	// refs enables "1 0 R" references, which content streams don't have.
	refs bool
	b    *budget.Budget
	// held is the memory reserved for the objects read so far.
	held int
}

// Estimated memory of the parts of objects, including spare capacity of slices and maps.
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

// closer ends an array or a dictionary.
type closer byte

// next returns the next object, opword or closer, or false at the end of the data.
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

// number parses numbers, including malformed ones such as "--5" and "1.2.3" that some programs write and other
// readers accept.
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
			i = len(w) // ignore the rest
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

// reference returns a reference for "n g R", else the number n.
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
	l.hold(size) // half for the bytes, half for the string
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

// chunk is the number of string bytes that are charged to the budget at once.
const chunk = 4096

// escapes are the single-letter escapes of strings.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f'}

func (l *lexer) literal() str {
	var out []byte
	for open := 1; l.pos < len(l.data); l.pos++ {
		if len(out)&(chunk-1) == 0 && len(out) > 0 {
			l.b.Work(4 * chunk)
			l.hold(3 * chunk) // a doubling slice and the resulting string
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

// escape decodes an escape sequence and leaves the position on its last character.
func (l *lexer) escape(out []byte) []byte {
	if l.pos >= len(l.data) {
		l.pos-- // the caller moves on by one and must not leave the data
		return out
	}
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
			// An object that is not closed, or unknown words.
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
