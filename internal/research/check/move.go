package check

import "strings"

// moveFits reports whether a change of the order between two neighbours of the sentence keeps the meaning.
func (c *comparison) moveFits(a, b int) bool {
	if c.q[c.at[a]].sentence != c.q[c.at[b]].sentence {
		return c.conjoined(a, b)
	}
	switch {
	case c.at[a] == c.at[b]:
		return true
	case adverb(c.c[a].fold) || adverb(c.c[b].fold):
		return true
	case c.ranks(a) || c.ranks(b):
		return false
	case c.genitive(a, b) && c.adjacent(a, b):
		return true
	case c.exchangesRoles():
		return true
	case c.c[b].entry.role&attributes != 0 || c.c[a].entry.role&attributes != 0:
		return true
	case c.movedPhrase(a, b), c.frontedPhrase(a), c.pronounBefore(a, b), c.inverted(a, b), c.withoutAgent(a, b),
		c.appositive(a, b):
		return true
	}
	return false
}

// adverb reports whether a word can stand anywhere in a sentence.
func adverb(fold string) bool { return timeAdverbs[fold] || strings.HasSuffix(fold, "ly") }

// timeAdverbs are adverbs that can stand anywhere in a sentence.
var timeAdverbs = set(`yesterday today tomorrow later earlier again recently often once gestern heute morgen`)

// movable are words that begin a phrase or clause that can stand anywhere in a sentence.
var movable = set(`if unless wenn under near before after once because aboard behind beyond against outside inside since
	without following nach vor`)

// conjoined reports whether a conjunction or semicolon stands between two tokens of the sentence.
func (c *comparison) conjoined(a, b int) bool {
	for k := a + 1; k <= b; k++ {
		if c.c[k].before&clause != 0 || c.c[k].entry.role&joins != 0 {
			return true
		}
	}
	return false
}

// pronounBefore reports whether a pronoun in the same sentence of the quote stands for the subject of the sentence:
// "Since it was discovered, RecA has been …".
func (c *comparison) pronounBefore(a, b int) bool {
	p := c.at[b]
	if !c.c[a].name && c.c[a].kind != identifier || c.q[p].sentence != c.q[c.at[a]].sentence {
		return false
	}
	for k := p - 1; k >= 0 && k >= p-3; k-- {
		if c.q[k].entry.role&refers != 0 {
			return true
		}
		if c.q[k].content() {
			return false
		}
	}
	return false
}

// inverted reports whether subject and verb have exchanged places because another word begins the German sentence.
func (c *comparison) inverted(a, b int) bool {
	if !c.german() || !c.c[a].capital || c.c[b].capital || !c.adjacent(a, b) || c.at[a]-c.at[b] > 5 {
		return false
	}
	for k := b + 1; k < len(c.c); k++ {
		if c.at[k] >= 0 && c.c[k].kind == word && c.c[k].capital {
			return c.at[k] > c.at[a] || c.at[k] < c.at[b]
		}
	}
	return true
}

// adjacent reports whether only function words stand between the counterparts of two neighbours.
func (c *comparison) adjacent(a, b int) bool {
	from, to := min(c.at[a], c.at[b]), max(c.at[a], c.at[b])
	for p := from + 1; p < to; p++ {
		if c.q[p].content() && c.taken[p] == nowhere {
			return false
		}
	}
	return true
}

// movedPhrase reports whether a phrase with the same preposition, or a date, was moved behind the rest.
func (c *comparison) movedPhrase(a, b int) bool {
	if c.c[b].kind == date || c.c[b].value.bare {
		return c.freeDate(b)
	}
	if movable[c.c[b].fold] {
		return c.attachesFreely(c.at[b])
	}
	mine := c.prepositionBefore(c.c, b, a)
	return mine != "" && freePreposition(mine) && mine == c.prepositionBefore(c.q, c.at[b], -1) &&
		c.attachesFreely(c.at[b])
}

// freeDate reports whether a date may stand elsewhere in the sentence: the quote holds no other date, or the date
// is next to the same word as in the sentence.
func (c *comparison) freeDate(i int) bool {
	const reach = 3
	p := c.at[i]
	others := false
	for k := range c.q {
		if k != p && c.q[k].sentence == c.q[p].sentence && (c.q[k].kind == date || c.q[k].value.bare) && !c.bracketed(k) {
			others = true
		}
	}
	if !c.sameSentence(i) {
		return false
	}
	if !others && !c.bracketed(p) {
		return true
	}
	if c.fronts(i) {
		return c.nearestDate(i)
	}
	for _, step := range []int{-1, 1} {
		for k := i + step; k >= 0 && k < len(c.c); k += step {
			if !c.c[k].content() {
				continue
			}
			at := c.at[k]
			if at >= 0 && at-p <= reach && p-at <= reach && c.c[k].kind == word && !c.otherDate(p, at) {
				return true
			}
			break
		}
	}
	return false
}

// sameSentence reports whether the counterparts of a token and of one of its neighbours are in the same sentence of
// the quote.
func (c *comparison) sameSentence(i int) bool {
	for _, step := range []int{-1, 1} {
		for k := i + step; k >= 0 && k < len(c.c); k += step {
			if c.at[k] >= 0 && c.c[k].content() {
				if c.q[c.at[k]].sentence == c.q[c.at[i]].sentence {
					return true
				}
				break
			}
		}
	}
	return false
}

// fronts reports whether a date begins the sentence.
func (c *comparison) fronts(i int) bool {
	for k := range i {
		if c.c[k].content() {
			return false
		}
	}
	return true
}

// nearestDate reports whether most words after a date at the beginning of the sentence are nearer to its counterpart
// than to any other date of the quote.
func (c *comparison) nearestDate(i int) bool {
	p := c.at[i]
	nearer, farther := 0, 0
	for k := i + 1; k < len(c.c); k++ {
		at := c.at[k]
		if c.c[k].kind == date || c.c[k].value.bare {
			break
		}
		if at < 0 || !c.c[k].content() {
			continue
		}
		if c.otherDate(p, at) {
			farther++
		} else {
			nearer++
		}
	}
	return nearer > 2*farther && !c.bracketed(p)
}

// bracketed reports whether a position of the quote is in brackets.
func (c *comparison) bracketed(p int) bool {
	for k := p; k >= 0 && c.q[k].sentence == c.q[p].sentence; k-- {
		if c.q[k].before&closed != 0 {
			return false
		}
		if c.q[k].before&opened != 0 {
			return true
		}
	}
	return false
}

// otherDate reports whether another date of the quote is nearer to a word.
func (c *comparison) otherDate(p, word int) bool {
	distance := max(p-word, word-p)
	for k := max(0, word-distance); k <= word+distance && k < len(c.q); k++ {
		if k != p && (c.q[k].kind == date || c.q[k].value.bare) && max(k-word, word-k) <= distance {
			return true
		}
	}
	return false
}

// exchangesRoles reports whether one text is in the active voice, the other one in the passive voice, and agent and
// subject have changed their places accordingly.
func (c *comparison) exchangesRoles() bool {
	for _, v := range c.verbs() {
		tokens, to, verb := c.c, c.at, v.verb
		if !v.claim {
			tokens, to, verb = c.q, c.taken, c.at[v.verb]
		}
		by := c.agentAfter(tokens, verb)
		who, subject := c.nextContent(tokens, by), c.subjectBefore(tokens, to, verb)
		if who != nowhere && subject != nowhere && to[who] >= 0 && to[subject] >= 0 &&
			to[who] < to[verb] && to[verb] < to[subject] {
			return true
		}
	}
	return false
}

// frontedPhrase reports whether the words up to a token of the sentence are a phrase that stands at its beginning,
// with the same preposition in the quote.
func (c *comparison) frontedPhrase(a int) bool {
	const longest = 3 // content words, unless a comma ends the phrase
	first, last, count := nowhere, nowhere, 0
	for k := 0; k <= a; k++ {
		if c.at[k] < 0 {
			continue
		}
		if first == nowhere {
			first = k
		} else if c.at[k] < c.at[last] || !c.adjacent(last, k) {
			return false
		}
		last = k
		count++
	}
	if first == nowhere {
		return false
	}
	if first == a && (c.c[a].kind == date || c.c[a].value.bare) {
		return c.freeDate(a)
	}
	if ends := a+1 < len(c.c) && c.c[a+1].before&comma != 0; !ends && count > longest {
		return false
	}
	if c.c[first].entry.role&(attributes|because|conditions) != 0 || c.opensClause(first) {
		return true
	}
	mine := c.prepositionBefore(c.c, first, -1)
	return mine != "" && freePreposition(mine) && mine == c.prepositionBefore(c.q, c.at[first], -1)
}

// opensClause reports whether a token begins a phrase of time or place.
func (c *comparison) opensClause(i int) bool {
	switch c.c[i].fold {
	case "after", "before", "since", "once", "following", "under", "near", "nach", "vor":
		return true
	}
	return false
}

// prepositionBefore returns the preposition before a token, down to a limit.
func (c *comparison) prepositionBefore(tokens []token, i, limit int) string {
	for k := i - 1; k > limit && k >= i-4; k-- {
		if tokens[k+1].before&(stop|clause|comma) != 0 {
			break
		}
		if tokens[k].entry.role&relates != 0 || tokens[k].entry.role&conditions != 0 {
			if k > 0 && tokens[k-1].entry.role&compares != 0 {
				return "than"
			}
			return tokens[k].fold
		}
		switch tokens[k].fold {
		case "after", "before", "since", "until", "when", "following":
			return tokens[k].fold
		}
		if tokens[k].kind == word && tokens[k].content() && tokens[k].name {
			break
		}
	}
	return ""
}

// freePreposition reports whether a phrase with the preposition can stand anywhere in a sentence. By, from, to, of and
// than name the roles of a verb.
func freePreposition(p string) bool {
	switch p {
	case "by", "from", "to", "of", "than", "as", "von", "vom", "zu", "zum", "zur", "als", "into", "with", "durch":
		return false
	}
	return true
}

// attachesFreely reports whether a phrase of the quote does not belong to a noun before it that the sentence leaves
// out.
func (c *comparison) attachesFreely(p int) bool {
	for k := p - 1; k >= 0 && k >= p-4; k-- {
		if c.q[k+1].before&^(hyphen|quotation) != 0 {
			return true
		}
		if c.q[k].entry.role&relates == 0 {
			continue
		}
		if k == 0 || c.q[k].before&^(hyphen|quotation) != 0 {
			return true
		}
		before := &c.q[k-1]
		return c.taken[k-1] != nowhere || !before.content() || before.kind != word || strings.HasSuffix(before.fold, "ed")
	}
	return true
}

// withoutAgent reports whether the sentence turns an object of the quote into the subject of a passive without an
// agent: "They deposed the emperor", "The emperor was deposed".
func (c *comparison) withoutAgent(a, b int) bool {
	verb := c.at[b]
	if !c.passive(c.c, b) || c.agentAfter(c.c, b) != nowhere || c.passive(c.q, verb) || c.german() {
		return false
	}
	for k := range b {
		if c.at[k] >= 0 && c.at[k] < verb && c.c[k].kind == word && !strings.HasSuffix(c.c[k].fold, "ly") {
			return false // the subject of the quote is part of the sentence
		}
	}
	// The object follows its verb without a preposition.
	for p := verb + 1; p < c.at[a]; p++ {
		if c.taken[p] != nowhere && c.taken[p] < b {
			break
		}
		if c.q[p].entry.role&(relates|joins|agent|beVerb|modal|conditions) != 0 || c.q[p].before&(stop|clause) != 0 {
			return false
		}
	}
	return true
}

// appositive reports whether "A is B" stands for an apposition of the quote: "B, A", "B A".
func (c *comparison) appositive(a, b int) bool {
	if !c.copular(a, b) {
		return false
	}
	first, last := a, b
	for k := a - 1; k >= 0; k-- {
		if c.at[k] >= 0 && c.c[k].content() {
			if c.at[k] >= c.at[first] || !c.adjacent(k, first) {
				break
			}
			first = k
		}
	}
	for k := b + 1; k < len(c.c); k++ {
		if c.at[k] >= 0 && c.c[k].content() {
			if c.at[k] <= c.at[last] || !c.adjacent(last, k) {
				break
			}
			last = k
		}
	}
	for p := c.at[last] + 1; p < c.at[first]; p++ {
		if !isArticle(c.q[p].fold) {
			return false
		}
	}
	// The apposition must not be part of a longer phrase.
	end := c.at[a]
	return c.at[last] < c.at[first] && (end+1 == len(c.q) || c.q[end+1].before&^hyphen != 0 || !c.q[end+1].content())
}
