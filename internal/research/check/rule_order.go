package check

import "strings"

// passive reports whether a token is the participle of a passive: a form of be or werden stands before it, or after it
// in German.
func (c *comparison) passive(tokens []token, i int) bool {
	fold := tokens[i].fold
	participle := strings.HasSuffix(fold, "ed") || c.lex.participles[fold] ||
		c.german() && (strings.HasSuffix(fold, "t") || strings.HasSuffix(fold, "en"))
	if !participle {
		return false
	}
	if c.namesAgent(tokens, i) {
		return true // a participle without be: the film made by him
	}
	const reach = 4
	for k := i - 1; k >= 0 && k >= i-reach; k-- {
		if tokens[k+1].before&(stop|clause) != 0 {
			break
		}
		if tokens[k].entry.role&beVerb != 0 {
			return true
		}
	}
	if c.german() {
		// Werden stands in the second or in the last place.
		for k := range tokens {
			if tokens[k].entry.role&beVerb != 0 && tokens[k].sentence == tokens[i].sentence {
				return true
			}
		}
	}
	return false
}

// namesAgent reports whether by and a noun follow a participle in the same phrase.
func (c *comparison) namesAgent(tokens []token, i int) bool {
	const reach = 5
	for k := i + 1; k+1 < len(tokens) && k <= i+reach && !c.german(); k++ {
		if tokens[k].before&^(hyphen|quotation) != 0 {
			return false
		}
		if tokens[k].entry.role&agent != 0 {
			return tokens[k+1].kind == word && !strings.HasSuffix(tokens[k+1].fold, "ing")
		}
	}
	return false
}

// agentAfter returns the position of the agent's preposition in a passive, or nowhere.
func (c *comparison) agentAfter(tokens []token, i int) int {
	for k := i + 1; k < len(tokens); k++ {
		if tokens[k].before&(stop|clause) != 0 {
			break
		}
		if tokens[k].entry.role&agent != 0 {
			return k
		}
	}
	if c.german() {
		for k := i - 1; k >= 0; k-- {
			if tokens[k+1].before&(stop|clause) != 0 {
				break
			}
			if tokens[k].entry.role&agent != 0 {
				return k
			}
		}
	}
	return nowhere
}

// voices describes the verb around which sentence and quote place the same words.
type voices struct {
	verb          int // in the sentence
	claim, source bool
}

// verbs returns the aligned verbs with their voice. A word is taken for a verb if it is a participle of a passive in
// one of the texts, or if a word of the list of endings.
func (c *comparison) verbs() []voices {
	if !c.voiced {
		c.changed, c.voiced = c.findVerbs(), true
	}
	return c.changed
}

func (c *comparison) findVerbs() []voices {
	var out []voices
	for i := range c.c {
		if c.at[i] < 0 || c.c[i].kind != word || c.c[i].name {
			continue
		}
		p := c.at[i]
		mine := c.passive(c.c, i) && c.agentAfter(c.c, i) != nowhere
		theirs := c.passive(c.q, p) && c.agentAfter(c.q, p) != nowhere
		if mine != theirs {
			out = append(out, voices{verb: i, claim: mine, source: theirs})
		}
	}
	return out
}

// converted reports whether one text is in the active and the other one in the passive voice.
func (c *comparison) converted() bool { return len(c.verbs()) > 0 }

// roleRule finds two words that stand around the same verb in exchanged places.
func (c *comparison) roleRule() (Finding, bool) {
	if !c.about(0.9) {
		return Finding{}, false
	}
	if f, ok := c.keptOrder(); ok {
		return f, true
	}
	if c.converted() {
		return Finding{}, false
	}
	for v := range c.c {
		if !c.turns(v) {
			continue
		}
		left, right := c.argument(v, -1), c.argument(v, 1)
		if left == nowhere || right == nowhere {
			continue
		}
		a, p, b := c.at[left], c.at[v], c.at[right]
		const near = 4
		if a > p && p > b && a-p <= near && p-b <= near && v-left <= near && right-v <= near &&
			!c.brokenUp(c.c, left, right) && !c.brokenUp(c.q, b, a) && !c.accusative(left) &&
			c.core(c.c, left) && c.core(c.q, a) && c.core(c.q, b) &&
			c.passive(c.c, v) == c.passive(c.q, p) {
			reason := RolesSwapped
			switch {
			case c.c[v].entry.role&(because|therefore) != 0:
				reason = CauseClaimed
			case c.hasThan(v):
				reason = ComparisonTurned
			}
			f, _ := c.differs(Contradicted, reason, b,
				"In the source, "+c.written(b)+" stands in the place of "+c.said(left)+".")
			f.End = c.q[a].end
			if f.Start > f.End {
				f.Start, f.End = f.End, f.Start
			}
			return f, true
		}
	}
	return Finding{}, false
}

// accusative reports whether the article before a German noun shows that it is not the subject.
func (c *comparison) accusative(i int) bool {
	if !c.german() || i == 0 {
		return false
	}
	switch c.c[i-1].fold {
	case "den", "dem", "einen", "einem", "diesen", "diesem":
		return true
	}
	return false
}

// brokenUp reports whether punctuation or a relative pronoun stands between two tokens.
func (c *comparison) brokenUp(tokens []token, from, to int) bool {
	for k := from + 1; k <= to; k++ {
		if tokens[k].before&^(hyphen|quotation) != 0 || subordinates(tokens[k].fold) {
			return true
		}
	}
	return false
}

// turns reports whether a token of the sentence can have arguments on both sides: a verb, or a word of comparison.
func (c *comparison) turns(v int) bool {
	return c.at[v] >= 0 && verbal(c.c, v) && verbal(c.q, c.at[v])
}

// verbal reports whether a word can be a verb. A noun has an article or preposition before it, or a genitive after it.
func verbal(tokens []token, i int) bool {
	t := &tokens[i]
	if t.kind != word || t.name || t.capital || i == 0 || i+1 == len(tokens) || t.before&hyphen != 0 ||
		tokens[i+1].before&hyphen != 0 {
		return false
	}
	before := &tokens[i-1]
	return before.entry.role&relates == 0 && !isArticle(before.fold) && tokens[i+1].fold != "of" && !before.owner
}

func isArticle(fold string) bool {
	switch fold {
	case "the", "a", "an", "der", "die", "das", "den", "dem", "des", "ein", "eine", "einer", "einem", "einen", "eines":
		return true
	}
	return false
}

// core reports whether a noun is an argument of the verb itself, and not part of a phrase with a preposition.
func (c *comparison) core(tokens []token, i int) bool {
	for k := i - 1; k >= 0 && k >= i-4; k-- {
		if tokens[k+1].before&(stop|clause|comma) != 0 {
			return true
		}
		switch t := &tokens[k]; {
		case t.entry.role&(relates|agent) != 0 || t.entry.role&conditions != 0:
			return t.fold == "than"
		case t.entry.role&beVerb != 0:
			return true
		case !t.content() || t.kind != word || isArticle(t.fold):
		case strings.HasSuffix(t.fold, "ed") || strings.HasSuffix(t.fold, "s"):
			return true
		}
	}
	return true
}

// argument returns the nearest aligned noun on one side of a verb that is not part of a phrase with a preposition.
func (c *comparison) argument(v, step int) int {
	for k := v + step; k >= 0 && k < len(c.c); k += step {
		from, to := min(k, v), max(k, v)
		if c.c[to].before&(stop|clause) != 0 && to != from {
			return nowhere
		}
		if t := &c.c[k]; c.at[k] >= 0 && t.content() && (t.kind == word || t.kind == identifier) && !adverb(t.fold) &&
			t.entry.role&doubts == 0 {
			if c.german() && !t.capital {
				return nowhere // German nouns have capital letters
			}
			return k
		}
	}
	return nowhere
}

// genitive reports whether two neighbours of the sentence are exchanged because one text says Iceland's parliament and
// the other one the parliament of Iceland.
func (c *comparison) genitive(left, right int) bool {
	b, a := c.at[right], c.at[left]
	return c.hasOf(c.c, left, right) && c.ownerWithin(c.q, b, a) || c.ownerWithin(c.c, left, right) && c.hasOf(c.q, b, a)
}

// hasOf reports whether two tokens are joined by of, with at most a few words between them.
func (c *comparison) hasOf(tokens []token, from, to int) bool {
	const reach = 5
	found := false
	for k := from + 1; k < to; k++ {
		switch tokens[k].fold {
		case "of", "von", "der", "des":
			found = true
		}
	}
	return found && to-from <= reach
}

// ownerWithin reports whether one of two tokens, or a token between them, is possessive.
func (c *comparison) ownerWithin(tokens []token, from, to int) bool {
	const reach = 5
	for k := from; k < to && to-from <= reach; k++ {
		if tokens[k].owner {
			return true
		}
	}
	return false
}

func (c *comparison) hasThan(v int) bool {
	for k := v; k < len(c.c) && k < v+6; k++ {
		if c.c[k].entry.role&compares != 0 {
			return true
		}
	}
	return false
}

// keptOrder finds a sentence in the other voice that keeps the order of the words: "A deposed B" and "A was deposed by
// B".
func (c *comparison) keptOrder() (Finding, bool) {
	for _, v := range c.verbs() {
		var by int
		tokens, verb := c.c, v.verb
		if v.claim {
			by = c.agentAfter(c.c, v.verb)
		} else {
			tokens, verb = c.q, c.at[v.verb]
			by = c.agentAfter(c.q, verb)
		}
		to := c.at
		if !v.claim {
			to = c.taken
		}
		who := c.nextContent(tokens, by)
		subject := c.subjectBefore(tokens, to, verb)
		if who == nowhere || subject == nowhere || who == subject {
			continue
		}
		if to[who] < 0 || to[subject] < 0 {
			continue
		}
		const near = 4
		other := to[verb]
		if to[subject] < other && other < to[who] && other-to[subject] <= near && to[who]-other <= near {
			p := to[who]
			if !v.claim {
				p = who
			}
			return c.differs(Contradicted, RolesSwapped, p, "Sentence and source exchange who acts.")
		}
	}
	return Finding{}, false
}

func (c *comparison) nextContent(tokens []token, i int) int {
	if i == nowhere {
		return nowhere
	}
	for k := i + 1; k < len(tokens); k++ {
		if tokens[k].before&(stop|clause) != 0 {
			return nowhere
		}
		if tokens[k].content() && tokens[k].kind != number && tokens[k].kind != date {
			return k
		}
	}
	return nowhere
}

// subjectBefore returns the content word nearest before the auxiliary of a passive that has a counterpart.
func (c *comparison) subjectBefore(tokens []token, to []int, verb int) int {
	const reach = 5 // of the auxiliary; a participle without one follows its noun
	k := verb - 1
	for k >= 0 && (k > verb-reach || c.german()) && tokens[k].entry.role&beVerb == 0 {
		k--
	}
	if !c.german() && (k < 0 || tokens[k].entry.role&beVerb == 0) {
		k = verb - 1
	}
	for ; k >= 0 && tokens[k].sentence == tokens[verb].sentence; k-- {
		t := &tokens[k]
		if to[k] >= 0 && t.content() && (t.kind == word || t.kind == identifier) && !strings.HasSuffix(t.fold, "ly") {
			return k
		}
	}
	return nowhere
}

// causality finds a cause that the quote presents as an effect, and a cause where the quote says only that two things
// are associated.
func (c *comparison) causality() (Finding, bool) {
	mine := c.marker(c.c)
	if mine == nowhere || c.converted() {
		return Finding{}, false
	}
	p := c.at[mine]
	if p < 0 {
		c.blocked = true
		for k := range c.q {
			if c.q[k].entry.role&associates != 0 && c.taken[k] == nowhere && c.marker(c.q) == nowhere &&
				c.about(aboutSame, mine) {
				return c.differs(Unsupported, CauseClaimed, k, "The source says "+c.written(k)+", which is no cause.")
			}
		}
		return Finding{}, false
	}
	if c.q[p].entry.role&(because|therefore) == 0 {
		return Finding{}, false
	}
	// In the sentence, the cause stands before the marker, unless the marker is a word such as because.
	wrong, right := 0, 0
	for i := range c.c {
		if i == mine || c.at[i] < 0 || !c.c[i].content() {
			continue
		}
		if c.causeSide(c.c, mine, i) == c.causeSide(c.q, p, c.at[i]) {
			right++
		} else {
			wrong++
		}
	}
	if wrong >= 2 && right == 0 || wrong >= 3 && wrong > 3*right {
		if c.about(aboutSame) {
			return c.differs(Contradicted, CauseClaimed, p, "The source presents cause and effect the other way round.")
		}
	}
	if wrong > 0 && right == 0 {
		c.blocked = true
	}
	return Finding{}, false
}

// marker returns the first word of a text that names a cause, or nowhere.
func (c *comparison) marker(tokens []token) int {
	for i := range tokens {
		if tokens[i].entry.role&(because|therefore) != 0 && tokens[i].kind == word &&
			(i == 0 || !isArticle(tokens[i-1].fold)) {
			return i
		}
	}
	return nowhere
}

// causeSide reports whether a token stands on the side of the cause.
func (c *comparison) causeSide(tokens []token, marker, i int) bool {
	m := &tokens[marker]
	reversed := m.entry.role&because != 0
	if m.entry.role&therefore != 0 && c.passive(tokens, marker) && c.agentAfter(tokens, marker) != nowhere {
		reversed = true
	}
	if reversed && m.initial {
		// Because A, B.
		for k := marker + 1; k <= i; k++ {
			if tokens[k].before&comma != 0 {
				return false
			}
		}
		return i > marker
	}
	return (i < marker) != reversed
}
