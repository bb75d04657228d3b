package check

// withoutLexicon judges a sentence in a language without word lists, by numbers, names and repetition.
func (c *comparison) withoutLexicon() Finding {
	rules := []func(*comparison) (Finding, bool){(*comparison).numbers, (*comparison).identifiers, (*comparison).nameRule}
	for _, rule := range rules {
		if f, ok := rule(c); ok && c.about(nearlySame) {
			return f
		}
	}
	if !c.blocked && c.repeats() {
		start, end := c.region()
		return Finding{State: Supported, Start: start, End: end}
	}
	return Finding{State: Cited}
}

// repeats reports whether all words of the sentence, function words included, stand in the quote one after the other,
// from the beginning of a sentence or clause on.
func (c *comparison) repeats() bool {
	first, last := nowhere, nowhere
	for i := range c.c {
		p := c.at[i]
		if p < 0 || last != nowhere && p != last+1 {
			return false
		}
		if first == nowhere {
			first = p
		}
		last = p
	}
	if first == nowhere || len(c.c) < 3 {
		return false
	}
	begins := c.q[first].initial || c.q[first].before&(clause|stop) != 0
	ends := last+1 == len(c.q) || c.q[last+1].before&(clause|stop|comma) != 0 || c.q[last+1].initial
	return begins && ends
}
