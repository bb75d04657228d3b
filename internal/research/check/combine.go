package check

// combine merges the tokens of numbers, units, dates and identifiers.
func (r *reader) combine(raw []token) []token {
	out := make([]token, 0, len(raw))
	for i := 0; i < len(raw); {
		raw[i].entry = r.lexicon.entry(raw[i].fold)
		t, n := dateAt(raw, i)
		if n == 0 {
			t, n = r.identifierAt(raw, i)
		}
		if n == 0 {
			t, n = r.quantityAt(raw, i)
		}
		if n == 0 {
			t, n = raw[i], 1
		}
		if t.kind != word {
			t.entry = entry{}
			r.bound(out, &t)
			n += r.trailingBound(raw, i+n, &t)
			out = r.ranged(out, &t)
		}
		out = append(out, t)
		i += n
	}
	return out
}

// identifierAt reads an acronym with its number: RFC 9110, SP 800-63-2.
func (r *reader) identifierAt(raw []token, i int) (token, int) {
	t := raw[i]
	if t.kind != word || !t.acronym || i+1 >= len(raw) || raw[i+1].before != 0 {
		return t, 0
	}
	next := &raw[i+1]
	switch next.kind {
	case number:
		if next.value.bare && !standards[t.fold] || !onlyDigits(next.fold) || len(t.fold) > 6 {
			return t, 0
		}
		if i+2 < len(raw) {
			if _, n := unitAt(raw, i+2); n > 0 || r.lexicon.scale(raw[i+2].fold) != 0 {
				return t, 0
			}
		}
	case identifier:
		if next.fold[0] < '0' || next.fold[0] > '9' {
			return t, 0
		}
	default:
		return t, 0
	}
	t.kind = identifier
	t.fold = identifierKey(t.fold + next.fold)
	t.term, t.end = t.fold, next.end
	return t, 2
}

// standards are series whose numbers look like years.
var standards = set(`rfc iso din en sp pep ieee`)

// quantityAt reads a number with its scale and unit.
func (r *reader) quantityAt(raw []token, i int) (token, int) {
	t := raw[i]
	n := 0
	if dimension, ok := units[t.fold]; ok && isCurrency(t.fold) && i+1 < len(raw) && raw[i+1].kind == number {
		// $5 million
		t = raw[i+1]
		t.start, t.before = raw[i].start, raw[i].before
		t.value.dimension, t.value.factor = dimension.dimension, dimension.factor
		n = 1
	}
	switch t.kind {
	case number, ordinal:
		n++
	case word:
		if n = r.lexicon.wordsAt(raw, i, &t); n == 0 {
			return t, 0
		}
	default:
		return t, 0
	}
	if t.kind == ordinal {
		t.end, t.term = raw[i+n-1].end, t.fold
		return t, n
	}
	n += r.scaled(raw, i+n, &t)
	if t.value.dimension == "" && t.value.value < 1 && i+n+2 < len(raw) && raw[i+n].fold == "of" &&
		isArticle(raw[i+n+1].fold) {
		// One billionth of a metre.
		if u, size := unitAt(raw, i+n+2); size > 0 {
			t.value.dimension, t.value.factor = u.dimension, u.factor
			n += 2 + size
		}
	}
	if t.value.dimension == "" {
		if u, size := unitAt(raw, i+n); size > 0 && (raw[i+n].before&^hyphen == 0 || u.dimension == "%") {
			t.value.dimension, t.value.factor = u.dimension, u.factor
			t.value.bare = false
			n += size
		} else if r.comma && t.kind == number && !t.value.inWords && r.ordinalDot(raw, i+n) {
			t.kind = ordinal
		}
	}
	if t.value.weak && t.value.dimension == "" && t.value.value == 1 {
		// One without a unit is seldom a count.
		return t, 0
	}
	t.end = raw[i+n-1].end
	if t.fold == "" || t.value.inWords {
		t.fold = raw[i].fold
	}
	t.term = t.fold
	return t, n
}

func isCurrency(fold string) bool {
	return fold == "$" || fold == "€" || fold == "£" || fold == "¥"
}

// ordinalDot reports whether the full stop before the token makes the number before it an ordinal, as in German.
func (r *reader) ordinalDot(raw []token, i int) bool {
	if i >= len(raw) || raw[i].before != period || raw[i].kind != word || r.language == nil || r.language.Code != "de" {
		return false
	}
	return raw[i].start > 0 && r.runes[raw[i].start-1] == ' '
}

// scaled reads the words that multiply a number: million, billionths, of them the fractions.
func (r *reader) scaled(raw []token, i int, t *token) int {
	n := 0
	for i+n < len(raw) && raw[i+n].before&^(hyphen|period) == 0 && raw[i+n].kind == word {
		factor := r.lexicon.scale(raw[i+n].fold)
		if factor == 0 {
			if factor = r.lexicon.fraction(raw[i+n].fold); factor == 0 || n > 0 {
				break
			}
		}
		t.value.value *= factor
		t.value.step *= factor
		t.value.bare, t.value.weak = false, false
		n++
		if factor < 1 {
			break
		}
	}
	// One in four is a quarter.
	if n == 0 && t.value.inWords && i+1 < len(raw) && r.lexicon.proportion(raw[i].fold) {
		var whole token
		size := r.lexicon.wordsAt(raw, i+1, &whole)
		if size > 0 && whole.kind == number && whole.value.value > t.value.value {
			t.value.value /= whole.value.value
			t.value.step = 0.01
			t.value.weak = false
			return 1 + size
		}
	}
	return n
}

// bound sets the bound of a quantity from the words before it: more than 5, no longer than 5, about 5. The words then
// say nothing else.
func (r *reader) bound(out []token, t *token) {
	const longest = 3
	for n := min(longest, len(out)); n > 0; n-- {
		from := len(out) - n
		if hasBreak(out[from+1:]) || t.before&^(hyphen|quotation) != 0 {
			continue
		}
		b, ok := r.lexicon.bound(out[from:])
		if !ok {
			continue
		}
		t.value.bound = b
		for i := from; i < len(out); i++ {
			out[i].entry.neutral, out[i].entry.role = true, 0
		}
		return
	}
}

func hasBreak(tokens []token) bool {
	for i := range tokens {
		if tokens[i].before&^hyphen != 0 {
			return true
		}
	}
	return false
}

// trailingBound reads "or more" after a quantity, and returns the number of its tokens.
func (r *reader) trailingBound(raw []token, i int, t *token) int {
	if i+1 >= len(raw) || raw[i].before != 0 || raw[i+1].before != 0 || t.kind != number {
		return 0
	}
	b, ok := r.lexicon.trailing(raw[i].fold + " " + raw[i+1].fold)
	if !ok {
		return 0
	}
	t.value.bound = b
	return 2
}

// ranged completes a range of two numbers. The first one takes the unit of the second: 8–10 years. The second takes
// the century of the first: 1936–41.
func (r *reader) ranged(out []token, t *token) []token {
	if len(out) == 0 || t.kind != number {
		return out
	}
	last := &out[len(out)-1]
	joined := t.before&(hyphen|clause|dash) != 0
	if !joined && len(out) > 1 && (last.fold == "to" || last.fold == "bis" || last.fold == "and" || last.fold == "und") {
		last = &out[len(out)-2]
	} else if !joined {
		return out
	}
	if last.kind != number {
		return out
	}
	if last.value.dimension == "" && t.value.dimension != "" && !last.value.bare && last.value.value < t.value.value {
		last.value.dimension, last.value.factor = t.value.dimension, t.value.factor
	}
	if joined && last.value.bare && t.value.value < 100 && t.value.dimension == "" && t.end-t.start == 2 {
		century := float64(int(last.value.value) / 100 * 100)
		if full := century + t.value.value; full > last.value.value {
			t.value.value, t.value.bare, t.value.digits = full, true, 4
		}
	}
	return out
}
