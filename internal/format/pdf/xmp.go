package pdf

import (
	"html"
	"strings"
)

// maxXMP is the number of bytes of an XMP packet that are read; packets with thumbnails are longer.
const (
	maxXMP      = 1 << 20
	maxXMPValue = 2000
	maxCreators = 1000
	maxDOI      = 300
)

// addXMP adds the metadata of an XMP packet (ISO 16684-1). Titles and dates of the information dictionary stay, because
// programs that change a file often leave one of the two behind.
func (t *Text) addXMP(packet string) {
	first := func(tags ...string) string {
		for _, tag := range tags {
			if values := xmpValues(packet, tag, 1); len(values) > 0 {
				return values[0]
			}
		}
		return ""
	}
	if t.DOI == "" {
		for _, tag := range []string{"prism:doi", "pdfx:doi", "dc:identifier"} {
			if value := first(tag); strings.Contains(value, "10.") && len(value) < maxDOI {
				t.DOI = value
				break
			}
		}
	}
	if t.Title == "" {
		t.Title = first("dc:title")
	}
	if t.Created == "" {
		t.Created = first("xmp:CreateDate", "xap:CreateDate")
	}
	t.Authors = xmpValues(packet, "dc:creator", maxCreators)
	t.Language = first("dc:language")
	t.Published = first("prism:publicationDate", "prism:coverDate")
}

// xmpValues returns the values of a property: its text, its attribute, or the items of its list.
func xmpValues(packet, tag string, most int) []string {
	if _, after, found := strings.Cut(packet, " "+tag+"=\""); found {
		if value, _, closed := strings.Cut(after, "\""); closed && len(value) < maxXMPValue {
			return []string{xmpText(value)}
		}
	}
	_, after, found := strings.Cut(packet, "<"+tag)
	_, body, opened := strings.Cut(after, ">")
	if !found || !opened {
		return nil
	}
	if inside, _, closed := strings.Cut(body, "</"+tag+">"); closed {
		body = inside
	} else {
		body, _, _ = strings.Cut(body, "<")
	}
	if !strings.Contains(body, "<rdf:li") {
		if text := xmpText(body); text != "" && !strings.Contains(body, "<") && len(body) < maxXMPValue {
			return []string{text}
		}
		return nil
	}
	var out []string
	for len(out) < most {
		_, item, found := strings.Cut(body, "<rdf:li")
		if !found {
			break
		}
		_, item, _ = strings.Cut(item, ">")
		value, rest, closed := strings.Cut(item, "<")
		if !closed {
			break
		}
		if text := xmpText(value); text != "" && len(value) < maxXMPValue {
			out = append(out, text)
		}
		body = rest
	}
	return out
}

func xmpText(s string) string {
	return strings.TrimSpace(clean(html.UnescapeString(strings.ToValidUTF8(s, ""))))
}
