package check

// resolve finds the counterparts of words that the quote replaces by a pronoun, and of words in the title. A name of
// the title can stand for a pronoun of the quote, or be added where no other name stands.
func (c *comparison) resolve() {
	before := c.precedingSubject()
	c.resolveSubject()
	for i := range c.c {
		t := &c.c[i]
		if c.at[i] != nowhere || t.kind == ordinal {
			continue
		}
		if t.value.bare && int(t.value.value) == c.year || t.kind == date && t.value.month == 0 && t.value.year == c.year {
			if c.year > 0 {
				c.at[i] = outside
			}
			continue
		}
		if t.kind == number || t.kind == date || !t.content() || !c.title[t.term] && !before[t.term] {
			continue
		}
		if c.rival(i, func(k *token) bool { return k.name || k.kind == identifier }) != nowhere {
			continue // another name stands there
		}
		if p := c.pronounFor(i); p != nowhere {
			c.at[i] = p
			if c.taken[p] == nowhere {
				c.taken[p] = i
			}
		} else if c.title[t.term] && (t.name || t.kind == identifier || c.inTitleName(i)) && !c.rivalNoun(i) {
			c.at[i] = outside
		}
	}
}

// rivalNoun reports whether an unaligned content word of the quote stands in the place of a token.
func (c *comparison) rivalNoun(i int) bool {
	from, to := c.slot(i)
	for p := max(from, to-2); p < to; p++ {
		if c.taken[p] == nowhere && c.q[p].content() {
			return true
		}
	}
	return false
}

// inTitleName reports whether a word is part of a name of the sentence.
func (c *comparison) inTitleName(i int) bool { return c.c[i].capital && !c.c[i].initial }

// pronounFor returns the pronoun of the quote that a word of the sentence replaces: the one before the counterpart of
// the next word.
func (c *comparison) pronounFor(i int) int {
	next := nowhere
	for k := i + 1; k < len(c.c) && next == nowhere; k++ {
		if c.at[k] >= 0 && c.q[c.at[k]].entry.role&refers == 0 {
			next = c.at[k]
		}
	}
	if next == nowhere {
		return nowhere
	}
	const reach = 5
	for p := next - 1; p >= 0 && p >= next-reach; p-- {
		k := &c.q[p]
		if k.sentence != c.q[next].sentence {
			break
		}
		if k.entry.role&refers != 0 {
			return p
		}
		if c.taken[p] == nowhere && k.content() && k.name {
			break
		}
	}
	return nowhere
}

// precedingSubject returns the words of the first name in the sentence before the quote, which a pronoun at the
// beginning of the quote refers to, or the first words of that sentence.
func (c *comparison) precedingSubject() map[string]bool {
	tokens := c.before
	if len(tokens) == 0 || !c.hasPronoun() {
		return nil
	}
	const subject = 6
	last := tokens[len(tokens)-1].sentence
	out := make(map[string]bool)
	for i := range tokens {
		t := &tokens[i]
		if t.sentence != last {
			continue
		}
		if len(out) > 0 && t.entry.role&beVerb != 0 || len(out) >= subject {
			break
		}
		if t.content() && t.kind == word || t.kind == identifier {
			out[t.term] = true
		}
	}
	return out
}

// hasPronoun reports whether a pronoun stands near the beginning of a sentence of the quote.
func (c *comparison) hasPronoun() bool {
	const reach = 4
	from := 0
	for i := range c.q {
		if c.q[i].initial {
			from = i
		}
		if i-from < reach && c.q[i].entry.role&refers != 0 {
			return true
		}
	}
	return false
}

// resolveSubject aligns a subject of the title with "the country" or "the drug" if that stands before the next word,
// and the word itself stands in another clause of the quote only.
func (c *comparison) resolveSubject() {
	first, next := nowhere, nowhere
	for i := range c.c {
		if !c.c[i].content() {
			continue
		}
		if first == nowhere {
			first = i
			continue
		}
		if c.at[i] >= 0 {
			next = i
			break
		}
	}
	if first == nowhere || next == nowhere || c.c[first].kind != word || !c.title[c.c[first].term] {
		return
	}
	p := c.at[next]
	if at := c.at[first]; at >= 0 && c.q[at].sentence == c.q[p].sentence && !c.insidePhrase(first) {
		return
	}
	// The noun directly before the next word, with a definite article.
	k := p - 1
	if k < 1 || c.q[p].before&^quotation != 0 || c.taken[k] != nowhere || c.q[k].kind != word || c.q[k].name ||
		!c.q[k].content() {
		return
	}
	switch c.q[k-1].fold {
	case "the", "this", "these", "that", "der", "die", "das", "dieser", "diese", "dieses":
		if at := c.at[first]; at >= 0 && c.taken[at] == first {
			c.taken[at] = nowhere
		}
		c.at[first] = k
		c.taken[k] = first
	}
}

// nameRule finds names that the evidence does not hold. If another name of the quote stands in their place, the quote
// contradicts the sentence.
func (c *comparison) nameRule() (Finding, bool) {
	for i := range c.c {
		t := &c.c[i]
		if !t.name || c.at[i] != nowhere {
			continue
		}
		if t.initial && !c.certainName(i) || c.around[t.term] || c.around[t.fold] || c.partOfName(i) ||
			c.similarName(t) || c.lex.generic[t.fold] || !c.about(c.nameShare(), i) || t.initial && !c.lex.known {
			c.blocked = true
			continue
		}
		if p := c.rival(i, func(k *token) bool { return k.name && k.acronym == t.acronym }); p != nowhere {
			if c.lex.generic[c.q[p].fold] {
				c.blocked = true
				continue
			}
			return c.differs(Contradicted, NameDiffers, p, c.contrast(p, i))
		}
		if t.acronym {
			c.blocked = true // it may abbreviate a name of the quote
			continue
		}
		return c.differs(Unsupported, NameAbsent, nowhere, "The source does not name "+c.said(i)+".")
	}
	return Finding{}, false
}

// nameShare is the share of the sentence that the quote must hold for a missing name to count. It is higher in
// languages without word lists, because the other differences are not known.
func (c *comparison) nameShare() float64 {
	if c.lex.known {
		return nearlySame
	}
	return 0.9
}

// certainName reports whether a capitalized word at the beginning of a sentence is a name: another part of the name
// follows, and it is not the title of a person.
func (c *comparison) certainName(i int) bool {
	return i+1 < len(c.c) && c.c[i+1].name && c.at[i+1] == nowhere
}

// partOfName reports whether another part of the same name has a counterpart: Barack in Barack Obama.
func (c *comparison) partOfName(i int) bool {
	for _, k := range []int{i - 1, i + 1} {
		if k < 0 || k >= len(c.c) || !c.c[k].name || c.c[max(i, k)].before&^hyphen != 0 {
			continue
		}
		if c.at[k] >= 0 && c.rival(i, func(t *token) bool { return t.name }) == nowhere {
			return true
		}
	}
	return false
}

// similarName reports whether the quote holds a name that begins alike, such as Peru for Peruvian, or differs by a
// misspelling.
func (c *comparison) similarName(t *token) bool {
	const same = 4 // letters
	for i := range c.q {
		k := &c.q[i]
		if !k.capital || k.kind != word {
			continue
		}
		n := 0
		for n < len(t.fold) && n < len(k.fold) && t.fold[n] == k.fold[n] {
			n++
		}
		if n >= same {
			return true
		}
		m := 0
		for m < len(t.fold)-n && m < len(k.fold)-n && t.fold[len(t.fold)-1-m] == k.fold[len(k.fold)-1-m] {
			m++
		}
		// All but two letters agree.
		if longest := max(len(t.fold), len(k.fold)); longest > 5 && n+m >= longest-2 && n > 0 {
			return true
		}
	}
	return false
}
