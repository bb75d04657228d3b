package check

import (
	"strconv"
	"strings"
)

// values reads a list of "word=value".
func values(text string) map[string]float64 {
	out := make(map[string]float64)
	for pair := range strings.FieldsSeq(text) {
		w, value, _ := strings.Cut(pair, "=")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			panic("check: bad value in the word lists: " + pair)
		}
		out[w] = v
	}
	return out
}

// wordsAt reads a number in words from i on into t, and returns the number of its tokens, or 0.
func (l *lexicon) wordsAt(raw []token, i int, t *token) int {
	if !l.known || i >= len(raw) || raw[i].kind != word {
		return 0
	}
	*t = raw[i]
	fold := raw[i].fold
	if v, ok := l.ordinals[fold]; ok && !l.isUnit(raw, i) {
		t.kind, t.value = ordinal, quantity{value: v, factor: 1, step: 1, digits: 3}
		return 1
	}
	if f, ok := l.fractions[fold]; ok {
		// Half of them, but not "a third party".
		if fold != "half" && fold != "hälfte" && fold != "halb" && fold != "halbe" && !l.quarterOf(raw, i) {
			return 0
		}
		t.setWords(f)
		return 1
	}
	value, ok := l.numbers[fold]
	if !ok {
		return l.scaleWord(raw, i, t)
	}
	n := 1
	if value >= 20 && value < 100 && i+1 < len(raw) && raw[i+1].before&^hyphen == 0 {
		if ones := l.numbers[raw[i+1].fold]; ones >= 1 && ones < 10 {
			value += ones
			n++
		}
	}
	for i+n < len(raw) && raw[i+n].before&^hyphen == 0 {
		s := l.scales[raw[i+n].fold]
		if s == 0 || s > 100 {
			break
		}
		value *= s
		n++
	}
	if value >= 100 && n > 1 {
		n += l.rest(raw, i+n, &value)
	}
	t.setWords(value)
	if value == 1 && n == 1 {
		t.value.weak = true
		if l.ordinals[nextFold(raw, i+1)] > 0 && l.fractions[nextFold(raw, i+1)] == 0 {
			return 0
		}
	}
	return n
}

func nextFold(raw []token, i int) string {
	if i < len(raw) {
		return raw[i].fold
	}
	return ""
}

// rest reads the tens and ones after hundreds: two hundred and fifty.
func (l *lexicon) rest(raw []token, i int, value *float64) int {
	n := 0
	if nextFold(raw, i) == "and" || nextFold(raw, i) == "und" {
		n = 1
	}
	var tail token
	if i+n < len(raw) && raw[i+n].before&^hyphen == 0 {
		if v, ok := l.numbers[raw[i+n].fold]; ok && v < 100 {
			if size := l.wordsAt(raw, i+n, &tail); size > 0 && tail.kind == number && tail.value.value < 100 {
				*value += tail.value.value
				return n + size
			}
		}
	}
	return 0
}

// scaleWord reads "a hundred", "a quarter" and "thousand".
func (l *lexicon) scaleWord(raw []token, i int, t *token) int {
	n := 0
	switch raw[i].fold {
	case "a", "an", "ein", "eine", "einer", "einem", "einen", "eines":
		n = 1
	}
	if i+n >= len(raw) || n == 1 && raw[i+1].before&^hyphen != 0 {
		return 0
	}
	next := raw[i+n].fold
	switch {
	case n == 1 && l.fractions[next] > 0 && (l.quarterOf(raw, i+n) || next == "half" || l.ordinals[next] == 0):
		t.setWords(l.fractions[next])
		return 2
	case l.scales[next] > 0 && (n == 1 || next == "hundert" || next == "tausend"):
		t.setWords(l.scales[next])
		return n + 1
	case n == 1 && next != "second" && !letterUnits[next]:
		if u, size := unitAt(raw, i+1); size > 0 && u.dimension != "%" {
			t.setWords(1)
			t.value.weak = true
			return 1
		}
	}
	return 0
}

// quarterOf reports whether a word that may be an ordinal or a coin is a fraction: it is followed by of or a unit, or
// ends the text.
func (l *lexicon) quarterOf(raw []token, i int) bool {
	if i+1 >= len(raw) || raw[i+1].before&(stop|comma|clause|period) != 0 {
		return true
	}
	switch raw[i+1].fold {
	case "of", "the", "der", "aller", "von", "des", "in", "as", "more", "less", "mehr":
		return true
	}
	_, size := unitAt(raw, i+1)
	return size > 0
}

// isUnit reports whether the word second is a unit of time.
func (l *lexicon) isUnit(raw []token, i int) bool {
	if _, ok := units[raw[i].fold]; !ok || i == 0 {
		return false
	}
	before := &raw[i-1]
	return isCount(before) || before.fold == "per" || before.fold == "pro" || l.numbers[before.fold] > 0 ||
		before.fold == "a" && (i+1 >= len(raw) || raw[i+1].before&^hyphen != 0)
}

func (t *token) setWords(value float64) {
	t.kind = number
	t.value = quantity{value: value, factor: 1, step: value / 100, digits: 3, inWords: true}
}

// germanNumbers adds the compounds of German number words: fünfundfünfzig, zweihundert, achtzehnten, zweidrittel.
func germanNumbers(l *lexicon) {
	ones := []string{"ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"}
	tens := []string{"zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"}
	for j, ten := range tens {
		for i, one := range ones {
			l.numbers[one+"und"+ten] = float64(20 + 10*j + i + 1)
		}
	}
	for i, one := range ones {
		l.numbers[one+"hundert"] = float64(100 * (i + 1))
		l.numbers[one+"tausend"] = float64(1000 * (i + 1))
		for j, part := range []string{"drittel", "viertel", "fünftel"} {
			if i > 0 {
				for _, ending := range []string{"", "n"} {
					l.numbers[one+part+ending] = float64(i+1) / float64(j+3)
				}
			}
		}
	}
	for w, v := range l.numbers {
		if v < 4 || v > 99 || v != float64(int(v)) {
			continue
		}
		stem := w + "t"
		if v > 19 {
			stem = w + "st"
		}
		if w == "acht" {
			stem = "acht"
		}
		for _, ending := range []string{"e", "en", "er", "es", "em"} {
			l.ordinals[stem+ending] = v
		}
	}
}
