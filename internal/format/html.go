package format

import (
	"errors"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// parseHTML reads a web page.
func parseHTML(b *budget.Budget, name string, data []byte) (source.Document, error) {
	b.Hold(3 * len(data)) // the text, decoded, with and without embedded images
	content, err := decodePage(data)
	if err != nil {
		return source.Document{}, err
	}
	content = dropEmbedded(content)
	p := &page{meta: make(pageMeta), outline: newOutline()}
	p.read(b, content)
	d := p.metadata()
	d.Title = oneLine(firstOf(d.Title, p.title.String(), p.heading.String(), stem(name)))
	d.Text = p.mainText(b, content)
	return d, nil
}

// metadata merges the metadata of the head with JSON-LD. Scholarly and Dublin Core metadata come first, because they
// are made for references.
func (p *page) metadata() source.Document {
	d := p.meta.document()
	if p.linked == nil {
		return d
	}
	l := p.linked
	if p.meta.first(metaTitle[:2], oneLine) == "" {
		d.Title = firstOf(l.Title, d.Title)
	}
	if len(d.Authors) == 0 || len(p.meta.authors("citation_author"))+len(p.meta.authors("dc.creator")) == 0 {
		if len(l.Authors) > 0 {
			d.Authors = l.Authors
		}
	}
	if d.Year == 0 {
		d.Year = l.Year
	}
	d.DOI, d.URL = firstOf(d.DOI, l.DOI), firstOf(d.URL, l.URL)
	d.Venue, d.Type = firstOf(d.Venue, l.Venue), firstOf(d.Type, l.Type)
	d.Language = firstOf(p.meta.first(metaLanguage[:2], oneLine), l.Language, d.Language)
	return d
}

// minArticleShare is the share of the text of a page that an article must hold. Pages with a smaller one are lists or
// have several articles, and are kept whole.
const minArticleShare = 0.1

// mainText returns the text of the article on the page, or of the whole page if it has none.
func (p *page) mainText(b *budget.Budget, content string) string {
	o := p.outline
	o.finish(len(content))
	b.Hold(memoryElement*len(o.elements) + len(content))
	b.Work(workElement * len(o.elements))
	whole := p.text.String()
	article, found := o.article(content)
	if !found {
		return whole
	}
	text := readPage(b, article).text.String()
	if float64(len(text)) < minArticleShare*float64(len(whole)) {
		return whole
	}
	return text
}

// page collects the text and metadata of a web page.
type page struct {
	meta pageMeta
	// title is the text of <title>, heading of the first <h1>.
	title, heading, text flow

	inTitle, inHeading, inLinked bool
	// linked is the metadata in the page's JSON-LD.
	linked *source.Document
	// pre is the number of open <pre> elements.
	pre int
	// skipped is the element whose content is dropped, depth the number of open elements with that name.
	skipped string
	depth   int
	// outline, unless nil, collects the elements; from and to are the offsets of the current token.
	outline  *outline
	from, to int
	// rawText is set in elements whose content is no text, such as scripts.
	rawText bool
}

// maxHeading ends a heading that is not closed.
const maxHeading = 1000

const (
	// maxToken limits a tag or text token. The tokenizer allocates 32 bytes for each attribute.
	maxToken = 1 << 20
	// paidAtOnce is the number of bytes charged to the budget at once.
	paidAtOnce = 4096
	// workElement is the cost of an element in the search for the article.
	workElement = 200
	// maxAttributes limits the attributes that are read of a tag.
	maxAttributes = 50
)

// readPage processes the tokens of a page without building a tree, so that nesting is free and time and memory are
// proportional to the length, which the tree builder does not guarantee.
func readPage(b *budget.Budget, content string) *page {
	p := &page{meta: make(pageMeta)}
	p.read(b, content)
	return p
}

// plainText returns the text of a fragment without marks of headings, items and tables.
func plainText(b *budget.Budget, content string) string {
	p := &page{meta: make(pageMeta)}
	p.text.plain = true
	p.read(b, content)
	return p.text.String()
}

func (p *page) read(b *budget.Budget, content string) {
	for base := 0; base < len(content); {
		base += p.readTokens(b, content[base:], base)
	}
}

// readTokens reads up to the end or to a token that is too long, and returns how many bytes it read. The tokenizer
// stops after such a token, and a new one continues there.
func (p *page) readTokens(b *budget.Budget, content string, base int) (read int) {
	z := html.NewTokenizer(strings.NewReader(content))
	z.SetMaxBuf(maxToken)
	for paid := 0; ; {
		kind := z.Next()
		if kind == html.ErrorToken && errors.Is(z.Err(), html.ErrBufferExceeded) {
			return max(read, 1)
		}
		p.from = base + read
		read += len(z.Raw())
		p.to = base + read
		if read >= paid {
			b.Work(workHTML * paidAtOnce)
			paid += paidAtOnce
		}
		switch kind {
		case html.ErrorToken:
			return len(content)
		case html.TextToken:
			p.addText(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			name, hasAttrs := z.TagName()
			p.open(string(name), z, hasAttrs)
		case html.EndTagToken:
			name, _ := z.TagName()
			p.close(string(name))
		}
	}
}

func (p *page) addText(s string) {
	if p.inHeading {
		p.heading.words(s)
		p.inHeading = p.heading.b.Len() < maxHeading
	}
	if p.outline != nil && !p.rawText {
		p.outline.text(s)
	}
	switch {
	case p.inTitle:
		p.title.words(s)
	case p.inLinked:
		if d, ok := linkedData(s); ok && p.linked == nil {
			p.linked = &d
		}
	case p.skipped != "":
	case p.pre > 0:
		p.text.verbatim(s)
	default:
		p.text.words(s)
	}
}

func (p *page) open(name string, z *html.Tokenizer, hasAttrs bool) {
	tag := atom.Lookup([]byte(name))
	var attrs map[string]string
	if hasAttrs && (p.outline != nil || name == "html" || name == "meta" || name == "link" || name == "script") {
		attrs = attributes(z)
	}
	if p.outline != nil {
		p.outline.start(tag, attrs, p.from, p.to)
		p.rawText = rawTags[tag]
	}
	// Many pages put their title into a <header>, which is otherwise dropped.
	if name == "h1" && p.heading.b.Len() == 0 && (p.skipped == "" || p.skipped == "header") {
		p.inHeading = true
	}
	if p.skipped != "" {
		if name == p.skipped {
			p.depth++
		}
		return
	}
	switch {
	case skippedElements[name]:
		p.skipped, p.depth = name, 1
		p.inLinked = name == "script" && strings.EqualFold(strings.TrimSpace(attrs["type"]), "application/ld+json")
		p.inTitle = name == "title" && p.title.b.Len() == 0
	case name == "html":
		if lang := firstOf(attrs["lang"], attrs["xml:lang"]); lang != "" {
			p.meta[pageLanguage] = []string{lang}
		}
	case name == "meta":
		p.meta.addMeta(attrs)
	case name == "link":
		p.meta.addLink(attrs)
	case name == "pre":
		p.pre++
	}
	p.openBlock(tag)
	p.text.want(gapAround[name])
}

// openBlock begins a heading, a list or a table.
func (p *page) openBlock(tag atom.Atom) {
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.text.openHeading(headingLevel(tag))
	case atom.Ul:
		p.text.openList(0)
	case atom.Ol:
		p.text.openList(1)
	case atom.Li:
		p.text.openItem()
	case atom.Table:
		p.text.openTable()
	case atom.Tr:
		p.text.openRow()
	case atom.Td, atom.Th:
		p.text.openCell()
	case atom.P, atom.Section, atom.Article:
		p.text.closeHeading() // not closed by its own end tag
	}
}

func (p *page) close(name string) {
	tag := atom.Lookup([]byte(name))
	if p.outline != nil {
		p.outline.close(tag, p.from, p.to)
		p.rawText = false
	}
	if name == "h1" {
		p.inHeading = false
	}
	if p.skipped != "" {
		if name == p.skipped {
			if p.depth--; p.depth == 0 {
				p.skipped, p.inTitle, p.inLinked = "", false, false
			}
		}
		return
	}
	if name == "pre" && p.pre > 0 {
		p.pre--
	}
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.text.closeHeading()
	case atom.Ul, atom.Ol:
		p.text.closeList()
	case atom.Table:
		p.text.closeTable()
	case atom.Tr:
		p.text.closeRow()
	case atom.Td, atom.Th:
		p.text.closeCell()
	}
	p.text.want(gapAround[name])
}

// rawTags are elements whose content the tokenizer returns as text.
var rawTags = tagSet(
	atom.Script, atom.Style, atom.Noscript, atom.Title, atom.Iframe, atom.Textarea, atom.Xmp, atom.Noframes,
	atom.Noembed, atom.Plaintext,
)

// attributes returns the attributes of the current tag. The first of two equal names wins.
func attributes(z *html.Tokenizer) map[string]string {
	out := make(map[string]string)
	for {
		key, value, more := z.TagAttr()
		if _, again := out[string(key)]; !again {
			out[string(key)] = string(value)
		}
		if !more || len(out) >= maxAttributes {
			return out
		}
	}
}

// skippedElements contain scripts, navigation and other content that is not the text of the page.
var skippedElements = map[string]bool{
	"script": true, "style": true, "template": true, "noscript": true, "title": true, "iframe": true,
	"nav": true, "header": true, "footer": true, "aside": true,
}

// gapAround maps block elements to the gap before and after them. Other elements are inline.
var gapAround = map[string]gap{
	"p": gapParagraph, "h1": gapParagraph, "h2": gapParagraph, "h3": gapParagraph, "h4": gapParagraph,
	"h5": gapParagraph, "h6": gapParagraph, "dl": gapParagraph,
	"blockquote": gapParagraph, "pre": gapParagraph, "figure": gapParagraph,
	"section": gapParagraph, "article": gapParagraph, "main": gapParagraph, "hr": gapParagraph,
	"body": gapParagraph, "head": gapParagraph, "header": gapParagraph, "footer": gapParagraph,
	"nav": gapParagraph, "aside": gapParagraph, "form": gapParagraph, "fieldset": gapParagraph,
	"details": gapParagraph,

	"div": gapLine, "br": gapLine, "dt": gapLine, "dd": gapLine,
	"caption": gapLine, "figcaption": gapLine, "address": gapLine, "summary": gapLine, "legend": gapLine,
	"option": gapLine,
}
