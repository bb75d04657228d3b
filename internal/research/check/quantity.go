package check

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// bound says how a quantity limits the counted things.
type bound int8

const (
	exactly bound = iota
	about
	above   // more than, over
	atLeast // at least, or more
	below   // less than, under
	atMost  // at most, up to
	nearly  // almost: a little less
)

// quantity is a number with its unit, or a date.
type quantity struct {
	value  float64
	step   float64 // value of the last digit given, for rounding
	digits int     // significant digits given
	// dimension names the physical quantity or currency, and factor is the size of the unit in base units.
	dimension string
	factor    float64
	bound     bound
	year      int // of a date; a bare year has no month
	month     int
	day       int
	decade    bool // 1990s
	bare      bool // four digits that may be a year or a count
	weak      bool // one, or an article before a unit
	inWords   bool
}

// digits reads a number in digits from i on, and returns its end.
func (r *reader) digits(t *token, from int) int {
	i := from
	hyphens := 0
	for i < len(r.runes) {
		c := r.runes[i]
		if unicode.IsDigit(c) {
			i++
			continue
		}
		if i+1 >= len(r.runes) || !unicode.IsDigit(r.runes[i+1]) {
			break
		}
		if isHyphen(c) || c == ':' {
			hyphens++
		} else if !r.separates(from, i) {
			break
		}
		i++
	}
	t.end = i
	text := string(r.runes[from:i])
	switch {
	case hyphens == 1 && !strings.Contains(text, ":"):
		// A range, which is read as two numbers.
		t.end = from + strings.IndexFunc(text, isHyphen)
		i = t.end
		text = string(r.runes[from:i])
	case hyphens > 0:
		if r.isoDate(t, text) {
			return i
		}
		t.kind, t.fold = identifier, identifierKey(text)
		return i
	case strings.ContainsAny(text, "./") && r.numericDate(t, text):
		return i
	}
	if whole, part, ok := strings.Cut(text, "/"); ok {
		a, errA := strconv.ParseFloat(whole, 64)
		b, errB := strconv.ParseFloat(part, 64)
		if errA != nil || errB != nil || b == 0 {
			t.kind, t.fold = identifier, text
			return i
		}
		t.kind, t.value = number, quantity{value: a / b, factor: 1, step: 0.001, digits: 3}
		return i
	}
	return r.suffix(t, text, i)
}

// separates reports whether the character at i separates digits of one number that begins at from.
func (r *reader) separates(from, i int) bool {
	switch r.runes[i] {
	case '.', ',', '/':
		return true
	case ' ', '\u00a0', '\u202f', '\u2009', '\'', '’':
		// Groups of three digits: 12 345.
		if i-from > 3 && !strings.ContainsAny(string(r.runes[from:i]), "  \u202f\u2009'’") {
			return false
		}
		n := 0
		for j := i + 1; j < len(r.runes) && unicode.IsDigit(r.runes[j]); j++ {
			n++
		}
		return n == 3 && i-from <= 12
	}
	return false
}

// suffix reads the letters after a number in digits.
func (r *reader) suffix(t *token, text string, i int) int {
	value, step, digits, ok := parseDecimal(text, r.comma)
	if !ok {
		t.kind, t.fold = identifier, identifierKey(text)
		return i
	}
	t.kind, t.fold = number, text
	t.value = quantity{value: value, step: step, digits: digits, factor: 1}
	t.value.bare = len(text) == 4 && onlyDigits(text) && value >= 1000 && value <= 2100
	end := i
	if end < len(r.runes) && isApostrophe(r.runes[end]) {
		end++
	}
	first := end
	for end < len(r.runes) && isWordRune(r.runes[end]) {
		end++
	}
	letters := strings.ToLower(string(r.runes[first:end]))
	switch letters {
	case "":
		return i
	case "st", "nd", "rd", "th":
		t.kind, t.value.bare = ordinal, false
	case "s", "er", "ern":
		if !t.value.bare && value < 100 {
			// A person in the 30s is not 30 seconds old.
			t.kind, t.fold = identifier, identifierKey(text+letters)
			break
		}
		if !t.value.bare {
			return i
		}
		t.value.decade, t.value.bare, t.value.year = true, false, int(value)
		t.kind = date
	case "k":
		t.value.value, t.value.step = value*1e3, step*1e3
	case "m":
		if from := t.start - 1; from < 0 || !isCurrency(symbols[r.runes[from]]) {
			return i
		}
		t.value.value, t.value.step = value*1e6, step*1e6
	case "bn":
		t.value.value, t.value.step = value*1e9, step*1e9
	default:
		if _, known := units[letters]; known && first == i {
			return i // the unit is read as the next word
		}
		t.kind, t.fold = identifier, identifierKey(text+letters)
	}
	t.end = end
	return end
}

func onlyDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// parseDecimal returns the value of a number in digits, the value of its last digit, and its significant digits.
func parseDecimal(text string, decimalComma bool) (value, step float64, digits int, ok bool) {
	text = strings.Map(func(c rune) rune {
		switch {
		case c == '.' || c == ',':
			return c
		case '0' <= c && c <= '9':
			return c
		case unicode.IsDigit(c):
			return '0' + c%10
		}
		return -1
	}, text)
	decimal, group := ".", ","
	if decimalComma {
		decimal, group = group, decimal
	}
	// The groups of digits show whether the text uses the other convention.
	switch d, g := strings.Count(text, decimal), strings.Count(text, group); {
	case d > 1 && g > 1:
		return 0, 0, 0, false
	case d > 1, d == 1 && g == 1 && strings.Index(text, decimal) < strings.Index(text, group):
		decimal, group = group, decimal
	case d == 0 && g == 1 && len(text)-strings.Index(text, group)-1 != 3:
		decimal, group = group, decimal
	}
	whole, part, _ := strings.Cut(text, decimal)
	for i, g := range strings.Split(whole, group) {
		if i > 0 && len(g) != 3 {
			return 0, 0, 0, false // a version or a section: 1.2.3
		}
	}
	plain := strings.ReplaceAll(whole, group, "")
	if part != "" {
		plain += "." + part
	}
	value, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(value, 0) {
		return 0, 0, 0, false
	}
	significant := strings.TrimLeft(strings.Replace(plain, ".", "", 1), "0")
	step = math.Pow(10, -float64(len(part)))
	if part == "" {
		trimmed := strings.TrimRight(significant, "0")
		step = math.Pow(10, float64(len(significant)-len(trimmed)))
		significant = trimmed
	}
	return value, step, len(significant), true
}

// isFraction reports whether a number is a part of a whole: a quarter.
func (q *quantity) isFraction() bool {
	return q.dimension == "" && q.inWords && q.value > 0 && q.value < 1
}

// base returns the value in the base unit of its dimension.
func (q *quantity) base() float64 { return q.value * q.factor }

// relation is the result of comparing a quantity of a sentence with one of the quote.
type relation uint8

const (
	different relation = iota
	equal
	looser   // the value agrees, but the sentence is not as careful as the quote
	opposite // the value agrees, and one says more than and the other less than
)

// Tolerances of rounding, relative to the value.
const (
	roundedTo = 0.05 // a value rounded to the digits given
	roughly   = 0.1  // after a word such as about
	wide      = 0.3  // after a word such as more than
)

// compare compares a quantity of a sentence with one of the quote.
func (q *quantity) compare(o *quantity) relation {
	if q.dimension != o.dimension && q.dimension != "" && o.dimension != "" {
		if q.dimension == "pound" || o.dimension == "pound" {
			return pounds(q, o)
		}
		return different
	}
	a, b := q.base(), o.base()
	if q.dimension == "" || o.dimension == "" {
		if (q.dimension == "%") != (o.dimension == "%") {
			// Half and 50 % are equal, 50 and 50 % are not.
			if !q.isFraction() && !o.isFraction() {
				return different
			}
		}
		a, b = q.value, o.value
		if q.dimension == "%" || o.dimension == "%" {
			a, b = q.base(), o.base()
		}
	}
	if q.decade != o.decade {
		return different
	}
	same := math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b))
	if same {
		if q.dimension != "" && o.dimension == "" && q.dimension != "%" {
			return looser // the quote counts something else
		}
		return q.boundsOf(o)
	}
	return q.rounds(o, a, b)
}

// boundsOf compares the bounds of equal values.
func (q *quantity) boundsOf(o *quantity) relation {
	up := func(b bound) bool { return b == above || b == atLeast }
	down := func(b bound) bool { return b == below || b == atMost || b == nearly }
	switch {
	case q.bound == o.bound, up(q.bound) && up(o.bound), down(q.bound) && down(o.bound):
		return equal
	case up(q.bound) && down(o.bound), down(q.bound) && up(o.bound):
		return opposite
	case q.bound == about && !down(o.bound) && !up(o.bound):
		return equal
	case o.bound == exactly && (q.bound == atLeast || q.bound == atMost):
		return looser
	case o.bound == exactly:
		return opposite // more than 300, and the quote says 300
	}
	return looser
}

// rounds compares unequal values, a of the sentence and b of the quote.
func (q *quantity) rounds(o *quantity, a, b float64) relation {
	if q.bare && o.bare || q.decade || b == 0 || a*b < 0 {
		return different
	}
	off := math.Abs(a-b) / math.Abs(b)
	if o.bound >= above && q.bound >= above && off > roundedTo {
		return different // at most 52, at most 63
	}
	switch q.bound {
	case about:
		if off <= roughly {
			return equal
		}
	case above, atLeast:
		if a < b && off <= wide {
			return lowerBound(o.bound)
		}
		if a < b {
			return looser
		}
	case below, atMost, nearly:
		if a > b && off <= wide {
			return upperBound(o.bound)
		}
		if a > b && q.bound != nearly {
			return looser
		}
	default:
		step := q.step
		if q.dimension == o.dimension {
			step *= q.factor
		}
		if off <= roundedTo/2 && q.digits >= 2 && q.digits < o.digits+2 && math.Abs(a-b) <= step/2*(1+1e-9) {
			return equal
		}
	}
	return different
}

// lowerBound tells whether a lower value bounds one with the given bound from below.
func lowerBound(b bound) relation {
	if b == below || b == atMost || b == nearly {
		return looser
	}
	return equal
}

// upperBound tells whether a higher value bounds one with the given bound from above.
func upperBound(b bound) relation {
	if b == above || b == atLeast {
		return looser
	}
	return equal
}

// pounds compares two quantities of which one is in pounds.
func pounds(q, o *quantity) relation {
	a, b := q.inPounds(), o.inPounds()
	if a.dimension != b.dimension {
		return different
	}
	return a.compare(b)
}

// inPounds returns a weight in pounds or an amount of sterling without its unit, because a pound can be either.
func (q *quantity) inPounds() *quantity {
	out := *q
	switch q.dimension {
	case "sterling", "pound":
		out.dimension, out.factor = "pound", 1
	case "mass":
		out.dimension, out.value, out.factor = "pound", q.base()/453.592, 1
	}
	return &out
}
