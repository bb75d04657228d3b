package check

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Where a token of the sentence stands in the quote, if it has no position.
const (
	nowhere = -1
	outside = -2 // in the title, or it is the year of publication
)

// text is a quote in the form in which sentences are aligned with it.
type text struct {
	tokens  []token
	byTerm  map[string][]int // positions of content words
	byGroup map[int][]int    // positions of synonyms
	byRoot  map[string][]int // positions by the first letters, for derived words
	joined  map[string]int   // words with a hyphen, joined; initials of names
	values  []int            // positions of numbers, dates and ordinals
	causes  []int
	says    []int
}

// maxPlaces limits the counterparts of one word, so that aligning takes linear time.
const maxPlaces = 6

func newText(tokens []token, l *lexicon) *text {
	t := &text{
		tokens: tokens, byTerm: make(map[string][]int, len(tokens)), byGroup: make(map[int][]int),
		byRoot: make(map[string][]int), joined: make(map[string]int),
	}
	for i := range tokens {
		k := &tokens[i]
		switch k.kind {
		case number, date, ordinal:
			t.values = append(t.values, i)
			if i > 0 && tokens[i-1].capital && k.before == 0 && onlyDigits(k.fold) {
				t.joined[tokens[i-1].fold+k.fold] = i - 1 // France 24
			}
			continue
		}
		add(t.byTerm, k.term, i)
		if g := l.groups[k.term]; g > 0 {
			add(t.byGroup, g, i)
		}
		if r := root(k.term); r != "" && !k.entry.neutral {
			add(t.byRoot, r, i)
		}
		if k.before&hyphen != 0 && i > 0 {
			t.joined[tokens[i-1].fold+k.fold] = i
		}
		if k.entry.role&(because|therefore) != 0 {
			t.causes = append(t.causes, i)
		}
		if k.entry.role&attributes != 0 {
			t.says = append(t.says, i)
		}
	}
	t.initials()
	return t
}

func add[K comparable](places map[K][]int, key K, i int) {
	if p := places[key]; len(p) < maxPlaces {
		places[key] = append(p, i)
	}
}

// rootLetters is the length of the beginning that derived words share: decide, decision.
const rootLetters = 5

// root returns the beginning of a long term, or "".
func root(term string) string {
	if len(term) < rootLetters || !utf8.ValidString(term[:rootLetters]) {
		return ""
	}
	return term[:rootLetters]
}

// derived reports whether two terms with the same root are forms of one word: the shorter one is the beginning of the
// longer one except for at most one letter, and the rest is an ending.
func derived(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	n := 0
	for n < len(a) && a[n] == b[n] {
		n++
	}
	return n >= rootLetters && (n == len(a) || endings[a[n:]]) && endings[b[n:]]
}

// endings are the endings of stems that do not change the meaning of a word.
var endings = set(`
	e i y s t d ion at ate ation ing ed ment al iti ity li ly anc ance enc ence eri ery iv ive abl able ness c ic en
	er or ung lich ig isch heit keit n et est te ten end tion sion`)

// initials adds the initials of names of two words or more: WHO for World Health Organization.
func (t *text) initials() {
	for from := 0; from < len(t.tokens); {
		var b strings.Builder
		end := from
		for i := from; i < len(t.tokens); i++ {
			k := &t.tokens[i]
			if k.kind != word || i > from && k.before&^hyphen != 0 {
				break
			}
			if k.capital {
				first, _ := utf8.DecodeRuneInString(k.fold)
				b.WriteRune(first)
				end = i + 1
			} else if i == from || !k.entry.neutral {
				break
			}
		}
		if letters := b.String(); len(letters) >= 2 && end-from >= 2 {
			// A name at the beginning of a sentence may have an article before it.
			for i := 0; len(letters)-i >= 2 && i < 6; i++ {
				if _, taken := t.joined[letters[i:]]; !taken {
					t.joined[letters[i:]] = end - 1
				}
			}
		}
		from = max(from+1, end)
	}
}

// content reports whether a token needs a counterpart in the quote.
func (t *token) content() bool {
	if t.kind != word {
		return true
	}
	if t.entry.role&lexical != 0 {
		return true
	}
	return !t.entry.neutral && t.entry.role&^light == 0
}

// aligned maps the tokens of a sentence to the tokens of a quote.
type aligned struct {
	c, q  []token
	at    []int // by token of the sentence: a position in the quote, nowhere or outside
	taken []int // by token of the quote: the token of the sentence, or nowhere
	words *lexicon
}

// align aligns a sentence with a quote. Of several counterparts of a word it chooses those that keep the order.
func align(c []token, q *text, l *lexicon) *aligned {
	a := &aligned{c: c, q: q.tokens, at: make([]int, len(c)), taken: make([]int, len(q.tokens)), words: l}
	places := make([][]int, len(c))
	var last []int     // places of the last word
	var cost []float64 // of the best way to each of them
	back := make([][]int8, len(c))
	previous := nowhere
	for i := range c {
		a.at[i] = nowhere
		if !c[i].content() {
			continue
		}
		places[i] = a.counterparts(i, q)
		if len(places[i]) == 0 {
			continue
		}
		next := make([]float64, len(places[i]))
		back[i] = make([]int8, len(places[i]))
		for j, p := range places[i] {
			best := 0.05 * float64(j)
			if previous != nowhere {
				best = -1
				for k, from := range last {
					if sum := cost[k] + a.step(from, p); best < 0 || sum < best {
						best, back[i][j] = sum, int8(k)
					}
				}
			}
			next[j] = best
		}
		last, cost, previous = places[i], next, i
	}
	a.trace(places, back, cost)
	return a
}

// trace follows the best way back.
func (a *aligned) trace(places [][]int, back [][]int8, cost []float64) {
	for i := range a.taken {
		a.taken[i] = nowhere
	}
	if len(cost) == 0 {
		return
	}
	k := 0
	for i := range cost {
		if cost[i] < cost[k] {
			k = i
		}
	}
	for i := len(a.c) - 1; i >= 0; i-- {
		if len(places[i]) == 0 {
			continue
		}
		a.at[i] = places[i][k]
		a.taken[places[i][k]] = i
		k = int(back[i][k])
	}
}

// step is the cost of going from one position of the quote to another one.
func (a *aligned) step(from, to int) float64 {
	distance := 0.1 * float64(min(max(to-from, from-to), 30))
	switch {
	case to == from:
		return 6
	case to == from+1:
		return 0
	case to > from:
		if a.q[to].sentence != a.q[from].sentence {
			distance += 2
		}
		return 1 + distance
	}
	return 3 + distance
}

// counterparts returns the positions of a token of the sentence in the quote.
func (a *aligned) counterparts(i int, q *text) []int {
	t := &a.c[i]
	switch t.kind {
	case number, date, ordinal:
		return a.sameValues(t, q)
	}
	if p := q.byTerm[t.term]; len(p) > 0 {
		if t.kind == identifier || t.entry.role&lexical == 0 {
			return p
		}
		return slices.Clone(p)
	}
	if p, ok := q.joined[t.fold]; ok && (t.acronym || len(t.fold) > 4) {
		return []int{p}
	}
	if t.kind == identifier {
		return nil
	}
	if t.before&hyphen != 0 && i > 0 || i+1 < len(a.c) && a.c[i+1].before&hyphen != 0 {
		if p := a.split(i, q); len(p) > 0 {
			return p
		}
	}
	if g := a.words.groups[t.term]; g > 0 && len(q.byGroup[g]) > 0 {
		return q.byGroup[g]
	}
	if t.entry.role&(because|therefore) != 0 && len(q.causes) > 0 {
		return q.causes[:min(len(q.causes), maxPlaces)]
	}
	if t.entry.role&attributes != 0 && len(q.says) > 0 {
		return q.says[:min(len(q.says), maxPlaces)]
	}
	return a.related(t, q)
}

// split finds the two parts of a hyphenated word of the sentence that the quote writes as one: pre-synaptic.
func (a *aligned) split(i int, q *text) []int {
	if a.c[i].before&hyphen == 0 {
		i++
	}
	whole := a.c[i-1].fold + a.c[i].fold
	for p := range q.tokens {
		if q.tokens[p].fold == whole {
			return []int{p}
		}
	}
	return nil
}

// related finds names of the same country and derived words.
func (a *aligned) related(t *token, q *text) []int {
	if country := a.words.countries[t.fold]; country > 0 {
		for p := range q.tokens {
			if a.words.countries[q.tokens[p].fold] == country {
				return []int{p}
			}
		}
	}
	var out []int
	if r := root(t.term); r != "" && a.words.known {
		for _, p := range q.byRoot[r] {
			k := &q.tokens[p]
			if derived(t.term, k.term) && !a.words.opposes(t, k) && (!t.name || k.name) {
				out = append(out, p)
			}
		}
	}
	return out
}

// sameValues returns the positions of quantities that agree with one of the sentence.
func (a *aligned) sameValues(t *token, q *text) []int {
	var out, loose []int
	for _, p := range q.values {
		if len(out) == maxPlaces {
			break
		}
		switch relate(t, &q.tokens[p]) {
		case equal, opposite:
			out = append(out, p)
		case looser:
			if len(loose) < maxPlaces {
				loose = append(loose, p)
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	return loose
}

// relate compares two quantities, dates or ordinals.
func relate(t, k *token) relation {
	switch {
	case t.kind == date && k.kind == date:
		switch {
		case !t.value.fits(&k.value):
			return different
		case t.value.adds(&k.value):
			return looser
		}
		return equal
	case t.kind == date || k.kind == date:
		// A bare year is read as a number.
		d, n := &t.value, &k.value
		if k.kind == date {
			d, n = n, d
		}
		if !d.decade && d.year > 0 && n.dimension == "" && n.value == float64(d.year) {
			if t.kind == date && d.month > 0 {
				return looser
			}
			return equal
		}
		return different
	case (t.kind == ordinal) != (k.kind == ordinal):
		return different
	}
	return t.value.compare(&k.value)
}
