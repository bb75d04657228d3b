package format

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	"carrel/internal/lazyregexp"
)

const (
	// maxOutline limits the elements of an outline, maxOutlineDepth their nesting. Larger pages are kept whole.
	maxOutline      = 200_000
	maxOutlineDepth = 250
	// memoryElement is the memory of an element.
	memoryElement = 160
	// maxImplied is how many open elements are examined for an implied end tag.
	maxImplied = 20
)

// counts measures the text of an element, in code points.
type counts struct {
	chars, linked, commas, heading, listed, texty int
	paragraphs, images, items, inputs, embeds     int
}

func (c *counts) add(d counts) {
	c.chars += d.chars
	c.linked += d.linked
	c.commas += d.commas
	c.heading += d.heading
	c.listed += d.listed
	c.texty += d.texty
	c.paragraphs += d.paragraphs
	c.images += d.images
	c.items += d.items
	c.inputs += d.inputs
	c.embeds += d.embeds
}

// element is an element of a page. Elements are in the order of their start tags, so descendants of an element are
// those up to next.
type element struct {
	tag          atom.Atom
	parent, next int
	// start and end are the byte offsets of the element with its tags.
	start, end int
	// own counts the text outside child elements, inline the text in inline elements as well, of a block element.
	own    counts
	inline counts
	names  classNames
	hidden bool
	// hasBlock is set if a descendant divides the text.
	hasBlock bool
	// The elements around this one.
	inTable, inCode, inFigure bool
	// sentence is set if the text holds the end of a sentence.
	sentence bool
}

// outline is the tree of a page's elements.
type outline struct {
	elements []element
	open     []int
	openTags map[atom.Atom]int
	// run is set while the text of a division continues without a block in between.
	run int
	// tooLarge is set if the page exceeds a limit.
	tooLarge bool
}

func newOutline() *outline {
	o := &outline{openTags: map[atom.Atom]int{}, run: -1}
	o.push(element{parent: -1})
	o.openTags[0] = 0 // the root is never closed by a tag; unknown elements have no atom either
	return o
}

func (o *outline) push(e element) {
	if len(o.elements) >= maxOutline || len(o.open) >= maxOutlineDepth {
		o.tooLarge = true
	}
	if o.tooLarge {
		return
	}
	o.open = append(o.open, len(o.elements))
	o.openTags[e.tag]++
	o.elements = append(o.elements, e)
}

// pop closes the innermost element at an offset.
func (o *outline) pop(offset int) {
	i := o.open[len(o.open)-1]
	e := &o.elements[i]
	e.end, e.next = offset, len(o.elements)
	o.openTags[e.tag]--
	o.open = o.open[:len(o.open)-1]
	if blockTags[e.tag] {
		o.run = -1
	}
}

func (o *outline) top() int { return o.open[len(o.open)-1] }

// start adds an element.
func (o *outline) start(tag atom.Atom, attrs map[string]string, from, to int) {
	if o.tooLarge || tag == atom.Html || tag == atom.Head {
		return
	}
	o.endImplied(tag, from)
	e := element{tag: tag, parent: o.top(), start: from, end: to, names: classify(attrs), hidden: isHidden(attrs)}
	e.inTable, e.inCode = o.openTags[atom.Table] > 0, o.openTags[atom.Code] > 0
	e.inFigure = o.openTags[atom.Figure] > 0
	switch tag {
	case atom.Img:
		e.own.images = 1
	case atom.Input:
		e.own.inputs = 1
	case atom.Object, atom.Embed, atom.Iframe:
		e.own.embeds = 1
	case atom.P:
		e.own.paragraphs = 1
	case atom.Li:
		e.own.items = 1
	}
	if blockTags[tag] {
		o.run = -1
	}
	for n := len(o.open) - 1; dividingTags[tag] && n >= 0 && !o.elements[o.open[n]].hasBlock; n-- {
		o.elements[o.open[n]].hasBlock = true
	}
	if voidTags[tag] {
		e.next = len(o.elements) + 1
		if len(o.elements) < maxOutline {
			o.elements = append(o.elements, e)
		}
		return
	}
	o.push(e)
}

// endImplied closes the elements that a start tag ends: a paragraph before a block, an item before the next.
func (o *outline) endImplied(tag atom.Atom, offset int) {
	ended := impliedEnds[tag]
	if blockTags[tag] || headingLevel(tag) > 0 {
		ended = []atom.Atom{atom.P}
	}
	if len(ended) == 0 {
		return
	}
	for n := 1; n <= maxImplied && n < len(o.open); n++ {
		open := o.elements[o.open[len(o.open)-n]].tag
		for _, e := range ended {
			if open == e {
				for ; n > 0; n-- {
					o.pop(offset)
				}
				return
			}
		}
		if scopeTags[open] || ended[0] == atom.P && blockTags[open] {
			return
		}
	}
}

// close closes the innermost element with a tag and the elements in it.
func (o *outline) close(tag atom.Atom, from, to int) {
	if o.tooLarge || o.openTags[tag] == 0 || tag == atom.Html || tag == atom.Head || len(o.open) == 1 {
		return
	}
	for len(o.open) > 1 && o.elements[o.top()].tag != tag {
		o.pop(from)
	}
	if len(o.open) > 1 {
		o.pop(to)
	}
}

// finish closes all elements at the end of the page.
func (o *outline) finish(offset int) {
	for len(o.open) > 0 {
		o.pop(offset)
	}
}

// text counts a text in the open elements.
func (o *outline) text(s string) {
	if o.tooLarge {
		return
	}
	c := counts{chars: textLength(s)}
	if c.chars == 0 {
		return
	}
	for _, comma := range []string{",", "،", "﹐", "︐", "︑", "⹁", "⸴", "⸲", "，"} {
		c.commas += strings.Count(s, comma)
	}
	if o.openTags[atom.A] > 0 {
		c.linked = c.chars
	}
	for level := range headings {
		if o.openTags[headings[level]] > 0 {
			c.heading = c.chars
		}
	}
	i := o.top()
	o.elements[i].own.add(c)
	ends := strings.Contains(s, ". ") || strings.HasSuffix(strings.TrimSpace(s), ".")
	for n := len(o.open) - 1; n >= 0; n-- {
		i := o.open[n]
		e := &o.elements[i]
		e.sentence = e.sentence || ends
		if !blockTags[e.tag] && n > 0 {
			continue
		}
		e.inline.add(c)
		if o.run != i {
			o.run = i
			e.inline.paragraphs++
		}
		return
	}
}

// textLength returns the length of a text with its white space folded.
func textLength(s string) int {
	n := 0
	for word := range strings.FieldsSeq(s) {
		if n > 0 {
			n++
		}
		n += utf8.RuneCountInString(word)
	}
	return n
}

// classNames is what the class and id of an element say about it.
type classNames struct {
	weight          int
	unlikely, share bool
}

// The patterns are those of Mozilla's Readability.
var (
	unlikelyNames = lazyregexp.New(`-ad-|ai2html|banner|breadcrumbs|combx|comment|community|cover-wrap|disqus|` +
		`extra|footer|gdpr|header|legends|menu|related|remark|replies|rss|shoutbox|sidebar|skyscraper|social|sponsor|` +
		`supplemental|ad-break|agegate|pagination|pager|popup|yom-remote`)
	likelyNames   = lazyregexp.New(`and|article|body|column|content|main|mathjax|shadow`)
	positiveNames = lazyregexp.New(`article|body|content|entry|main|page|post|text|blog|story`)
	negativeNames = lazyregexp.New(`-ad-|hidden|^hid$| hid$| hid |^hid |banner|combx|comment|com-|contact|footer|` +
		`gdpr|masthead|media|meta|outbrain|promo|related|scroll|share|shoutbox|sidebar|skyscraper|sponsor|shopping|` +
		`tags|widget`)
	shareNames    = lazyregexp.New(`(?:\b|_)(?:share|sharedaddy)(?:\b|_)`)
	unlikelyRoles = map[string]bool{
		"menu": true, "menubar": true, "complementary": true, "navigation": true, "alert": true, "alertdialog": true,
		"dialog": true,
	}
)

// nameWeight is the weight of a class or an id.
const nameWeight = 25

func classify(attrs map[string]string) classNames {
	var c classNames
	if len(attrs) == 0 {
		return c
	}
	class, id := strings.ToLower(cut(attrs["class"], maxTitle)), strings.ToLower(cut(attrs["id"], maxTitle))
	for _, s := range []string{class, id} {
		if s == "" {
			continue
		}
		if negativeNames.MatchString(s) {
			c.weight -= nameWeight
		}
		if positiveNames.MatchString(s) {
			c.weight += nameWeight
		}
	}
	if both := class + " " + id; len(both) > 1 {
		c.unlikely = unlikelyNames.MatchString(both) && !likelyNames.MatchString(both)
		c.share = shareNames.MatchString(both)
	}
	c.unlikely = c.unlikely || unlikelyRoles[strings.ToLower(attrs["role"])]
	return c
}

var hiddenStyle = lazyregexp.New(`(?i)display\s*:\s*none|visibility\s*:\s*hidden`)

func isHidden(attrs map[string]string) bool {
	if len(attrs) == 0 {
		return false
	}
	_, hidden := attrs["hidden"]
	return hidden || hiddenStyle.MatchString(cut(attrs["style"], maxTitle)) ||
		attrs["aria-hidden"] == "true" && !strings.Contains(attrs["class"], "fallback-image") ||
		attrs["aria-modal"] == "true" && attrs["role"] == "dialog"
}

var headings = [...]atom.Atom{atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6}

// headingLevel returns the level of a heading, 0 for other elements.
func headingLevel(tag atom.Atom) int {
	for i, h := range headings {
		if tag == h {
			return i + 1
		}
	}
	return 0
}

func tagSet(tags ...atom.Atom) map[atom.Atom]bool {
	out := make(map[atom.Atom]bool, len(tags))
	for _, t := range tags {
		out[t] = true
	}
	return out
}

var (
	voidTags = tagSet(
		atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta,
		atom.Param, atom.Source, atom.Track, atom.Wbr,
	)
	// blockTags are elements that can't be part of a paragraph.
	blockTags = tagSet(
		atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Dd, atom.Details, atom.Div, atom.Dl,
		atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3,
		atom.H4, atom.H5, atom.H6, atom.Header, atom.Hr, atom.Li, atom.Main, atom.Nav, atom.Ol, atom.P, atom.Pre,
		atom.Section, atom.Table, atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr, atom.Ul,
	)
	// dividingTags turn a division into more than a paragraph.
	dividingTags = tagSet(
		atom.Blockquote, atom.Dl, atom.Div, atom.Img, atom.Ol, atom.P, atom.Pre, atom.Table, atom.Ul,
	)
	scopeTags   = tagSet(atom.Table, atom.Td, atom.Th, atom.Ul, atom.Ol, atom.Dl, atom.Body, atom.Select)
	impliedEnds = map[atom.Atom][]atom.Atom{
		atom.Li: {atom.Li}, atom.Dt: {atom.Dt, atom.Dd}, atom.Dd: {atom.Dt, atom.Dd},
		atom.Tr: {atom.Tr}, atom.Td: {atom.Td, atom.Th}, atom.Th: {atom.Td, atom.Th},
		atom.Tbody: {atom.Tbody, atom.Thead}, atom.Tfoot: {atom.Tbody, atom.Thead}, atom.Option: {atom.Option},
	}
)
