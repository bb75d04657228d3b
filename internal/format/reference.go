package format

import (
	"strings"

	"carrel/internal/source"
)

// reference is an entry of a bibliography, whatever it was written in.
type reference struct {
	id, title, abstract, url, doi, venue, kind, date string
	authors, keywords                                []string
	year                                             int
}

// document makes a document of a reference. Its text is its abstract: there is nothing else to read.
func (r reference) document() source.Document {
	d := source.Document{
		ExternalID: r.id, Title: oneLine(r.title), Text: strings.TrimSpace(r.abstract), URL: webAddress(r.url), DOI: bareDOI(r.doi),
		Venue: oneLine(r.venue), Type: r.kind, Authors: cleanNames(r.authors), Year: r.year,
	}
	if isDate(r.date) {
		d.PublishedAt = r.date
	}
	if d.Year == 0 {
		d.Year = yearOfDate(r.date)
	}
	if d.DOI == "" {
		d.DOI = bareDOI(r.url)
	}
	if len(r.keywords) > 0 {
		d.Text = strings.TrimSpace(d.Text + "\n\nKeywords: " + strings.Join(cleanNames(r.keywords), ", "))
	}
	return d
}

// turnName writes "Lovelace, Ada" as "Ada Lovelace". A part after a second comma is a "Jr."
func turnName(s string) string {
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	switch len(parts) {
	case 2:
		return strings.TrimSpace(parts[1] + " " + parts[0])
	case 3: // von Last, Jr, First in BibTeX; Last, First, Jr in RIS
		if strings.HasSuffix(parts[1], ".") && len(parts[1]) <= 4 {
			return strings.TrimSpace(parts[2] + " " + parts[0] + " " + parts[1])
		}
		return strings.TrimSpace(parts[1] + " " + parts[0] + " " + parts[2])
	}
	return strings.TrimSpace(s)
}

// referenceKinds are the names of kinds in BibTeX, RIS and CSL as documents have them.
var referenceKinds = map[string]string{
	"article": "article", "jour": "article", "article-journal": "article", "journalarticle": "article",
	"inproceedings": "conference-paper", "conference": "conference-paper", "conf": "conference-paper", "cpaper": "conference-paper",
	"paper-conference": "conference-paper", "book": "book", "incollection": "chapter", "inbook": "chapter", "chap": "chapter",
	"chapter": "chapter", "phdthesis": "thesis", "mastersthesis": "thesis", "thes": "thesis", "thesis": "thesis",
	"techreport": "report", "rprt": "report", "report": "report", "unpublished": "preprint", "unpb": "preprint",
	"online": "web", "elec": "web", "webpage": "web", "dataset": "dataset", "data": "dataset", "pat": "patent", "patent": "patent",
}

// kindOfReference returns the document's type for a kind of entry.
func kindOfReference(s string) string { return referenceKinds[strings.ToLower(strings.TrimSpace(s))] }
