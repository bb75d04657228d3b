package format

import (
	"encoding/xml"
	"io"
	"strconv"
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// rdfNode is an element of an RDF file.
type rdfNode struct {
	name, about, resource string
	text                  strings.Builder
	children              []*rdfNode
}

const (
	// memoryRDF is the memory of a node beyond its text.
	memoryRDF = 160
	// maxRDFNodes limits the nodes of one item.
	maxRDFNodes = 20_000
)

// readRDF reads a library exported as Zotero RDF. Attachments are separate files next to it and are read as such.
func readRDF(b *budget.Budget, r io.Reader, tell func(), yield func(source.Document, error) bool) (err error) {
	waited := b.Document(maxListed, func() { err = readRDFItems(b, r, tell, yield) })
	if waited != nil {
		return waited
	}
	return err
}

func readRDFItems(b *budget.Budget, r io.Reader, tell func(), yield func(source.Document, error) bool) error {
	items, containers, err := rdfItems(b, io.LimitReader(r, maxListed), tell)
	if err != nil {
		return &RecordError{"the file", err.Error()}
	}
	seen := make(idSet)
	for i, item := range items {
		if err := b.Err(); err != nil {
			return err
		}
		place := "item " + strconv.Itoa(i+1)
		b.Work(workRecord)
		d, err := guarded(place, func() (source.Document, error) { return item.reference(containers).document(), nil })
		if err == nil {
			if first, again := seen.add(d.ExternalID, i+1); again {
				d, err = source.Document{}, &RecordError{place, "repeats the id of item " + strconv.Itoa(first)}
			}
		}
		if !yield(d, err) {
			return nil
		}
	}
	if len(items) == 0 {
		return &RecordError{"the file", "holds no item of a library in Zotero RDF"}
	}
	return nil
}

// rdfItems returns the bibliographic items, and the journals and books that they may refer to.
func rdfItems(
	b *budget.Budget, r io.Reader, tell func(),
) (items []*rdfNode, containers map[string]*rdfNode, err error) {
	containers = map[string]*rdfNode{}
	var open []*rdfNode
	nodes := 0
	err = eachToken(b, r, func(t xml.Token) {
		switch t := t.(type) {
		case xml.StartElement:
			n := &rdfNode{name: t.Name.Local, about: attribute(t, "about"), resource: attribute(t, "resource")}
			if len(open) == 1 {
				nodes = 0
			}
			if nodes++; len(open) > 1 && nodes < maxRDFNodes {
				b.Hold(memoryRDF)
				parent := open[len(open)-1]
				parent.children = append(parent.children, n)
			}
			open = append(open, n)
		case xml.CharData:
			if len(open) > 1 {
				b.Hold(len(t))
				open[len(open)-1].text.Write(t)
			}
		case xml.EndElement:
			if len(open) == 0 {
				return
			}
			n := open[len(open)-1]
			open = open[:len(open)-1]
			if len(open) == 1 {
				tell()
				if n.isItem() {
					items = append(items, n)
				}
				if n.about != "" {
					containers[n.about] = n
				}
			}
		}
	})
	return items, containers, err
}

// isItem reports whether a node is a reference, not an attachment, a collection or a container of references.
func (n *rdfNode) isItem() bool {
	switch n.name {
	case "Attachment", "Collection", "Memo", "Journal", "Series", "UserItem":
		return false
	}
	return n.child("title") != nil && n.child("itemType") != nil
}

func (n *rdfNode) child(name string) *rdfNode {
	if n == nil {
		return nil
	}
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// value returns the text of a child.
func (n *rdfNode) value(name string) string {
	c := n.child(name)
	if c == nil {
		return ""
	}
	return strings.TrimSpace(c.text.String())
}

// all calls use for a node and its descendants with a name. Nesting is limited by the reader of the tokens.
func (n *rdfNode) all(name string, use func(*rdfNode)) {
	for _, c := range n.children {
		if c.name == name {
			use(c)
			continue
		}
		c.all(name, use)
	}
}

// zoteroKinds maps the item types of Zotero that differ from those of other formats.
var zoteroKinds = map[string]string{
	"journalArticle": "article", "conferencePaper": "conference-paper", "bookSection": "chapter", "thesis": "thesis",
	"webpage": "web", "blogPost": "web", "preprint": "preprint", "manuscript": "preprint",
}

func (n *rdfNode) reference(containers map[string]*rdfNode) reference {
	r := reference{
		title: n.value("title"), abstract: n.value("abstract"), date: n.value("date"), language: n.value("language"),
		kind: firstOf(zoteroKinds[n.value("itemType")], kindOfReference(n.value("itemType"))),
	}
	if strings.HasPrefix(n.about, "http") {
		r.url = n.about
	}
	identify := func(id *rdfNode) {
		text := strings.TrimSpace(id.text.String())
		id.all("value", func(v *rdfNode) { r.url = firstOf(r.url, strings.TrimSpace(v.text.String())) })
		if doi := bareDOI(strings.TrimSpace(strings.TrimPrefix(text, "DOI"))); doi != "" {
			r.doi = doi
		}
	}
	for _, c := range n.children {
		switch c.name {
		case "identifier":
			identify(c)
		case "subject":
			if s := firstOf(strings.TrimSpace(c.text.String()), rdfTag(c)); s != "" {
				r.keywords = append(r.keywords, s)
			}
		case "isPartOf":
			container := containers[c.resource]
			if len(c.children) > 0 {
				container = c.children[0]
			}
			if container != nil {
				r.venue = firstOf(r.venue, container.value("title"))
				container.all("identifier", identify)
			}
		}
	}
	if r.venue == "" {
		if p := n.child("publisher"); p != nil {
			p.all("name", func(v *rdfNode) { r.venue = firstOf(r.venue, strings.TrimSpace(v.text.String())) })
		}
	}
	people := n.child("authors")
	if people == nil {
		people = n.child("editors")
	}
	if people != nil {
		people.all("Person", func(p *rdfNode) {
			r.authors = append(r.authors, strings.TrimSpace(p.value("givenName")+" "+p.value("surname")))
		})
	}
	r.id = firstOf(n.about, r.doi, r.title)
	return r
}

// rdfTag returns the text of an automatic tag, which is in an element of its own.
func rdfTag(c *rdfNode) (tag string) {
	c.all("value", func(v *rdfNode) { tag = firstOf(tag, strings.TrimSpace(v.text.String())) })
	return tag
}
