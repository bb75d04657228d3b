package ingest

import (
	"encoding/xml"
	"net/url"
	"path"
	"strings"
)

// maxChapters is how many parts of a book are read.
const maxChapters = 5000

// parseEPUB makes a document of a book. Its chapters come in the order in which it says they are read.
func parseEPUB(name string, data []byte) (Document, error) {
	o, err := openOffice(data)
	if err != nil {
		return Document{}, err
	}
	container, err := o.part("META-INF/container.xml")
	if err != nil {
		return Document{}, err
	}
	var opf string
	if err := eachToken(container, func(t xml.Token) {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "rootfile" && opf == "" {
			opf = attribute(e, "full-path")
		}
	}); err != nil {
		return Document{}, err
	}
	pack, err := o.part(opf)
	if err != nil {
		return Document{}, err
	}
	if opf == "" || pack == nil {
		return Document{}, fault("holds no book")
	}
	chapters, err := spine(pack, path.Dir(opf))
	if err != nil {
		return Document{}, err
	}
	var text flow
	for _, chapter := range chapters {
		page, err := o.part(chapter)
		if err != nil {
			return Document{}, err
		}
		source, err := decodeText(page)
		if err != nil {
			continue // a chapter in an encoding of its own: the others are still worth having
		}
		text.want(gapParagraph)
		text.verbatim(readPage(source).text.String())
		text.want(gapParagraph)
	}
	dc := readDublinCore(pack)
	d := Document{Text: text.String(), Type: "book", Venue: oneLine(dc.first("publisher")), Year: yearOfDate(dc.first("date"))}
	d.Title = oneLine(firstOf(dc.first("title"), titleLine(d.Text), stem(name)))
	d.Authors = cleanNames(dc["creator"])
	for _, id := range dc["identifier"] {
		d.DOI = firstOf(d.DOI, bareDOI(id))
	}
	return d, nil
}

// spine returns the parts of a book in the order of reading.
func spine(pack []byte, dir string) ([]string, error) {
	hrefs := map[string]string{}
	var order []string
	err := eachToken(pack, func(t xml.Token) {
		e, ok := t.(xml.StartElement)
		if !ok {
			return
		}
		switch e.Name.Local {
		case "item":
			if strings.Contains(attribute(e, "media-type"), "html") {
				hrefs[attribute(e, "id")] = attribute(e, "href")
			}
		case "itemref":
			order = append(order, attribute(e, "idref"))
		}
	})
	if err != nil {
		return nil, err
	}
	var out []string
	seen := map[string]bool{}
	for _, id := range order[:min(len(order), maxChapters)] {
		href, ok := hrefs[id]
		if !ok || seen[id] {
			continue
		}
		seen[id] = true
		if plain, err := url.PathUnescape(href); err == nil {
			href = plain
		}
		out = append(out, path.Join(dir, href))
	}
	return out, nil
}
