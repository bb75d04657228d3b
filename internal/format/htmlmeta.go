package format

import (
	"strings"

	"carrel/internal/source"
)

// pageMeta holds the metadata in the head of a page: values by lower-case name.
type pageMeta map[string][]string

const (
	canonicalLink = "canonical"
	// pageLanguage is the lang attribute of the html element.
	pageLanguage = "lang"
)

// addMeta adds a <meta> element.
func (m pageMeta) addMeta(attrs map[string]string) {
	name := strings.ToLower(strings.TrimSpace(firstOf(attrs["name"], attrs["property"], attrs["itemprop"])))
	// Dublin Core occurs with two prefixes, and with a colon or a dot.
	name = strings.Replace(name, "dcterms", "dc", 1)
	if strings.HasPrefix(name, "dc:") {
		name = "dc." + name[len("dc:"):]
	}
	if value := strings.TrimSpace(attrs["content"]); name != "" && value != "" {
		m[name] = append(m[name], value)
	}
}

// addLink adds a <link> element.
func (m pageMeta) addLink(attrs map[string]string) {
	if strings.EqualFold(strings.TrimSpace(attrs["rel"]), "canonical") {
		m[canonicalLink] = append(m[canonicalLink], attrs["href"])
	}
}

// The names of each field, most reliable first: scholarly metadata of publishers (citation_), Dublin Core, social
// networks, and names chosen by hand.
var (
	metaTitle  = []string{"citation_title", "dc.title", "og:title"}
	metaAuthor = []string{"citation_author", "citation_authors", "dc.creator", "author", "article:author"}
	metaDate   = []string{
		"citation_publication_date", "citation_date", "citation_year", "dc.issued", "dc.date.issued", "dc.date",
		"article:published_time", "datepublished", "date",
	}
	metaDOI      = []string{"citation_doi", "dc.identifier", "dc.identifier.doi", "doi"}
	metaURL      = []string{canonicalLink, "og:url", "citation_abstract_html_url", "citation_public_url"}
	metaVenue    = []string{"citation_journal_title", "citation_conference_title", "dc.source"}
	metaType     = []string{"dc.type"}
	metaLanguage = []string{"citation_language", "dc.language", pageLanguage}
)

// document returns the metadata of the page.
func (m pageMeta) document() source.Document {
	d := source.Document{
		Title:    m.first(metaTitle, oneLine),
		URL:      m.first(metaURL, webAddress),
		DOI:      m.first(metaDOI, bareDOI),
		Venue:    m.first(metaVenue, oneLine),
		Type:     m.first(metaType, oneLine),
		Language: m.first(metaLanguage, oneLine),
	}
	for _, name := range metaDate {
		for _, v := range m[name] {
			if d.Year == 0 {
				d.Year = yearOfDate(v)
			}
		}
	}
	for _, name := range metaAuthor {
		if d.Authors = m.authors(name); len(d.Authors) > 0 {
			break
		}
	}
	return d
}

// first returns the first value that use accepts.
func (m pageMeta) first(names []string, use func(string) string) string {
	for _, name := range names {
		for _, v := range m[name] {
			if s := use(v); s != "" {
				return s
			}
		}
	}
	return ""
}

// authors returns the authors under a name, without addresses of profiles.
func (m pageMeta) authors(name string) []string {
	var out []string
	for _, v := range m[name] {
		if webAddress(v) == "" {
			out = append(out, splitNames(v)...)
		}
	}
	return out
}
