package check

import "strings"

// copular reports whether the sentence joins two neighbours by a form of be or have alone: A is B, A has B.
func (c *comparison) copular(a, b int) bool {
	found := false
	for k := a + 1; k < b; k++ {
		t := &c.c[k]
		if t.content() && t.entry.role&light == 0 || t.entry.role&agent != 0 {
			return false
		}
		found = found || t.entry.role&beVerb != 0 || isHave(t.fold)
	}
	progressive := b > 0 && c.c[b-1].entry.role&beVerb != 0 && strings.HasSuffix(c.c[b].fold, "ing")
	return found && !c.passive(c.c, b) && !progressive && !c.compoundTense(b)
}

// compoundTense reports whether a participle follows in a German sentence, so that its auxiliary is not the verb.
func (c *comparison) compoundTense(b int) bool {
	if !c.german() {
		return false
	}
	for k := b + 1; k < len(c.c); k++ {
		if c.c[k].before&(stop|clause) != 0 {
			break
		}
		if t := &c.c[k]; t.kind == word && !t.capital && t.content() &&
			(strings.HasSuffix(t.fold, "t") || strings.HasSuffix(t.fold, "en")) {
			return true
		}
	}
	return false
}

func isHave(fold string) bool {
	switch fold {
	case "has", "have", "had", "hat", "haben", "hatte", "hatten":
		return true
	}
	return false
}

// equates reports whether the quote joins two positions in the same way: by be or have with only modifiers after it,
// by a comma, or directly.
func (c *comparison) equates(from, to int) bool {
	const modifiers = 2
	verb, skipped, after := false, 0, 0
	for p := from + 1; p < to; p++ {
		k := &c.q[p]
		switch {
		case k.entry.role&beVerb != 0 || isHave(k.fold):
			if verb && c.q[p-1].fold == "to" && skipped <= 1 || c.q[p-1].entry.role&joins != 0 {
				skipped = 0 // has been found to be; grows and is
			}
			verb = true
			after = 0
		case k.entry.role&joins != 0 && !c.aside(from, to, p) && !verb && !c.sharesSubject(p):
			return false
		case k.content() && c.taken[p] == nowhere && !c.aside(from, to, p):
			skipped++
			after++
		}
	}
	if verb {
		return after <= modifiers && skipped == after
	}
	// "A, B said" is no apposition.
	return skipped == 0 && (to+1 == len(c.q) || c.q[to+1].before&^hyphen != 0 ||
		c.q[to+1].entry.role&(attributes|beVerb|modal) == 0 && !isHave(c.q[to+1].fold))
}

// sharesSubject reports whether a form of be or have follows a conjunction, so that both verbs have the same subject.
func (c *comparison) sharesSubject(p int) bool {
	return p+1 < len(c.q) && (c.q[p+1].entry.role&beVerb != 0 || isHave(c.q[p+1].fold))
}

// ranks reports whether a token of the sentence ranks what follows: first, largest, only. A restriction of what
// follows must not be left out.
func (c *comparison) ranks(i int) bool {
	t := &c.c[i]
	return t.kind == ordinal || t.kind == word && superlative(t.fold) && !c.german() ||
		i > 0 && (c.c[i-1].kind == ordinal || superlative(c.c[i-1].fold) && !c.german()) && c.c[i].before == 0
}

// skips reports whether a content word between two positions of the quote is left out.
func (c *comparison) skips(from, to int) bool {
	for p := from + 1; p < to; p++ {
		if c.taken[p] == nowhere && c.q[p].content() && !c.aside(from, to, p) {
			return true
		}
	}
	return false
}

// insidePhrase reports whether the subject of the sentence is part of a phrase with a
// preposition in the quote: "The track in Qatar is …" says nothing about Qatar.
func (c *comparison) insidePhrase(i int) bool {
	t := &c.c[i]
	if c.at[i] < 0 || t.kind == date || t.value.bare || t.owner || c.exchangesRoles() || c.apposed(i) || c.relative(i) {
		return false
	}
	p := c.at[i]
	for k := p - 1; k >= 0; k-- {
		t := &c.q[k]
		if c.q[k+1].before&^(hyphen|quotation) != 0 {
			return false
		}
		switch {
		case t.fold == "since" || t.fold == "after" || t.fold == "before" || t.fold == "until" || t.fold == "as":
			return false // it may begin a clause
		case isPreposition(t):
			return !c.claimHasOf(i)
		case c.taken[k] == nowhere && strings.HasSuffix(t.fold, "ed") && t.kind == word && !t.capital:
			// The object of another verb, unless the participle is an adjective.
			return k == 0 || !c.q[k-1].entry.neutral
		case t.name && c.q[p].name, t.kind == identifier, isArticle(t.fold), t.entry.role&quantifies != 0, t.kind == number:
		default:
			return false
		}
	}
	return false
}

// relative reports whether the sentence turns a relative clause of the quote into a sentence: "the king, who ruled
// since 1930".
func (c *comparison) relative(i int) bool {
	last := c.at[i]
	for k := i + 1; k < len(c.c); k++ {
		p := c.at[k]
		if p < 0 || !c.c[k].content() {
			continue
		}
		if p == last+1 && c.q[p].before&^hyphen == 0 {
			last = p // the rest of the name
			continue
		}
		if p < last || p > last+4 && (c.q[p-1].entry.role&joins == 0 || c.q[p-1].before != 0) {
			return false
		}
		if last+1 == len(c.q) {
			return false // the sentence repeats the last word
		}
		switch c.q[last+1].fold {
		case "who", "which", "that", "whose":
			return true
		}
		return false
	}
	return false
}

// apposed reports whether the sentence turns an apposition of the quote into a sentence: "on STS-1, the first
// mission".
func (c *comparison) apposed(i int) bool {
	p := c.at[i]
	if p+1 >= len(c.q) || c.q[p+1].before&(comma|dash) == 0 {
		return false
	}
	for k := i + 1; k < len(c.c); k++ {
		if c.at[k] >= 0 && c.c[k].content() {
			return c.copular(i, k)
		}
	}
	return false
}

// otherName reports whether the counterpart of a token is part of another name: Western Japan is not Japan, and
// Microsoft Israel not Microsoft.
func (c *comparison) otherName(i int) bool {
	p := c.at[i]
	if p > 0 && c.q[p].before&hyphen != 0 && c.taken[p-1] == nowhere && reverses(c.q[p-1].fold) &&
		!strings.HasPrefix(c.c[i].fold, c.q[p-1].fold) {
		return true
	}
	if !c.q[p].name {
		return false
	}
	if p > 0 && c.q[p].before&^hyphen == 0 && c.taken[p-1] == nowhere && c.q[p-1].capital && narrows(c.q[p-1].fold) {
		return true
	}
	if p+1 >= len(c.q) || c.q[p+1].before&^hyphen != 0 || c.q[p].owner || c.taken[p+1] != nowhere || !c.q[p+1].name {
		return false
	}
	return i+1 >= len(c.c) || !c.c[i+1].name || c.c[i+1].before != 0
}

// reverses reports whether a prefix with a hyphen turns a word into another one: non-Italian, anti-tumour.
func reverses(fold string) bool {
	switch fold {
	case "non", "anti", "pro", "ex", "pre", "post", "counter", "pseudo", "semi", "quasi", "half", "nicht":
		return true
	}
	return false
}

// isPreposition reports whether a word is a preposition, neutral or not.
func isPreposition(t *token) bool {
	return t.entry.role&relates != 0 || prepositions[t.fold]
}

// prepositions are those that must have a counterpart.
var prepositions = set(`unlike despite except besides outside inside near against before after under beside without
	since behind beyond until vor nach unter hinter gegen bis`)

// narrows reports whether a word before a name makes it the name of something else.
func narrows(fold string) bool {
	switch fold {
	case "north", "south", "east", "west", "northern", "southern", "eastern", "western", "new", "inner", "outer", "upper",
		"lower", "central", "nord", "süd", "ost", "neu":
		return true
	}
	return false
}

// infinitive reports whether the sentence states as a fact what the quote gives as an intention: to return, returned.
func (c *comparison) infinitive(i int) bool {
	p := c.at[i]
	if p == 0 || c.q[p-1].fold != "to" || c.q[p].kind != word || c.q[p].name || c.q[p].before != 0 {
		return false
	}
	return c.c[i].fold != c.q[p].fold && verbal(c.c, i) && (strings.HasSuffix(c.c[i].fold, "s") ||
		strings.HasSuffix(c.c[i].fold, "ed") || c.words.groups[c.c[i].term] > 0)
}

// directionTurned reports whether different directions stand before a quantity or name: from 5, to 5.
func (c *comparison) directionTurned(i int) bool {
	if contrasts[c.directly(c.q, c.at[i])] && c.directly(c.c, i) == "" {
		return true // unlike X
	}
	if by := c.directly(c.c, i); by == "by" {
		if other := c.directly(c.q, c.at[i]); other != by && other != "" {
			return true // passed by farmers, opposed by them
		}
	}
	if c.c[i].kind == word && !c.c[i].name {
		return false
	}
	mine, theirs := c.direction(c.c, i), c.direction(c.q, c.at[i])
	if mine != "" && theirs != "" && mine != theirs {
		return true
	}
	// The leader of a place is not a leader in it.
	mine, theirs = c.directly(c.c, i), c.directly(c.q, c.at[i])
	return c.c[i].name && mine != theirs && mine != "" && theirs != "" && (mine == "of" || theirs == "of")
}

// contrasts are prepositions that exclude their noun.
var contrasts = set(`unlike despite except besides against without ohne gegen trotz außer`)

// directly returns the preposition before a token, with at most articles and other names between them, or "".
func (c *comparison) directly(tokens []token, i int) string {
	for k := i - 1; k >= 0 && tokens[k+1].before&^(hyphen|quotation) == 0; k-- {
		switch t := &tokens[k]; {
		case isPreposition(t):
			return t.fold
		case isArticle(t.fold), t.name && tokens[i].name:
		default:
			return ""
		}
	}
	return ""
}

// direction returns the preposition of direction or time directly before a token, or "".
func (c *comparison) direction(tokens []token, i int) string {
	for k := i - 1; k >= 0 && k >= i-4; k-- {
		if tokens[k+1].before&^(hyphen|quotation) != 0 {
			break
		}
		switch tokens[k].fold {
		case "from", "to", "since", "until", "before", "after", "below", "above", "without", "against", "vor", "nach",
			"bis", "seit", "ab", "von", "through":
			return tokens[k].fold
		}
		if !tokens[k].entry.neutral && tokens[k].entry.role&quantifies == 0 {
			break
		}
	}
	return ""
}

// modifierOnly reports whether a noun of the sentence is only the modifier of another noun in the quote: Greek
// mythology, home furnishing.
func (c *comparison) modifierOnly(i int) bool {
	p := c.at[i]
	if c.q[p].kind != word || p+1 >= len(c.q) {
		return false
	}
	next := &c.q[p+1]
	if c.taken[p+1] != nowhere || !next.content() || next.kind != word || next.before != 0 || c.q[p].owner {
		return false
	}
	if i+1 < len(c.c) && c.c[i+1].before == 0 && c.c[i+1].content() {
		return false // another noun follows in the sentence
	}
	if i+1 < len(c.c) && c.c[i+1].before == 0 && c.c[i+1].entry.role&(beVerb|modal) != 0 || c.german() {
		return false
	}
	for _, ending := range []string{"ed", "ing", "s", "ly"} {
		if strings.HasSuffix(next.fold, ending) {
			return false
		}
	}
	switch next.fold {
	case "long", "wide", "high", "tall", "deep", "old", "thick":
		return false
	}
	return next.entry.role == 0 && !c.lex.participles[next.fold] && c.lex.groups[next.term] == 0 &&
		!strings.HasSuffix(c.q[p].fold, "ed") && !c.lex.participles[c.q[p].fold]
}

// otherNumber reports whether another number of the quote is nearer to the word before a number. With "A has 5 and B
// has 7" as the quote, "A has 7" is not supported.
func (c *comparison) otherNumber(i int) bool {
	t := &c.c[i]
	if t.kind != number || t.value.weak {
		return false
	}
	left := i - 1
	for left >= 0 && !c.c[left].content() {
		left--
	}
	if left < 0 || c.at[left] < 0 || c.c[left].kind != word {
		return false
	}
	from, p := c.at[left], c.at[i]
	for k := max(0, min(from, p)); k < len(c.q) && k <= max(from, p); k++ {
		if k != p && c.q[k].kind == number && sameKind(&c.q[p], &c.q[k]) && !c.bracketed(k) && !c.listedWith(i, k) {
			return true
		}
	}
	return from > p && c.numberAfter(from, p)
}

// listedWith reports whether the sentence gives another number of the quote before a number.
func (c *comparison) listedWith(i, k int) bool {
	other := c.taken[k]
	return other >= 0 && other < i
}

// numberAfter reports whether a number follows a word of the quote directly, so that one before it does not belong to
// it.
func (c *comparison) numberAfter(word, p int) bool {
	const reach = 3
	for k := word + 1; k < len(c.q) && k <= word+reach; k++ {
		if c.q[k].before&(stop|clause) != 0 {
			return false
		}
		if c.q[k].kind == number && sameKind(&c.q[p], &c.q[k]) {
			return true
		}
	}
	return false
}
