package format

import (
	"encoding/json"
	"strings"

	"carrel/internal/source"
)

const (
	// maxJSONLD limits a block of JSON-LD in bytes, maxLinkedNodes the objects that are examined.
	maxJSONLD      = 512 << 10
	maxLinkedNodes = 1000
)

// linkedKinds maps the types of schema.org that describe a document to document types. Types with an empty value have
// none.
var linkedKinds = map[string]string{
	"ScholarlyArticle": "article", "MedicalScholarlyArticle": "article", "Book": "book", "Chapter": "chapter",
	"Thesis": "thesis", "Report": "report", "Dataset": "dataset", "Article": "", "NewsArticle": "", "BlogPosting": "",
	"TechArticle": "", "OpinionNewsArticle": "", "AnalysisNewsArticle": "", "ReportageNewsArticle": "",
	"SocialMediaPosting": "", "LiveBlogPosting": "", "DiscussionForumPosting": "", "CreativeWork": "",
	"PublicationIssue": "", "DigitalDocument": "", "Review": "", "WebPage": "",
}

// linkedData returns the metadata in a block of JSON-LD: that of the first object which describes a document. Invalid
// blocks have none.
func linkedData(block string) (d source.Document, ok bool) {
	block = strings.TrimSpace(block)
	block = strings.TrimSuffix(strings.TrimPrefix(block, "<![CDATA["), "]]>")
	var root any
	if len(block) > maxJSONLD || json.Unmarshal([]byte(block), &root) != nil {
		return d, false
	}
	var page map[string]any
	queue := []any{root}
	for n := 0; len(queue) > 0 && n < maxLinkedNodes; n++ {
		v := queue[0]
		queue = queue[1:]
		switch v := v.(type) {
		case []any:
			queue = append(queue, v...)
		case map[string]any:
			kind, known := linkedKind(v)
			if known && kind != "WebPage" {
				return linkedDocument(v, linkedKinds[kind]), true
			}
			if known && page == nil {
				page = v
			}
			for _, key := range []string{"@graph", "mainEntity", "mainEntityOfPage"} {
				queue = append(queue, v[key])
			}
		}
	}
	if page == nil {
		return d, false
	}
	return linkedDocument(page, ""), true
}

func linkedKind(v map[string]any) (string, bool) {
	for _, kind := range linkedTexts(v["@type"]) {
		kind = strings.TrimPrefix(strings.TrimPrefix(kind, "https://schema.org/"), "http://schema.org/")
		if _, known := linkedKinds[kind]; known {
			return kind, true
		}
	}
	return "", false
}

func linkedDocument(v map[string]any, kind string) source.Document {
	d := source.Document{
		Title: oneLine(firstText(v["headline"], v["name"])), Type: kind,
		URL:      webAddress(firstText(v["url"], v["mainEntityOfPage"], v["@id"])),
		Venue:    oneLine(firstText(v["isPartOf"], v["publisher"])),
		Year:     yearOfDate(firstText(v["datePublished"], v["dateCreated"])),
		Language: oneLine(firstText(v["inLanguage"])),
	}
	for _, name := range append(linkedTexts(v["author"]), linkedTexts(v["creator"])...) {
		if webAddress(name) == "" && len(d.Authors) < maxNames {
			d.Authors = append(d.Authors, name)
		}
	}
	d.Authors = dedupe(cleanNames(d.Authors))
	for _, key := range []string{"identifier", "sameAs", "@id", "url"} {
		for _, id := range linkedTexts(v[key]) {
			d.DOI = firstOf(d.DOI, bareDOI(id))
		}
	}
	return d
}

func firstText(values ...any) string {
	for _, v := range values {
		if texts := linkedTexts(v); len(texts) > 0 {
			return texts[0]
		}
	}
	return ""
}

// linkedTexts returns the texts of a value: a string, an object with a name or a value, or a list of these.
func linkedTexts(v any) []string {
	var out []string
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	for _, item := range list {
		switch item := item.(type) {
		case string:
			out = append(out, item)
		case map[string]any:
			for _, key := range []string{"name", "value", "@value", "@id"} {
				if s, is := item[key].(string); is && s != "" {
					out = append(out, s)
					break
				}
			}
		}
	}
	return out
}

func dedupe(names []string) []string {
	seen := make(map[string]bool, len(names))
	out := names[:0]
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}
