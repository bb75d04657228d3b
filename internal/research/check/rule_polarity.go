package check

import "strings"

// scope is an operator of a text and the content words that it can refer to, nearest first.
type scope struct {
	at    int // of the operator
	heads []int
}

// scopes returns the operators with a role and the words they refer to: the next content words of the clause. In
// German the negation may follow its verb, so the word before it counts as well.
func scopes(tokens []token, r role, reach int, both bool) []scope {
	var out []scope
	for i := range tokens {
		if tokens[i].entry.role&r == 0 || tokens[i].kind != word || tokens[i].before&hyphen != 0 {
			continue // part of a compound: online-only
		}
		s := scope{at: i}
		for k := i + 1; k < len(tokens) && len(s.heads) < reach; k++ {
			if tokens[k].before&(stop|clause|dash|opened|closed|comma) != 0 {
				break
			}
			if tokens[k].content() && tokens[k].entry.role&r == 0 {
				s.heads = append(s.heads, k)
			}
		}
		if tokens[i].entry.role&lexical != 0 {
			s.heads = append(s.heads, i)
		}
		if both {
			if k := headBefore(tokens, i); k != nowhere {
				s.heads = append(s.heads, k)
			}
		}
		out = append(out, s)
	}
	return out
}

// headBefore returns the content word shortly before a token of the same clause, or nowhere.
func headBefore(tokens []token, i int) int {
	const reach = 3
	for k := i - 1; k >= 0 && k >= i-reach; k-- {
		if tokens[k+1].before&(stop|clause|comma) != 0 {
			break
		}
		if tokens[k].content() {
			return k
		}
	}
	return nowhere
}

// german reports whether the negation may follow its verb.
func (c *comparison) german() bool { return c.code == "de" }

// pair finds the operators of the sentence and of the quote that refer to the same words, and returns those without a
// counterpart.
func (c *comparison) pair(claim, source []scope) (alone, lost []scope) {
	used := make([]bool, len(source))
	for _, s := range claim {
		found := false
		for k, o := range source {
			if !used[k] && (c.meet(s, o) || c.adverbs(s, o)) {
				used[k], found = true, true
				break
			}
		}
		if !found {
			alone = append(alone, s)
		}
	}
	for k, o := range source {
		if !used[k] {
			lost = append(lost, o)
		}
	}
	return alone, lost
}

// adverbs reports whether two operators are the same adverb, which can stand anywhere in a sentence.
func (c *comparison) adverbs(s, o scope) bool {
	fold := c.c[s.at].fold
	return fold == c.q[o.at].fold && (strings.HasSuffix(fold, "ly") || strings.HasSuffix(fold, "weise") ||
		len(s.heads) == 0 && len(o.heads) == 0)
}

// meet reports whether an operator of the sentence and one of the quote refer to the same word.
func (c *comparison) meet(s, o scope) bool {
	for _, h := range s.heads {
		for _, p := range o.heads {
			if c.at[h] == p {
				return true
			}
		}
	}
	return false
}

// matchedHead returns the first word of a scope if it has a counterpart, or nowhere.
func (c *comparison) matchedHead(s scope) int {
	if len(s.heads) > 0 && c.at[s.heads[0]] >= 0 {
		return s.heads[0]
	}
	return nowhere
}

// takenHead is matchedHead for a scope of the quote.
func (c *comparison) takenHead(s scope) int {
	if len(s.heads) > 0 && c.taken[s.heads[0]] >= 0 {
		return s.heads[0]
	}
	return nowhere
}

// quantifiers compares all, most, some, none and only before the same word.
func (c *comparison) quantifiers() (Finding, bool) {
	claim := scopes(c.c, quantifies, 2, false)
	source := scopes(c.q, quantifies, 2, false)
	for _, s := range claim {
		mine := c.c[s.at].entry.class
		for _, o := range source {
			theirs := c.q[o.at].entry.class
			if theirs == mine || !c.meet(s, o) || c.hasClass(source, mine, s) {
				continue
			}
			if c.about(aboutSame) && !near(mine, theirs) {
				return c.differs(Contradicted, QuantifierChange, o.at, c.contrast(o.at, s.at))
			}
			c.blocked = true
		}
	}
	if f, ok := c.approximate(); ok {
		return f, true
	}
	return c.unpaired(claim, source)
}

// approximate finds an almost before a word of the quote that the sentence leaves out.
func (c *comparison) approximate() (Finding, bool) {
	for p := range c.q {
		if !approximations[c.q[p].fold] || c.taken[p] >= 0 || c.q[p].entry.neutral || p+1 == len(c.q) {
			continue
		}
		next := &c.q[p+1]
		if c.taken[p+1] == nowhere && next.entry.role&quantifies == 0 || !c.governs(p) {
			continue
		}
		c.blocked = true
		if next.entry.class == quantAll && c.about(0.85) {
			return c.differs(Unsupported, QuantifierChange, p, "The source says "+c.written(p)+" "+c.written(p+1)+".")
		}
	}
	return Finding{}, false
}

var approximations = set(`almost nearly virtually practically fast nahezu beinahe`)

// unpaired judges quantifiers that only the sentence or only the quote has.
func (c *comparison) unpaired(claim, source []scope) (Finding, bool) {
	alone, lost := c.pair(claim, source)
	for _, s := range alone {
		if mine := c.c[s.at].entry.class; mine == quantAll || mine == quantOnly {
			if c.strongWord(s.at) && c.matchedHead(s) != nowhere && c.about(0.85) && !c.countedHead(s) {
				return c.differs(Unsupported, QuantifierChange, c.at[s.heads[0]], "The source does not say "+c.said(s.at)+".")
			}
		}
		c.blocked = c.blocked || c.c[s.at].entry.role&negates == 0
	}
	for _, o := range lost {
		if c.q[o.at].entry.class == quantAll || c.q[o.at].entry.role&negates != 0 {
			continue
		}
		c.blocked = c.blocked || c.takenHead(o) != nowhere
	}
	return Finding{}, false
}

// hasClass reports whether another quantifier of the quote with the class refers to the same words.
func (c *comparison) hasClass(source []scope, class class, s scope) bool {
	for _, o := range source {
		if c.q[o.at].entry.class == class && c.meet(s, o) {
			return true
		}
	}
	return false
}

// near reports whether two quantifiers are close enough that one may paraphrase the other.
func near(a, b class) bool {
	if a > b {
		a, b = b, a
	}
	return a == quantMost && b == quantMany || a == quantMany && b == quantSome
}

// strongWord reports whether a quantifier excludes exceptions, other than both and each.
func (c *comparison) strongWord(i int) bool { return !weakQuantifiers[c.c[i].fold] }

var weakQuantifiers = set(`both each entire whole entirely exactly fully beide beiden jeweils ganze ganzen`)

// countedHead reports whether the quote counts the word that a quantifier of the sentence refers to: all seven, and
// the quote says the seven.
func (c *comparison) countedHead(s scope) bool {
	p := c.at[s.heads[0]]
	return c.q[p].kind == number || p > 0 && c.q[p-1].kind == number
}

// negationAndAntonyms compares the polarity of sentence and quote. A negation and an antonym cancel each other.
func (c *comparison) negationAndAntonyms() (Finding, bool) {
	word, opposite := c.antonym()
	alone, lost := c.pair(c.negations(c.c), c.negations(c.q))
	lost = c.relevant(lost)
	turned := len(alone)+len(lost) == 1
	switch {
	case word != nowhere && len(alone)+len(lost) == 0:
		if c.about(nearlySame, word) && !c.exchanged(word) {
			return c.differs(Contradicted, AntonymFound, opposite, c.contrast(opposite, word))
		}
		c.blocked = true
	case word != nowhere:
		c.blocked = true
	case turned && c.about(0.8):
		if len(alone) == 1 && c.sameWord(c.matchedHead(alone[0])) {
			return c.differs(Contradicted, NegationDiffers, c.at[alone[0].heads[0]],
				"The sentence says "+c.said(alone[0].at)+", the source does not.")
		}
		if p := c.onlyHead(lost); p != nowhere && c.sameWord(c.taken[p]) {
			return c.differs(Contradicted, NegationDiffers, lost[0].at,
				"The source says "+c.written(lost[0].at)+", the sentence does not.")
		}
		c.blocked = true
	case len(alone)+len(lost) > 0:
		c.blocked = true
	}
	return Finding{}, false
}

// onlyHead returns the first word that the only operator of a list refers to, if it has a counterpart, or nowhere.
func (c *comparison) onlyHead(lost []scope) int {
	if len(lost) != 1 {
		return nowhere
	}
	return c.takenHead(lost[0])
}

// sameWord reports whether the counterpart of a token is the same word, and not only a related one.
func (c *comparison) sameWord(i int) bool {
	return i != nowhere && c.at[i] >= 0 && c.c[i].term == c.q[c.at[i]].term
}

// negations returns the negations of a text. Not only is none.
func (c *comparison) negations(tokens []token) []scope {
	var out []scope
	for _, s := range scopes(tokens, negates, 3, c.german()) {
		if s.at+1 < len(tokens) {
			switch tokens[s.at+1].fold {
			case "only", "nur", "just", "until":
				continue
			}
			if tokens[s.at].fold == "no" && tokens[s.at+1].before&period != 0 {
				continue // No. 5
			}
		}
		if s.at > 0 && tokens[s.at].fold == "none" && tokens[s.at-1].fold == "to" {
			continue // five games to none
		}
		if s.at > 0 && tokens[s.at-1].entry.role&either != 0 && tokens[s.at].before == 0 {
			continue // whether or not
		}
		if tokens[s.at].entry.role&lexical != 0 && tokens[s.at].fold != "unable" {
			// The word itself is compared. It negates what follows only if the other text lacks it.
			if c.paired(tokens, s.at) {
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// paired reports whether a word of the sentence or the quote has a counterpart.
func (c *comparison) paired(tokens []token, i int) bool {
	if len(tokens) == len(c.c) && len(tokens) > 0 && &tokens[0] == &c.c[0] {
		return c.at[i] >= 0
	}
	return c.taken[i] >= 0
}

// relevant returns the negations of the quote that refer to words of the sentence, or stand between them.
func (c *comparison) relevant(lost []scope) []scope {
	var out []scope
	for _, o := range lost {
		hit := c.between(o.at)
		for n, h := range o.heads {
			hit = hit || n == 0 && c.taken[h] >= 0
		}
		if hit {
			out = append(out, o)
		}
	}
	return out
}

// between reports whether a position of the quote lies between the counterparts of two neighbours in the sentence.
func (c *comparison) between(p int) bool {
	last := nowhere
	for i := range c.c {
		at := c.at[i]
		if at < 0 {
			continue
		}
		if last >= 0 && last < p && p < at && !c.aside(last, at, p) {
			return true
		}
		last = at
	}
	return false
}

// antonym returns a word of the sentence without a counterpart and its opposite in the quote.
func (c *comparison) antonym() (word, opposite int) {
	for i := range c.c {
		t := &c.c[i]
		if c.at[i] != nowhere || !t.content() || t.kind != kind(0) {
			continue
		}
		if p := c.rival(i, func(k *token) bool { return k.kind == 0 && c.lex.opposes(t, k) }); p != nowhere {
			return i, p
		}
	}
	return nowhere, nowhere
}

// exchanged reports whether the words around a token stand in the other order in the quote: "A before B" and "B after
// A" say the same.
func (c *comparison) exchanged(i int) bool {
	left, right := c.argument(i, -1), c.argument(i, 1)
	return left != nowhere && right != nowhere && c.at[left] > c.at[right]
}

// modals compares may, should, must and will before the same verb.
func (c *comparison) modals() (Finding, bool) {
	claim := scopes(c.c, modal, 2, c.german())
	source := scopes(c.q, modal, 2, c.german())
	for _, o := range source {
		theirs := c.q[o.at].entry.class
		var mine class
		at := nowhere
		for _, s := range claim {
			if c.meet(s, o) {
				mine, at = c.c[s.at].entry.class, s.at
				if mine == theirs {
					break
				}
			}
		}
		if mine == theirs || c.takenHead(o) == nowhere && at == nowhere {
			continue
		}
		if f, ok := c.stronger(o, mine, theirs, at); ok {
			return f, true
		}
	}
	alone, _ := c.pair(claim, source)
	for _, s := range alone {
		if c.c[s.at].entry.class != modalFuture && !c.othersMeet(s, source) {
			c.blocked = true
		}
		if c.c[s.at].entry.class == modalRequired && c.matchedHead(s) != nowhere && c.about(nearlySame) &&
			!c.othersMeet(s, source) {
			return c.differs(Unsupported, HedgeDropped, c.at[s.heads[0]], "The source does not say "+c.said(s.at)+".")
		}
	}
	return Finding{}, false
}

func (c *comparison) othersMeet(s scope, source []scope) bool {
	for _, o := range source {
		if c.meet(s, o) {
			return true
		}
	}
	return false
}

// stronger judges a modal of the quote that the sentence replaces or leaves out.
func (c *comparison) stronger(o scope, mine, theirs class, at int) (Finding, bool) {
	switch {
	case theirs == modalPossible && (mine == modalRequired || mine == modalFuture),
		theirs == modalAdvised && mine == modalRequired:
		if c.about(aboutSame) {
			return c.differs(Contradicted, HedgeDropped, o.at, c.contrast(o.at, at))
		}
	case theirs == modalPossible && mine == noClass:
		switch c.q[o.at].fold {
		case "may", "might", "could", "könnte", "könnten":
			if c.about(nearlySame) && c.takenHead(o) != nowhere && !c.certainWords(c.c, doubts|modal) {
				return c.differs(Unsupported, HedgeDropped, o.at, "The source only says "+c.written(o.at)+".")
			}
		}
	case (theirs == modalRequired || theirs == modalFuture) && mine == noClass && c.q[o.at].fold != "would":
		return Finding{}, false
	}
	c.blocked = true
	return Finding{}, false
}

// certainWords reports whether a text holds a word with one of the roles.
func (c *comparison) certainWords(tokens []token, r role) bool {
	for i := range tokens {
		if tokens[i].entry.role&r != 0 {
			return true
		}
	}
	return false
}

// certainty finds words of doubt and of saying in the quote that the sentence leaves out.
func (c *comparison) certainty() (Finding, bool) {
	for p := range c.q {
		k := &c.q[p]
		if k.entry.role&(doubts|attributes|conditions) == 0 || c.taken[p] >= 0 || !c.governs(p) {
			continue
		}
		if k.entry.role&attributes != 0 && c.certainWords(c.c, attributes|doubts) {
			continue
		}
		c.blocked = true
		if k.entry.role&doubts != 0 && c.about(0.9) && c.reaches(p) && !c.certainWords(c.c, doubts|attributes|modal) {
			return c.differs(Unsupported, HedgeDropped, p, "The source only says "+c.written(p)+".")
		}
	}
	return Finding{}, false
}

// reaches reports whether only function words stand between a word of the quote and the next counterpart.
func (c *comparison) reaches(p int) bool {
	const reach = 6
	for k := p + 1; k < len(c.q) && k <= p+reach; k++ {
		if c.q[k].before&^(hyphen|quotation) != 0 {
			return false
		}
		if c.taken[k] >= 0 {
			return true
		}
		if c.q[k].content() {
			return false
		}
	}
	return false
}

// governs reports whether a word of the quote can refer to the part that the sentence repeats: it stands in the same
// sentence, and no semicolon or bracket separates them.
func (c *comparison) governs(p int) bool {
	first, last := nowhere, nowhere
	for _, at := range c.at {
		if at >= 0 && c.q[at].sentence == c.q[p].sentence {
			if first == nowhere || at < first {
				first = at
			}
			last = max(last, at)
		}
	}
	switch {
	case first == nowhere:
		return false
	case p < first:
		// A participle at the beginning has a clause of its own, up to the comma.
		if c.q[p].initial && strings.HasSuffix(c.q[p].fold, "ing") && c.hasComma(p, first) {
			return false
		}
		switch c.q[p].fold {
		case "if", "unless", "until", "till", "wenn", "falls", "sofern", "bis":
			return true
		}
		return c.reaches(p) || !c.separated(p, first)
	case p > last:
		// Later words count only if they are conditions, or adverbs of the same phrase.
		switch c.q[p].fold {
		case "if", "unless", "except", "wenn", "falls", "sofern", "außer", "excluding":
			return !c.separated(last, p) && !asksWhether(c.q, p)
		}
		return c.q[p].entry.role&doubts != 0 && p-last < 3 && !c.separated(last, p)
	}
	return c.between(p)
}

// asksWhether reports whether if stands for whether: decide if.
func asksWhether(tokens []token, p int) bool {
	if p == 0 || tokens[p].fold != "if" {
		return false
	}
	if tokens[p-1].entry.role&joins != 0 {
		for k := p - 2; k >= 0 && tokens[k].sentence == tokens[p].sentence; k-- {
			if tokens[k].fold == "if" {
				return asksWhether(tokens, k)
			}
		}
	}
	switch tokens[p-1].fold {
	case "decide", "tell", "determine", "see", "know", "check", "ask", "test", "verify", "find":
		return true
	}
	return false
}

// hasComma reports whether a comma stands between two positions.
func (c *comparison) hasComma(from, to int) bool {
	for p := from + 1; p <= to; p++ {
		if c.q[p].before&comma != 0 {
			return true
		}
	}
	return false
}

// separated reports whether a semicolon, bracket or contrasting conjunction stands between two positions.
func (c *comparison) separated(from, to int) bool {
	for p := from + 1; p <= to; p++ {
		if c.q[p].before&(clause|dash|stop|opened|closed) != 0 {
			return true
		}
		if c.q[p].before&comma != 0 && c.q[p].entry.role&joins != 0 || subordinates(c.q[p].fold) {
			return true
		}
	}
	return false
}

// subordinates reports whether a word begins a clause of its own.
func subordinates(fold string) bool { return subordinators[fold] }

var subordinators = set(`which who that where when while whereas whose because weil während wobei wenn`)
