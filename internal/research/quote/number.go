package quote

import (
	"strings"
	"unicode"
)

// numeral is a number in a text.
type numeral struct {
	// value is the number in a canonical form, without digit groups and redundant zeros. Numbers with letters (B12) and
	// irregular ones (1.2.3) are kept in lower case.
	value   string
	percent bool
	word    bool   // written as a word
	text    string // original text
}

// numerals returns the numbers of a text.
func numerals(text string) []numeral {
	r := numberReader{text: []rune(text)}
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case unicode.IsDigit(c):
			r.number()
		case unicode.IsLetter(c):
			r.word()
		case isFraction(c):
			r.found = append(r.found, numeral{value: string(c), text: string(c)})
			r.at++
		default:
			r.at++
		}
	}
	return r.found
}

type numberReader struct {
	text  []rune
	at    int
	found []numeral
}

// peek returns the code point at a distance, or 0.
func (r *numberReader) peek(distance int) rune {
	if i := r.at + distance; i >= 0 && i < len(r.text) {
		return r.text[i]
	}
	return 0
}

// word reads a word and the digits directly after it.
func (r *numberReader) word() {
	from := r.at
	mixed := false
	for r.at < len(r.text) {
		c := r.text[r.at]
		if unicode.IsDigit(c) || isRaised(c) && r.at > from && unicode.IsLetter(r.text[r.at-1]) && !isSuperscript(c) {
			mixed = true
		} else if !unicode.IsLetter(c) && !unicode.IsMark(c) {
			break
		}
		r.at++
	}
	word := string(r.text[from:r.at])
	small := strings.ToLower(word)
	if mixed {
		r.found = append(r.found, numeral{value: plainDigits(small), text: word})
		return
	}
	if value := numberWords[small]; value != "" {
		n := numeral{value: value, word: true, text: word}
		r.unit(&n)
		r.found = append(r.found, n)
	}
}

// number reads a number with its suffix and unit.
func (r *numberReader) number() {
	from := r.at
	negative := (r.peek(-1) == '-' || r.peek(-1) == '−') && !unicode.IsLetter(r.peek(-2)) &&
		!unicode.IsDigit(r.peek(-2)) &&
		r.peek(-2) != ')' && r.peek(-2) != '%'
	for unicode.IsDigit(r.peek(0)) ||
		isSeparator(r.peek(0)) && unicode.IsDigit(r.peek(1)) && (r.peek(0) != ' ' || r.groupAfter(from)) {
		r.at++
	}
	n := numeral{value: canonical(plainDigits(string(r.text[from:r.at])))}
	if isFraction(r.peek(0)) {
		n.value += string(r.peek(0))
		r.at++
	}
	r.suffix(&n)
	r.unit(&n)
	if negative {
		n.value = "-" + n.value
		from--
	}
	n.text = strings.TrimSpace(string(r.text[from:r.at]))
	r.found = append(r.found, n)
}

// groupAfter reports whether the space at this position separates groups of three digits: "12 345".
func (r *numberReader) groupAfter(from int) bool {
	head := 0
	for head < r.at-from && unicode.IsDigit(r.text[from+head]) {
		head++
	}
	return head <= 3 && unicode.IsDigit(r.peek(2)) && unicode.IsDigit(r.peek(3)) && !unicode.IsDigit(r.peek(4))
}

// suffix reads the letters directly after a number. Ordinals and units do not change the value; the s of a decade does.
func (r *numberReader) suffix(n *numeral) {
	from := r.at
	if (r.peek(0) == '\'' || r.peek(0) == '’') && r.peek(1) == 's' && !unicode.IsLetter(r.peek(2)) {
		r.at += 2
		n.value += "s"
		return
	}
	for unicode.IsLetter(r.peek(0)) {
		r.at++
	}
	switch strings.ToLower(string(r.text[from:r.at])) {
	case "s":
		n.value += "s"
	case "k":
		n.value = shift(n.value, 3)
	case "bn":
		n.value = shift(n.value, 9)
	}
	if unicode.IsDigit(r.peek(0)) {
		// 2x4 or 5G3 is a name, not a number.
		for unicode.IsDigit(r.peek(0)) || unicode.IsLetter(r.peek(0)) {
			r.at++
		}
		n.value = strings.ToLower(n.value + plainDigits(string(r.text[from:r.at])))
	}
}

// unit reads the words after a number that are part of it: million, percent.
func (r *numberReader) unit(n *numeral) {
	next := func() (string, int) {
		i := r.at
		for i < len(r.text) && (r.text[i] == '-' || unicode.IsSpace(r.text[i])) && i < r.at+2 {
			i++
		}
		from := i
		for i < len(r.text) && unicode.IsLetter(r.text[i]) {
			i++
		}
		return strings.ToLower(string(r.text[from:i])), i
	}
	if word, end := next(); scales[word] > 0 {
		n.value = shift(n.value, scales[word])
		r.at = end
	}
	if r.peek(0) == '%' || r.peek(0) == '٪' || unicode.IsSpace(r.peek(0)) && r.peek(1) == '%' {
		n.percent = true
		r.at++
		if r.peek(0) == '%' {
			r.at++
		}
		return
	}
	switch word, end := next(); word {
	case "percent", "percentage", "prozent", "procent":
		n.percent = true
		r.at = end
	case "per", "pour", "por":
		at := r.at
		r.at = end
		if second, end := next(); second == "cent" || second == "ciento" || second == "cento" {
			n.percent = true
			r.at = end
			return
		}
		r.at = at
	}
}

var scales = map[string]int{"hundred": 2, "thousand": 3, "million": 6, "millions": 6, "billion": 9, "trillion": 12}

var numberWords = map[string]string{
	"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
	"eleven": "11", "twelve": "12",
}

// canonical returns the canonical form of a number. The groups of digits decide whether a point or a comma is the
// decimal separator.
func canonical(raw string) string {
	kinds := ""
	for _, c := range raw {
		if (c < '0' || c > '9') && !strings.ContainsRune(kinds, c) {
			kinds += string(c)
		}
	}
	separators := []rune(kinds)
	decimal := rune(0)
	switch {
	case len(separators) == 0:
	case len(separators) > 2, len(separators) == 2 && strings.Count(raw, string(separators[1])) > 1:
		return raw
	case len(separators) == 2:
		decimal = separators[1]
	case separators[0] == '.' && strings.Count(raw, ".") == 1:
		decimal = '.'
	case !isGrouped(raw, separators[0]):
		if separators[0] != ',' || strings.Count(raw, ",") > 1 {
			return raw // a version or a date
		}
		decimal = ','
	}
	whole, rest := raw, ""
	if decimal != 0 {
		whole, rest, _ = strings.Cut(raw, string(decimal))
	}
	whole = strings.TrimLeft(strings.Map(onlyDigits, whole), "0")
	if whole == "" {
		whole = "0"
	}
	if rest = strings.TrimRight(strings.Map(onlyDigits, rest), "0"); rest != "" {
		return whole + "." + rest
	}
	return whole
}

// isGrouped reports whether a separator divides the number into groups of three digits, without a leading zero group.
func isGrouped(raw string, separator rune) bool {
	for i, group := range strings.Split(raw, string(separator)) {
		if i > 0 && len(group) != 3 || i == 0 && (len(group) > 3 || group == "0") {
			return false
		}
	}
	return true
}

func onlyDigits(r rune) rune {
	if '0' <= r && r <= '9' {
		return r
	}
	return -1
}

// shift multiplies a number by a power of ten.
func shift(value string, zeros int) string {
	whole, rest, _ := strings.Cut(value, ".")
	if strings.Map(onlyDigits, whole+rest) != whole+rest {
		return value
	}
	if len(rest) > zeros {
		return canonical(whole + rest[:zeros] + "." + rest[zeros:])
	}
	return canonical(whole + rest + strings.Repeat("0", zeros-len(rest)))
}

// isSeparator reports whether r may occur between the digits of a number.
func isSeparator(r rune) bool {
	switch r {
	case '.', ',', '\'', '’', '٫', '٬', ' ', '\u00a0', '\u2009', '\u202f':
		return true
	}
	return false
}

// isFraction reports whether r is a fraction such as ½.
func isFraction(r rune) bool { return '¼' <= r && r <= '¾' || '⅐' <= r && r <= '⅞' || r == '↉' }

// plainDigits converts the digits of all scripts to ASCII, and unifies similar separators.
func plainDigits(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x80:
			return r
		case unicode.IsDigit(r):
			return '0' + digitValue(r)
		case r == '\u2070' || '⁴' <= r && r <= '⁹':
			return '0' + (r - '⁰')
		case '₀' <= r && r <= '₉':
			return '0' + (r - '₀')
		case r == '’':
			return '\''
		case r == '٫':
			return '.'
		case r == '٬':
			return ','
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, text)
}

// digitValue returns the value of a decimal digit. Unicode assigns the digits of a script in order.
func digitValue(r rune) rune {
	for _, table := range unicode.Nd.R16 {
		if rune(table.Lo) <= r && r <= rune(table.Hi) {
			return (r - rune(table.Lo)) % 10
		}
	}
	for _, table := range unicode.Nd.R32 {
		if rune(table.Lo) <= r && r <= rune(table.Hi) {
			return (r - rune(table.Lo)) % 10
		}
	}
	return 0
}
