package format

import (
	"strings"

	"carrel/internal/source"
)

// reference is a bibliography entry of any format.
type reference struct {
	id, title, abstract, url, doi, venue, kind, date, language string
	authors, keywords                                          []string
	year                                                       int
}

// document converts a reference. Its text is its abstract.
func (r reference) document() source.Document {
	d := source.Document{
		ExternalID: r.id, Title: oneLine(r.title), Text: strings.TrimSpace(r.abstract), URL: webAddress(r.url),
		DOI:   bareDOI(r.doi),
		Venue: oneLine(r.venue), Type: r.kind, Authors: cleanNames(r.authors), Year: r.year,
		Language: oneLine(r.language),
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

var nameSuffixes = map[string]bool{
	"Jr": true, "jr": true, "Sr": true, "sr": true, "I": true, "II": true, "III": true, "IV": true,
}

// turnName converts "Lovelace, Ada" to "Ada Lovelace". A third part is a suffix such as "Jr."
func turnName(s string) string {
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	switch len(parts) {
	case 2:
		return strings.TrimSpace(parts[1] + " " + parts[0])
	case 3: // von Last, Jr, First in BibTeX; Last, First, Jr in RIS
		if nameSuffixes[strings.TrimSuffix(parts[1], ".")] {
			return strings.TrimSpace(parts[2] + " " + parts[0] + " " + parts[1])
		}
		return strings.TrimSpace(parts[1] + " " + parts[0] + " " + parts[2])
	}
	return strings.TrimSpace(s)
}

// referenceKinds maps entry types of BibTeX, RIS and CSL to document types.
var referenceKinds = map[string]string{
	"article": "article", "jour": "article", "article-journal": "article", "journalarticle": "article",
	"inproceedings": "conference-paper", "conference": "conference-paper", "conf": "conference-paper",
	"cpaper":           "conference-paper",
	"paper-conference": "conference-paper", "book": "book", "incollection": "chapter", "inbook": "chapter",
	"chap":    "chapter",
	"chapter": "chapter", "phdthesis": "thesis", "mastersthesis": "thesis", "thes": "thesis", "thesis": "thesis",
	"techreport": "report", "rprt": "report", "report": "report", "unpublished": "preprint", "unpb": "preprint",
	"online": "web", "elec": "web", "webpage": "web", "dataset": "dataset", "data": "dataset", "pat": "patent",
	"patent": "patent",
}

func kindOfReference(s string) string { return referenceKinds[strings.ToLower(strings.TrimSpace(s))] }
