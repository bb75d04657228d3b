package check

import (
	"strconv"
	"strings"
)

// isoDate reads 1981-04-12.
func (r *reader) isoDate(t *token, text string) bool {
	parts := strings.FieldsFunc(text, func(c rune) bool { return isHyphen(c) })
	if len(parts) != 3 || len(parts[0]) != 4 {
		return false
	}
	return t.setDate(parts[0], parts[1], parts[2])
}

// numericDate reads 12.04.1981, 4/12/1981 and 12/2000. In English the month of a date with slashes comes first, if
// both orders are possible.
func (r *reader) numericDate(t *token, text string) bool {
	if parts := strings.Split(text, "."); len(parts) == 3 && len(parts[2]) == 4 {
		return t.setDate(parts[2], parts[1], parts[0])
	}
	parts := strings.Split(text, "/")
	switch {
	case len(parts) == 2 && len(parts[1]) == 4:
		return t.setDate(parts[1], parts[0], "")
	case len(parts) != 3 || len(parts[2]) != 4:
		return false
	case r.comma:
		return t.setDate(parts[2], parts[1], parts[0]) || t.setDate(parts[2], parts[0], parts[1])
	}
	return t.setDate(parts[2], parts[0], parts[1]) || t.setDate(parts[2], parts[1], parts[0])
}

func (t *token) setDate(year, month, day string) bool {
	y, errY := strconv.Atoi(year)
	m, errM := strconv.Atoi(month)
	d := 0
	if day != "" {
		var err error
		if d, err = strconv.Atoi(day); err != nil || d < 1 || d > 31 {
			return false
		}
	}
	if errY != nil || errM != nil || m < 1 || m > 12 || y < 1000 || y > 2200 {
		return false
	}
	t.kind, t.fold = date, year+"-"+month+"-"+day
	t.value = quantity{year: y, month: m, day: d, factor: 1}
	return true
}

// months are the names of months by language, in lower case. Names that several languages share stand once.
var months = func() map[string]int {
	names := []string{
		"january jan januar janvier enero gennaio januari janeiro tammikuu",
		"february feb februar febr février fevrier febrero febbraio februari fevereiro",
		"march mar märz maerz mrz mars marzo maart março marco",
		"april apr avril abril aprile",
		"may mai mayo maggio mei maio maj",
		"june jun juni juin junio giugno junho",
		"july jul juli juillet julio luglio julho",
		"august aug août aout agosto augustus augusti",
		"september sept sep septembre septiembre settembre setembro",
		"october oct oktober okt octobre octubre ottobre outubro",
		"november nov novembre noviembre novembro",
		"december dec dezember dez décembre decembre diciembre dicembre dezembro",
	}
	out := make(map[string]int)
	for i, line := range names {
		for name := range strings.FieldsSeq(line) {
			out[name] = i + 1
		}
	}
	return out
}()

// monthAt returns the month that a token names, or 0. May and march are months only next to a number.
func monthAt(tokens []token, i int) int {
	t := &tokens[i]
	if t.kind != word || !t.capital {
		return 0
	}
	m := months[t.fold]
	switch t.fold {
	case "may", "march", "mar", "mars", "sep", "dec", "jan", "jun", "mei", "mai", "marco":
		if m > 0 && !besideNumber(tokens, i) && (t.initial || t.fold != "may" && t.fold != "march" && t.fold != "mai") {
			return 0
		}
	}
	return m
}

func besideNumber(tokens []token, i int) bool {
	return i > 0 && isCount(&tokens[i-1]) || i+1 < len(tokens) && isCount(&tokens[i+1])
}

func isCount(t *token) bool { return t.kind == number || t.kind == ordinal }

// dateAt reads a date that names its month, and returns the number of tokens that it takes, or 0.
func dateAt(tokens []token, i int) (token, int) {
	t := tokens[i]
	at := i
	q := quantity{factor: 1}
	if isCount(&t) && isDay(&t) && i+1 < len(tokens) {
		// 12 April, 12. April, 12th of April
		next := i + 1
		if tokens[next].fold == "of" && next+1 < len(tokens) {
			next++
		}
		if q.month = monthAt(tokens, next); q.month == 0 {
			return t, 0
		}
		q.day, at = int(t.value.value), next
	} else if q.month = monthAt(tokens, i); q.month == 0 {
		return t, 0
	}
	at++
	if q.day == 0 && at < len(tokens) && isCount(&tokens[at]) && isDay(&tokens[at]) &&
		tokens[at].before&^(period|comma) == 0 {
		q.day = int(tokens[at].value.value)
		at++
	}
	if at < len(tokens) && tokens[at].fold == "of" && at+1 < len(tokens) && tokens[at+1].value.bare {
		at++
	}
	if at < len(tokens) && tokens[at].value.bare && tokens[at].before&^(period|comma) == 0 {
		q.year = int(tokens[at].value.value)
		at++
	}
	t.kind, t.value = date, q
	t.end = tokens[at-1].end
	t.fold = strconv.Itoa(q.year) + "-" + strconv.Itoa(q.month) + "-" + strconv.Itoa(q.day)
	t.term = t.fold
	return t, at - i
}

// isDay reports whether a number can be a day of a month.
func isDay(t *token) bool {
	v := t.value.value
	return !t.value.inWords && v >= 1 && v <= 31 && v == float64(int(v)) && t.value.dimension == ""
}

// fits reports whether a date of a sentence is the date of the quote, as far as both are given.
func (q *quantity) fits(o *quantity) bool {
	return agree(q.year, o.year) && agree(q.month, o.month) && agree(q.day, o.day) && q.decade == o.decade &&
		(q.year != 0 && o.year != 0 || q.month != 0 && o.month != 0)
}

// adds reports whether a date of a sentence is more precise than the date of the quote that it fits.
func (q *quantity) adds(o *quantity) bool {
	return q.year != 0 && o.year == 0 || q.month != 0 && o.month == 0 || q.day != 0 && o.day == 0
}

func agree(a, b int) bool { return a == b || a == 0 || b == 0 }
