package format

import "golang.org/x/net/html/atom"

// cleanUp leaves out the parts of the article that are forms, lists of links, advertisements and the like.
func (s *selection) cleanUp() {
	if s.rules.clean {
		s.sum(s.odd(tagSet(atom.Form, atom.Fieldset)))
	}
	s.sum(func(i int) bool {
		e := &s.elements[i]
		return uselessTags[e.tag] || e.names.share && s.sums[i].chars < minArticle && !s.isRoot(i) ||
			(e.tag == atom.H1 || e.tag == atom.H2) && s.weight(i) < 0
	})
	if s.rules.clean {
		for _, tag := range []atom.Atom{atom.Table, atom.Ul, atom.Div} {
			s.sum(s.odd(tagSet(tag)))
		}
	}
	for _, root := range s.roots {
		s.chars += s.sums[root].chars
	}
}

var uselessTags = tagSet(
	atom.Object, atom.Embed, atom.Footer, atom.Link, atom.Aside, atom.Iframe, atom.Input, atom.Textarea, atom.Select,
	atom.Button,
)

func (s *selection) isRoot(i int) bool {
	for _, root := range s.roots {
		if i == root {
			return true
		}
	}
	return false
}

// odd returns a function that reports whether an element with one of the tags has little text for its links, images
// and fields.
func (s *selection) odd(tags map[atom.Atom]bool) func(i int) bool {
	return func(i int) bool {
		e := &s.elements[i]
		if !tags[e.tag] || s.isRoot(i) || s.isParagraph(i) || e.inCode || s.data[i] {
			return false
		}
		if s.weight(i) < 0 {
			return true
		}
		return s.sums[i].commas < 10 && s.isOdd(i)
	}
}

func (s *selection) isOdd(i int) bool {
	e, c := &s.elements[i], s.sums[i]
	list := e.tag == atom.Ul || e.tag == atom.Ol || float64(c.listed) > 0.9*float64(max(c.chars, 1))
	density, weight := s.linkDensity(i), s.weight(i)
	figure := e.inFigure
	heading := float64(c.heading) / float64(max(c.chars, 1))
	switch {
	case !figure && c.images > 1 && float64(c.paragraphs)/float64(c.images) < 0.5,
		!list && c.items-100 > c.paragraphs,
		c.inputs > c.paragraphs/3,
		!list && !figure && heading < 0.9 && c.chars < minParagraph && (c.images == 0 || c.images > 2) && density > 0,
		!list && weight < nameWeight && density > 0.2,
		weight >= nameWeight && density > 0.5,
		c.embeds == 1 && c.chars < 75 || c.embeds > 1,
		c.images == 0 && c.texty == 0:
		return true
	}
	return false
}

// dataTables marks the tables of data and the elements in them.
func (o *outline) dataTables() []bool {
	data := make([]bool, len(o.elements))
	for i := 1; i < len(data); i++ {
		data[i] = data[o.elements[i].parent] || o.elements[i].tag == atom.Table && o.isData(i)
	}
	return data
}

// isData reports whether a table holds data. Others lay out the page.
func (o *outline) isData(i int) bool {
	rows, columns, cells := 0, 0, 0
	for j := i + 1; j < o.elements[i].next; j++ {
		switch o.elements[j].tag {
		case atom.Caption, atom.Col, atom.Colgroup, atom.Tfoot, atom.Thead, atom.Th:
			return true
		case atom.Table:
			return false
		case atom.Tr:
			rows++
			cells = 0
		case atom.Td:
			cells++
			columns = max(columns, cells)
		}
		if rows >= 10 || columns > 4 {
			return columns > 1
		}
	}
	return rows > 1 && columns > 1 && rows*columns > 10
}
