package format

import (
	"encoding/xml"
	"net/url"
	"path"
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// maxChapters limits the chapters that are read.
const maxChapters = 5000

// parseEPUB reads a book, with its chapters in the order of the spine.
func parseEPUB(b *budget.Budget, name string, data []byte) (source.Document, error) {
	o, leave, err := openOffice(b, data)
	if err != nil {
		return source.Document{}, err
	}
	defer leave()
	var opf string
	if _, err := o.tokens("META-INF/container.xml", func(t xml.Token) {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "rootfile" && opf == "" {
			opf = attribute(e, "full-path")
		}
	}); err != nil {
		return source.Document{}, err
	}
	chapters, dc, err := spine(o, opf)
	if err != nil {
		return source.Document{}, err
	}
	var text flow
	for _, chapter := range chapters {
		if err := readChapter(o, chapter, &text); err != nil {
			return source.Document{}, err
		}
		if text.b.Len() > maxText {
			break // the document exceeds the limit and is rejected
		}
	}
	d := source.Document{
		Text: text.String(), Type: "book", Venue: oneLine(dc.first("publisher")), Year: yearOfDate(dc.first("date")),
		Language: oneLine(dc.first("language")),
	}
	d.Title = oneLine(firstOf(dc.first("title"), titleLine(d.Text), stem(name)))
	d.Authors = cleanNames(dc["creator"])
	for _, id := range dc["identifier"] {
		d.DOI = firstOf(d.DOI, bareDOI(id))
	}
	return d, nil
}

func readChapter(o *office, name string, text *flow) error {
	page, err := o.page(name)
	if err != nil {
		return err
	}
	defer o.b.Release(cap(page))
	o.b.Hold(len(page)) // for the string
	defer o.b.Release(len(page))
	content, err := decodePage(page)
	if err != nil {
		return nil // a chapter in an unknown encoding is skipped
	}
	text.want(gapParagraph)
	text.verbatim(readPage(o.b, content).text.String())
	text.want(gapParagraph)
	return nil
}

// maxItems limits the items of the manifest.
const maxItems = 20_000

// spine returns the chapters in reading order, and the metadata.
func spine(o *office, opf string) ([]string, dublinCore, error) {
	hrefs := map[string]string{}
	var order []string
	core := coreReader{values: dublinCore{}}
	found, err := o.tokens(opf, func(t xml.Token) {
		core.visit(t)
		e, ok := t.(xml.StartElement)
		if !ok {
			return
		}
		switch e.Name.Local {
		case "item":
			if id, href := attribute(e, "id"), attribute(e, "href"); strings.Contains(
				attribute(e, "media-type"), "html",
			) &&
				len(hrefs) < maxItems && len(id)+len(href) < maxURL {
				hrefs[id] = href
			}
		case "itemref":
			if id := attribute(e, "idref"); len(order) < maxChapters && len(id) < maxURL {
				order = append(order, id)
			}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	if !found {
		return nil, nil, fault("holds no book")
	}
	var out []string
	seen := map[string]bool{}
	for _, id := range order {
		href, ok := hrefs[id]
		if !ok || seen[href] {
			continue
		}
		seen[href] = true
		if plain, err := url.PathUnescape(href); err == nil {
			href = plain
		}
		out = append(out, path.Join(path.Dir(opf), href))
	}
	return out, core.values, nil
}
