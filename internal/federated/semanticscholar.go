package federated

import (
	"context"
	"net/url"
	"strconv"

	"carrel/internal/source"
)

// semanticScholar searches api.semanticscholar.org/graph/v1/paper/search.
func semanticScholar(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error) {
	v := url.Values{
		"query": {q.Text}, "offset": {strconv.Itoa(offset)}, "limit": {strconv.Itoa(n)},
		"fields": {
			"title,abstract,authors,year,venue,externalIds,url,citationCount,openAccessPdf,publicationDate,publicationTypes",
		},
	}
	if q.bounded() {
		v.Set("year", yearOrOpen(q.FromYear)+"-"+yearOrOpen(q.ToYear))
	}
	var reply struct {
		Total *int           `json:"total"`
		Data  []scholarPaper `json:"data"`
	}
	if err := c.getJSON(
		ctx, request{path: "/graph/v1/paper/search", query: v, header: c.keyHeader("X-Api-Key")}, &reply,
	); err != nil {
		return nil, err
	}
	if reply.Total != nil && reply.Data == nil {
		return nil, nil // a reply without hits has no list
	}
	return documents(reply.Data)
}

// yearOrOpen returns a bound, or "" for an open end of the range.
func yearOrOpen(y int) string {
	if y == 0 {
		return ""
	}
	return strconv.Itoa(y)
}

type scholarPaper struct {
	ID          string `json:"paperId"`
	Title       string `json:"title"`
	Abstract    string `json:"abstract"`
	Year        int    `json:"year"`
	Date        string `json:"publicationDate"`
	Venue       string `json:"venue"`
	URL         string `json:"url"`
	CitedBy     *int   `json:"citationCount"`
	ExternalIDs struct {
		DOI string `json:"DOI"`
	} `json:"externalIds"`
	OpenAccess *struct {
		URL string `json:"url"`
	} `json:"openAccessPdf"`
	Types   []string `json:"publicationTypes"`
	Authors []author `json:"authors"`
}

func (p scholarPaper) document() source.Document {
	d := source.Document{
		ExternalID: p.ID, Title: plainText(p.Title), Text: plainText(p.Abstract), Year: p.Year,
		PublishedAt: normalizeDate(p.Date), Venue: plainText(p.Venue),
		DOI: normalizeDOI(p.ExternalIDs.DOI), CitationCount: nonNegative(p.CitedBy), Type: firstNonEmpty(p.Types...),
	}
	d.URL = firstNonEmpty(p.URL, doiURL(d.DOI))
	d.Authors = authorNames(p.Authors)
	if p.OpenAccess != nil {
		d.OpenAccessURL = p.OpenAccess.URL
	}
	return d
}
