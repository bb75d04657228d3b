package check

import "strconv"

func yearKey(year int) string { return "year " + strconv.Itoa(year) }

// slot returns the positions of the quote between the counterparts of the neighbours of a token of the sentence: where
// its own counterpart is expected. The window is empty if the content words next to it have no counterparts.
func (c *comparison) slot(i int) (from, to int) {
	const reach = 5
	left, right := nowhere, nowhere
	for k := i - 1; k >= 0; k-- {
		if c.c[k].content() && c.c[k].entry.role&light == 0 {
			left = c.at[k]
			break
		}
	}
	for k := i + 1; k < len(c.c); k++ {
		if c.c[k].content() && c.c[k].entry.role&light == 0 {
			right = c.at[k]
			break
		}
	}
	switch {
	case left < 0 && right < 0:
		return 0, 0
	case left < 0:
		return max(0, right-reach), right
	case right < 0:
		return left + 1, min(len(c.q), left+1+reach)
	case left < right:
		return left + 1, right
	}
	// The order differs: search next to both.
	if right > 0 && right-1 != left {
		return max(0, right-2), right
	}
	return left + 1, min(len(c.q), left+3)
}

// rival returns an unaligned token of the quote that stands where the counterpart of a token is expected and satisfies
// the condition, or nowhere.
func (c *comparison) rival(i int, fits func(*token) bool) int {
	from, to := c.slot(i)
	for p := from; p < to; p++ {
		if c.taken[p] == nowhere && fits(&c.q[p]) {
			return p
		}
	}
	return nowhere
}

// numbers compares numbers, units and dates.
func (c *comparison) numbers() (Finding, bool) {
	for i := range c.c {
		t := &c.c[i]
		if t.kind != number && t.kind != date {
			continue
		}
		if p := c.at[i]; p >= 0 {
			switch relate(t, &c.q[p]) {
			case opposite:
				if c.about(aboutSame, i) {
					return c.differs(Contradicted, ComparisonTurned, p, "The source says "+c.phrase(p)+".")
				}
				c.blocked = true
			case looser:
				c.blocked = c.blocked || !c.completes(i)
			}
			continue
		}
		if c.at[i] == outside {
			continue
		}
		if f, ok := c.missing(i); ok {
			return f, true
		}
	}
	return Finding{}, false
}

// completes reports whether the quote gives the missing part of a date elsewhere: 8 May of the year 1949.
func (c *comparison) completes(i int) bool {
	t := &c.c[i]
	p := c.at[i]
	if t.kind != date || p < 0 {
		return false
	}
	k := &c.q[p]
	if k.kind != date || t.value.year == 0 || k.value.year != 0 || t.value.day != 0 && k.value.day == 0 {
		return false
	}
	for o := range c.q {
		v := &c.q[o].value
		if v.bare && v.value == float64(t.value.year) || v.year == t.value.year {
			return true
		}
	}
	return false
}

// phrase returns a quantity of the quote with the words before it.
func (c *comparison) phrase(p int) string {
	from := p
	for from > 0 && p-from < 3 && c.q[from-1].sentence == c.q[p].sentence && c.q[from].before&^hyphen == 0 {
		from--
	}
	return slice(c.source, c.q[from].start, c.q[p].end)
}

// missing judges a number or date of the sentence without a counterpart.
func (c *comparison) missing(i int) (Finding, bool) {
	t := &c.c[i]
	if t.value.weak {
		return Finding{}, false
	}
	if p, reason := c.otherValue(i); p != nowhere {
		if c.about(aboutSame, i) && (!c.nearby(i) || reason == UnitDiffers) {
			return c.differs(Contradicted, reason, p, c.contrast(p, i))
		}
		if !c.isYear(i) {
			c.blocked = true
			return Finding{}, false
		}
	}
	small := t.kind == number && t.value.value <= 12 && t.value.dimension == ""
	if small || c.nearby(i) || !c.isYear(i) && !c.about(nearlySame, i) {
		c.blocked = true
		return Finding{}, false
	}
	return c.differs(Unsupported, NumberAbsent, nowhere, "The source does not say "+c.said(i)+".")
}

// isYear reports whether a number is a year or a date. These are not rounded or computed, so the source must have them,
// whatever else the sentence says.
func (c *comparison) isYear(i int) bool {
	t := &c.c[i]
	return t.kind == date || t.value.bare && !t.value.inWords
}

// nearby reports whether title or context hold the number or date.
func (c *comparison) nearby(i int) bool {
	t := &c.c[i]
	if c.around[t.fold] {
		return true
	}
	year := t.value.year
	if t.value.bare {
		year = int(t.value.value)
	}
	return year > 0 && t.value.month == 0 && (c.around[yearKey(year)] || c.around[strconv.Itoa(year)])
}

// otherValue returns the quantity of the quote that stands for one of the sentence with another value, and how they
// differ.
func (c *comparison) otherValue(i int) (int, Reason) {
	t := &c.c[i]
	only, count := nowhere, 0
	for p := range c.q {
		k := &c.q[p]
		if c.taken[p] != nowhere || !sameKind(t, k) {
			continue
		}
		if k.kind == number && t.kind == number && k.value.value == t.value.value &&
			(k.value.dimension != t.value.dimension || k.value.factor != t.value.factor) {
			if k.value.dimension == "" || t.value.dimension == "" {
				continue
			}
			return p, UnitDiffers
		}
		only, count = p, count+1
		if c.sameHead(i, p) {
			return p, reasonOf(t, k)
		}
	}
	if p := c.rival(i, func(k *token) bool { return sameKind(t, k) }); p != nowhere {
		return p, reasonOf(t, &c.q[p])
	}
	if count == 1 && (t.kind == date || t.value.bare || t.value.dimension != "") {
		return only, reasonOf(t, &c.q[only])
	}
	return nowhere, NoReason
}

// sameKind reports whether two quantities can stand for each other.
func sameKind(t, k *token) bool {
	switch {
	case k.kind != number && k.kind != date || k.value.weak != t.value.weak:
		return false
	case t.kind == date:
		return k.kind == date || k.value.bare
	case k.kind == date:
		return t.value.bare
	case t.value.bare != k.value.bare:
		return false
	}
	return t.value.dimension == k.value.dimension || t.value.value == k.value.value
}

func reasonOf(t, k *token) Reason {
	if t.kind == date || k.kind == date || t.value.bare && k.value.bare {
		return DateDiffers
	}
	return NumberDiffers
}

// sameHead reports whether the same word follows, or precedes, two quantities.
func (c *comparison) sameHead(i, p int) bool {
	next := func(tokens []token, k int) int {
		for k++; k < len(tokens); k++ {
			if tokens[k].before&(stop|clause|comma) != 0 {
				return nowhere
			}
			if tokens[k].content() {
				return k
			}
		}
		return nowhere
	}
	a, b := next(c.c, i), next(c.q, p)
	return a != nowhere && b != nowhere && c.at[a] == b
}

// identifiers compares names with digits, such as RFC 9110.
func (c *comparison) identifiers() (Finding, bool) {
	for i := range c.c {
		t := &c.c[i]
		if t.kind != identifier || c.at[i] != nowhere {
			continue
		}
		letters := leading(t.fold)
		p := c.rival(i, func(k *token) bool { return k.kind == identifier })
		for o := range c.q {
			if k := &c.q[o]; k.kind == identifier && letters != "" && leading(k.fold) == letters && c.taken[o] == nowhere {
				p = o
				break
			}
		}
		switch {
		case c.around[t.fold] || !c.about(aboutSame, i):
			c.blocked = true
		case p != nowhere:
			return c.differs(Contradicted, NameDiffers, p, c.contrast(p, i))
		default:
			return c.differs(Unsupported, NameAbsent, nowhere, "The source does not name "+c.said(i)+".")
		}
	}
	return Finding{}, false
}

// leading returns the letters at the beginning of an identifier.
func leading(key string) string {
	for i := range len(key) {
		if key[i] >= '0' && key[i] <= '9' {
			return key[:i]
		}
	}
	return key
}

// ordinalRule compares ordinals and superlatives: the second largest, one of the largest, the largest.
func (c *comparison) ordinalRule() (Finding, bool) {
	for i := range c.c {
		t := &c.c[i]
		if t.kind != ordinal || c.at[i] != nowhere {
			continue
		}
		p := nowhere
		for o := range c.q {
			if c.q[o].kind == ordinal && c.taken[o] == nowhere && c.sameHead(i, o) {
				p = o
				break
			}
		}
		switch {
		case !c.about(aboutSame, i):
			c.blocked = true
		case p != nowhere:
			return c.differs(Contradicted, OrdinalDiffers, p, c.contrast(p, i))
		case c.followedByMatch(i) && !c.around[t.fold] && c.about(0.85, i):
			return c.differs(Unsupported, OrdinalDiffers, nowhere, "The source does not say "+c.said(i)+".")
		default:
			c.blocked = true
		}
	}
	for p := range c.q {
		if f, ok := c.droppedRank(p); ok {
			return f, true
		}
	}
	return Finding{}, false
}

// followedByMatch reports whether the next content word of the sentence has a counterpart.
func (c *comparison) followedByMatch(i int) bool {
	for k := i + 1; k < len(c.c) && k < i+3; k++ {
		if c.c[k].content() {
			return c.at[k] >= 0
		}
	}
	return false
}

// droppedRank finds an ordinal before a superlative, or "one of the" before it, that the sentence leaves out.
func (c *comparison) droppedRank(p int) (Finding, bool) {
	k := &c.q[p]
	switch {
	case k.kind == ordinal && c.taken[p] == nowhere && p+1 < len(c.q):
		if i := c.taken[p+1]; i >= 0 && superlative(c.q[p+1].fold) && c.q[p+1].before&^hyphen == 0 && c.about(nearlySame) {
			return c.differs(Contradicted, OrdinalDiffers, p,
				"The source says "+c.written(p)+" "+c.written(p+1)+", the sentence "+c.said(i)+".")
		}
	case k.fold == "one" || k.fold == "einer" || k.fold == "eine" || k.fold == "eines":
		head := c.afterOneOf(p)
		if head == nowhere {
			return Finding{}, false
		}
		i := c.taken[head]
		if i < 0 {
			return Finding{}, false
		}
		for back := i; back >= 0 && back >= i-4; back-- {
			if c.c[back].fold == k.fold || c.c[back].fold == "among" || c.c[back].value.weak {
				return Finding{}, false
			}
		}
		if c.about(nearlySame) {
			return c.differs(Unsupported, OrdinalDiffers, p, "The source says "+slice(c.source, k.start, c.q[head].end)+".")
		}
		c.blocked = true
	}
	return Finding{}, false
}

// afterOneOf returns the superlative after "one of the", or nowhere.
func (c *comparison) afterOneOf(p int) int {
	if p+2 >= len(c.q) || c.q[p+1].fold != "of" && c.q[p+1].fold != "der" && c.q[p+1].fold != "des" {
		return nowhere
	}
	for k := p + 2; k < len(c.q) && k < p+5; k++ {
		if superlative(c.q[k].fold) {
			return k
		}
	}
	return nowhere
}

// superlative reports whether a word looks like a superlative.
func superlative(fold string) bool {
	switch fold {
	case "most", "least", "best", "worst", "meisten", "west", "east", "test", "rest", "interest", "forest", "request":
		return fold != "west" && fold != "east" && fold != "test" && fold != "rest" && fold != "interest" &&
			fold != "forest" && fold != "request"
	}
	n := len(fold)
	return n > 5 && (fold[n-3:] == "est" || n > 6 && (fold[n-3:] == "ste" || fold[n-4:] == "sten"))
}
