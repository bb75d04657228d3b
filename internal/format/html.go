package format

import (
	"errors"
	"strings"

	"golang.org/x/net/html"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// parseHTML reads a web page.
func parseHTML(b *budget.Budget, name string, data []byte) (source.Document, error) {
	b.Hold(2 * len(data)) // the text, with and without embedded images
	content, err := decodeText(data)
	if err != nil {
		return source.Document{}, err
	}
	p := readPage(b, dropEmbedded(content))
	d := p.meta.document()
	d.Title = oneLine(firstOf(d.Title, p.title.String(), p.heading.String(), stem(name)))
	d.Text = p.text.String()
	return d, nil
}

// page collects the text and metadata of a web page.
type page struct {
	meta pageMeta
	// title is the text of <title>, heading of the first <h1>.
	title, heading, text flow

	inTitle, inHeading bool
	// pre is the number of open <pre> elements.
	pre int
	// skipped is the element whose content is dropped, depth the number of open elements with that name.
	skipped string
	depth   int
}

// maxHeading ends a heading that is not closed.
const maxHeading = 1000

const (
	// maxToken limits a tag or text token. The tokenizer allocates 32 bytes for each attribute.
	maxToken = 1 << 20
	// paidAtOnce is the number of bytes charged to the budget at once.
	paidAtOnce = 4096
	// maxAttributes limits the attributes that are read of a tag.
	maxAttributes = 50
)

// readPage processes the tokens of a page without building a tree, so that nesting is free and time and memory are
// proportional to the length, which the tree builder does not guarantee.
func readPage(b *budget.Budget, content string) *page {
	p := &page{meta: make(pageMeta)}
	for content != "" {
		content = content[p.readTokens(b, content):]
	}
	return p
}

// readTokens reads up to the end or to a token that is too long, and returns how many bytes it read. The tokenizer
// stops after such a token, and a new one continues there.
func (p *page) readTokens(b *budget.Budget, content string) (read int) {
	z := html.NewTokenizer(strings.NewReader(content))
	z.SetMaxBuf(maxToken)
	for paid := 0; ; {
		kind := z.Next()
		if kind == html.ErrorToken && errors.Is(z.Err(), html.ErrBufferExceeded) {
			return max(read, 1)
		}
		if read += len(z.Raw()); read >= paid {
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
	switch {
	case p.inTitle:
		p.title.words(s)
	case p.skipped != "":
	case p.pre > 0:
		p.text.verbatim(s)
	default:
		p.text.words(s)
	}
}

func (p *page) open(name string, z *html.Tokenizer, hasAttrs bool) {
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
		p.inTitle = name == "title" && p.title.b.Len() == 0
	case name == "meta" && hasAttrs:
		p.meta.addMeta(attributes(z))
	case name == "link" && hasAttrs:
		p.meta.addLink(attributes(z))
	case name == "pre":
		p.pre++
	}
	p.text.want(gapAround[name])
}

func (p *page) close(name string) {
	if name == "h1" {
		p.inHeading = false
	}
	if p.skipped != "" {
		if name == p.skipped {
			if p.depth--; p.depth == 0 {
				p.skipped, p.inTitle = "", false
			}
		}
		return
	}
	if name == "pre" && p.pre > 0 {
		p.pre--
	}
	p.text.want(gapAround[name])
}

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
	"h5": gapParagraph, "h6": gapParagraph, "ul": gapParagraph, "ol": gapParagraph, "dl": gapParagraph,
	"blockquote": gapParagraph, "pre": gapParagraph, "table": gapParagraph, "figure": gapParagraph,
	"section": gapParagraph, "article": gapParagraph, "main": gapParagraph, "hr": gapParagraph,
	"body": gapParagraph, "head": gapParagraph, "header": gapParagraph, "footer": gapParagraph,
	"nav": gapParagraph, "aside": gapParagraph, "form": gapParagraph, "fieldset": gapParagraph,
	"details": gapParagraph,

	"div": gapLine, "br": gapLine, "li": gapLine, "dt": gapLine, "dd": gapLine, "tr": gapLine,
	"caption": gapLine, "figcaption": gapLine, "address": gapLine, "summary": gapLine, "legend": gapLine,
	"option": gapLine, "thead": gapLine, "tbody": gapLine, "tfoot": gapLine,

	"td": gapCell, "th": gapCell,
}
