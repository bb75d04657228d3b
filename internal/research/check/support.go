package check

import "strings"

// supported reports whether the sentence follows from the quote: every content word has a counterpart, the order is
// the same or explained, and what the sentence leaves out does not change the meaning of the rest.
func (c *comparison) supported() bool {
	if c.blocked {
		return false
	}
	matched := 0
	for i := range c.c {
		t := &c.c[i]
		switch {
		case c.at[i] >= 0:
			matched++
		case !t.content() || c.at[i] == outside || t.entry.role&light != 0 || t.value.weak:
		default:
			return false
		}
	}
	if matched == 0 || c.sharedPlace() || c.comparesAlone() {
		return false
	}
	subject := c.subject()
	last, anchor := nowhere, nowhere // the anchor is the token before a moved phrase
	for i := range c.c {
		if c.at[i] < 0 {
			continue
		}
		if c.headDropped(i) || c.otherName(i) || c.infinitive(i) || c.directionTurned(i) || c.modifierOnly(i) ||
			c.otherNumber(i) {
			return false
		}
		if i == subject && c.insidePhrase(i) {
			return false
		}
		if anchor != nowhere && c.at[i] > c.at[anchor] {
			last, anchor = anchor, nowhere
		}
		switch {
		case last == nowhere:
		case c.at[i] < c.at[last]:
			if !c.moveFits(last, i) {
				return false
			}
			if anchor == nowhere {
				anchor = last
			}
		case !c.gapFits(last, i):
			return false
		}
		last = i
	}
	return true
}

// subject returns the first content word of the sentence that is not part of a phrase with a preposition, or nowhere.
func (c *comparison) subject() int {
	for i := range c.c {
		t := &c.c[i]
		if t.content() && t.kind != date && !t.value.bare && !isPreposition(t) && c.directly(c.c, i) == "" {
			return i
		}
	}
	return nowhere
}

// comparesAlone reports whether the sentence compares with than, and the quote does not.
func (c *comparison) comparesAlone() bool {
	has := func(tokens []token) bool {
		for i := range tokens {
			if tokens[i].entry.role&compares != 0 {
				return true
			}
		}
		return false
	}
	return !c.german() && has(c.c) && !has(c.q)
}

// sharedPlace reports whether two different words of the sentence have the same counterpart.
func (c *comparison) sharedPlace() bool {
	for i, p := range c.at {
		if p < 0 || c.taken[p] == i || c.taken[p] == nowhere {
			continue
		}
		if c.q[p].entry.role&refers == 0 && c.c[i].term != c.c[c.taken[p]].term && !c.joinedWords(i, c.taken[p]) {
			return true
		}
	}
	return false
}

// joinedWords reports whether two tokens of the sentence are parts of one word or name.
func (c *comparison) joinedWords(i, k int) bool {
	if i > k {
		i, k = k, i
	}
	return k == i+1 && c.c[k].before&hyphen != 0 || c.c[i].capital && c.c[k].capital
}

// aside reports whether a position between two others lies in brackets or between a pair of commas or dashes.
func (c *comparison) aside(from, to, p int) bool {
	const reach = 60 // tokens, so that the time stays linear
	open, shut := false, false
	for k := p; k > from && k > p-reach; k-- {
		if c.q[k].before&(opened|comma|clause|dash) != 0 {
			open = true
			break
		}
	}
	for k := p + 1; k <= to && k < p+reach; k++ {
		if c.q[k].before&(closed|comma|clause|dash) != 0 {
			shut = true
			break
		}
	}
	return open && shut
}

// gapFits reports whether the words of the quote between the counterparts of two neighbours can be left out.
func (c *comparison) gapFits(a, b int) bool {
	const longest = 120 // tokens
	from, to := c.at[a], c.at[b]
	if to-from > longest {
		return false
	}
	if c.copular(a, b) && !c.equates(from, to) || c.skips(from, to) && (c.ranks(a) || c.objectOf(a, b)) {
		return false
	}
	if c.sameFrame(from, to) {
		return false
	}
	boundary, ok := c.clauseBefore(a, b)
	if !ok {
		return false
	}
	for p := from + 1; p < to; p++ {
		// A word in brackets or between commas can always be left out.
		if c.taken[p] == nowhere && !c.aside(from, to, p) && !c.skippable(a, b, p, boundary) {
			return false
		}
	}
	return true
}

// clauseBefore returns the position where the last clause between the counterparts of two neighbours begins, or the
// position of the first counterpart. It is not ok if a new sentence begins there that the sentence does not join.
func (c *comparison) clauseBefore(a, b int) (boundary int, ok bool) {
	from, to := c.at[a], c.at[b]
	boundary = from
	for p := from + 1; p <= to; p++ {
		k := &c.q[p]
		if k.before&(stop|clause) != 0 || k.before&comma != 0 && k.entry.role&joins != 0 {
			boundary = p
		}
		if k.before&stop != 0 && !c.connected(a, b) && !c.continues(a, p) {
			return 0, false
		}
	}
	if c.connected(a, b) && c.joinedBefore(to) || c.predicate(from, to) || c.listSubject(from, to) {
		boundary = to
	}
	return boundary, true
}

// skippable reports whether the sentence may leave out the word at p, which stands between the counterparts of two
// neighbours.
func (c *comparison) skippable(a, b, p, boundary int) bool {
	k, from, to := &c.q[p], c.at[a], c.at[b]
	if boundary > from && p >= boundary && k.content() && k.entry.role&light == 0 &&
		!c.resumes(b, p, to) && !c.sameName(p, to) && !c.repeated(k) {
		return false // the next clause has its own subject
	}
	if k.content() && k.kind == word && (k.term == c.q[from].term || k.term == c.q[to].term) {
		return false // the quote says something else with the same word
	}
	return boundary > from && p < boundary && c.connected(a, b) || !c.competes(p, to)
}

// continues reports whether a sentence of the quote begins with a pronoun for the subject of the sentence, which is
// all that the sentence says up to a token: "Smith", "Smith says".
func (c *comparison) continues(a, p int) bool {
	if c.q[p].entry.role&refers == 0 {
		return false
	}
	for k := range a + 1 {
		if t := &c.c[k]; t.content() && !t.name && !t.capital && t.entry.role&attributes == 0 {
			return false
		}
	}
	return true
}

// repeated reports whether a skipped word of the quote occurs in the sentence.
func (c *comparison) repeated(k *token) bool {
	for i := range c.c {
		if c.at[i] >= 0 && c.c[i].term == k.term {
			return true
		}
	}
	return false
}

// joinedBefore reports whether a conjunction stands before a position of the quote, apart from articles.
func (c *comparison) joinedBefore(p int) bool {
	for k := p - 1; k >= 0 && k >= p-3; k-- {
		if c.q[k].entry.role&joins != 0 {
			return true
		}
		if !c.q[k].entry.neutral {
			return false
		}
	}
	return false
}

// sameFrame reports whether a skipped noun stands after the same preposition as the next counterpart: "40 % heat with
// gas, 12 % with oil" does not say that 40 % heat with oil.
func (c *comparison) sameFrame(from, to int) bool {
	if c.q[to].kind != word {
		return false
	}
	p := c.directly(c.q, to)
	if p == "" {
		return false
	}
	for k := from + 1; k < to-1; k++ {
		if c.taken[k] == nowhere && c.q[k].kind == word && c.q[k].content() && c.directly(c.q, k) == p &&
			!c.aside(from, to, k) {
			return true
		}
	}
	return false
}

// predicate reports whether the words between two positions are a predicate noun with a relative clause: in "A is a
// pathway that is required", A is required.
func (c *comparison) predicate(from, to int) bool {
	if from+1 >= to || c.q[from+1].entry.role&beVerb == 0 {
		return false
	}
	for k := to - 1; k > from && k >= to-3; k-- {
		switch c.q[k].fold {
		case "that", "which", "who":
			return true
		}
		if c.q[k].entry.role&beVerb == 0 {
			return false
		}
	}
	return false
}

// listSubject reports whether the words between a noun and its verb are the other members of a list of subjects.
func (c *comparison) listSubject(from, to int) bool {
	aux := to
	for aux-1 > from && (c.q[aux-1].entry.role&beVerb != 0 || isHave(c.q[aux-1].fold)) {
		aux--
	}
	if aux == to || from+1 >= aux || c.q[from+1].before&comma == 0 && c.q[from+1].entry.role&joins == 0 {
		return false
	}
	last := false
	for k := from + 1; k < aux; k++ {
		t := &c.q[k]
		if t.before&(stop|clause) != 0 || t.entry.role&(beVerb|modal|refers|conditions) != 0 || isHave(t.fold) ||
			subordinates(t.fold) {
			return false
		}
		last = last || t.entry.role&joins != 0
	}
	return last
}

// objectOf reports whether a word follows another one directly in the sentence, but is part of a phrase with a
// preposition in the quote: "killed a plan of X" does not say "killed X".
func (c *comparison) objectOf(a, b int) bool {
	for k := a + 1; k < b; k++ {
		if !isArticle(c.c[k].fold) {
			return false
		}
	}
	return c.c[b].kind == word && c.c[b].before&^(hyphen|quotation) == 0 && c.directly(c.q, c.at[b]) != "" &&
		c.directly(c.q, c.at[b]) != "as" && c.directly(c.c, b) == ""
}

// resumes reports whether the skipped words before a counterpart are adverbs, or the sentence continues with a
// conjunction.
func (c *comparison) resumes(b, p, to int) bool {
	if strings.HasSuffix(c.q[p].fold, "ly") {
		return true
	}
	// The words after a bracket or dash belong to the part before it.
	for k := p; k <= to; k++ {
		if c.q[k].before&(stop|clause) != 0 {
			return false
		}
	}
	return c.q[to].kind != word && b > 0
}

// connected reports whether a comma or conjunction stands between two tokens of the sentence.
func (c *comparison) connected(a, b int) bool {
	for k := a + 1; k <= b; k++ {
		if c.c[k].before&(comma|clause) != 0 || c.c[k].entry.role&(joins|because) != 0 {
			return true
		}
	}
	return false
}

// competes reports whether a skipped token is of the same kind as the next counterpart, and could be meant instead.
func (c *comparison) competes(p, to int) bool {
	k, next := &c.q[p], &c.q[to]
	switch {
	case next.kind == number || next.kind == date:
		return sameKind(next, k) && !c.listed(p, to)
	case next.kind == identifier:
		return k.kind == identifier && !c.listed(p, to)
	case next.name && k.name:
		compound := p+1 < to && c.q[p+1].before&hyphen != 0 && !c.q[p+1].capital // Manchu-led
		return !compound && !c.listed(p, to) && !c.sameName(p, to)
	}
	return next.kind == word && k.kind == word && c.lex.opposes(k, next)
}

// listed reports whether two tokens of the quote are members of one list: A, B and C.
func (c *comparison) listed(p, to int) bool {
	for k := p + 1; k < to; k++ {
		t := &c.q[k]
		if t.entry.role&joins == 0 && t.kind == c.q[to].kind && t.name == c.q[to].name {
			continue
		}
		if t.entry.role&joins == 0 && t.fold != "&" {
			return false
		}
	}
	return c.q[to].kind == word || c.q[to].kind == identifier
}

// sameName reports whether two tokens of the quote are parts of one name.
func (c *comparison) sameName(p, to int) bool {
	for k := p + 1; k <= to; k++ {
		if c.q[k].before&^hyphen != 0 || !c.q[k].name {
			return false
		}
	}
	return true
}

// headDropped reports whether the counterpart of a token depends on a noun that the sentence leaves out: the brother
// of X, X's brother.
func (c *comparison) headDropped(i int) bool {
	p := c.at[i]
	if c.q[p].owner && !c.c[i].owner && p+1 < len(c.q) && c.taken[p+1] == nowhere && c.q[p+1].content() &&
		c.q[p+1].before == 0 {
		return !c.claimHasOf(i)
	}
	if c.claimHasOf(i) || i > 0 && c.c[i-1].entry.role&relates != 0 {
		return false
	}
	k := p - 1
	if k >= 0 && c.q[k].content() && c.taken[k] == nowhere && c.q[k].kind == word && c.q[p].before == 0 {
		k-- // a modifier of the noun: a Job name
	}
	for k >= 0 && (c.q[k].entry.neutral || c.q[k].entry.role&quantifies != 0) && c.q[k].entry.role&relates == 0 {
		if c.q[k+1].before&^(hyphen|quotation) != 0 {
			return false
		}
		k--
	}
	if k < 1 || c.q[k].fold != "of" || c.q[k+1].before&^(hyphen|quotation) != 0 {
		return false
	}
	return c.taken[k-1] == nowhere && c.q[k-1].content() && c.q[k-1].entry.role&light == 0 && !c.anyTaken(k-4, k)
}

// anyTaken reports whether a token of a part of the quote has a counterpart.
func (c *comparison) anyTaken(from, to int) bool {
	for p := max(0, from); p < to; p++ {
		if c.taken[p] != nowhere {
			return true
		}
	}
	return false
}

// claimHasOf reports whether a token of the sentence is in a genitive.
func (c *comparison) claimHasOf(i int) bool {
	if c.c[i].owner {
		return true
	}
	for k := i - 1; k >= 0 && k >= i-3; k-- {
		switch c.c[k].fold {
		case "of", "von", "vom", "der", "des":
			return true
		}
		if c.c[k].content() && c.at[k] < 0 {
			return false
		}
	}
	return false
}
