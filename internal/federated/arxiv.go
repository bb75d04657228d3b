package federated

import (
	"context"
	"encoding/xml"
	"net/url"
	"strconv"
	"strings"

	"carrel/internal/source"
)

// arXiv searches export.arxiv.org/api/query, which answers with an Atom feed.
func arXiv(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error) {
	terms := arXivQuery(q.Text)
	if terms == "" {
		return nil, nil
	}
	if q.bounded() {
		terms += " AND submittedDate:[" + yearOr(
			q.FromYear, firstYear,
		) + "01010000 TO " + yearOr(q.ToYear, lastYear) + "12312359]"
	}
	v := url.Values{
		"search_query": {terms}, "start": {strconv.Itoa(offset)}, "max_results": {strconv.Itoa(n)},
		"sortBy": {"relevance"}, "sortOrder": {"descending"},
	}
	var feed struct {
		XMLName xml.Name     `xml:"http://www.w3.org/2005/Atom feed"`
		Entries []arXivEntry `xml:"http://www.w3.org/2005/Atom entry"`
	}
	if err := c.getXML(ctx, request{path: "/api/query", query: v}, &feed); err != nil {
		return nil, err
	}
	out := make([]source.Document, 0, len(feed.Entries))
	for _, e := range feed.Entries {
		if strings.Contains(e.ID, "/api/errors") {
			return nil, statusError{status: 400} // the API reports errors as an entry of the feed
		}
		out = append(out, e.document())
	}
	return out, nil
}

// arXivQuery requires all words of a text, without the operators and punctuation of arXiv's query language.
func arXivQuery(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"()[]{}:+?!,;", r) })
	var terms []string
	for _, w := range words {
		switch strings.ToUpper(w) {
		case "AND", "OR", "ANDNOT", "NOT":
			continue
		}
		terms = append(terms, "all:"+w)
	}
	return strings.Join(terms, " AND ")
}

type arXivEntry struct {
	ID        string   `xml:"http://www.w3.org/2005/Atom id"`
	Title     string   `xml:"http://www.w3.org/2005/Atom title"`
	Summary   string   `xml:"http://www.w3.org/2005/Atom summary"`
	Published string   `xml:"http://www.w3.org/2005/Atom published"`
	Authors   []author `xml:"http://www.w3.org/2005/Atom author"`
	DOI       string   `xml:"http://arxiv.org/schemas/atom doi"`
	Journal   string   `xml:"http://arxiv.org/schemas/atom journal_ref"`
	Links     []struct {
		Href  string `xml:"href,attr"`
		Title string `xml:"title,attr"`
	} `xml:"http://www.w3.org/2005/Atom link"`
}

func (e arXivEntry) document() source.Document {
	d := source.Document{
		ExternalID: arXivID(e.ID), Title: plainText(e.Title), Text: plainText(e.Summary),
		Year: leadingYear(e.Published), PublishedAt: normalizeDate(e.Published),
		DOI: normalizeDOI(e.DOI), Venue: firstNonEmpty(plainText(e.Journal), "arXiv"), Type: "preprint",
		URL: strings.Replace(e.ID, "http://", "https://", 1),
	}
	d.Authors = authorNames(e.Authors)
	for _, l := range e.Links {
		if l.Title == "pdf" {
			d.OpenAccessURL = strings.Replace(l.Href, "http://", "https://", 1)
		}
	}
	return d
}

// arXivID returns the identifier without its version, so that all versions are one document.
func arXivID(address string) string {
	_, id, found := strings.Cut(address, "/abs/")
	if !found {
		return ""
	}
	if i := strings.LastIndexByte(id, 'v'); i > 0 {
		if _, err := strconv.Atoi(id[i+1:]); err == nil {
			id = id[:i]
		}
	}
	return id
}
