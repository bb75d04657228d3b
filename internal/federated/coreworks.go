package federated

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"carrel/internal/source"
)

// coreWorks searches api.core.ac.uk/v3. The path ends with a slash, because the API redirects without it.
func coreWorks(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error) {
	terms := []string{"(" + q.Text + ")"}
	if q.FromYear != 0 {
		terms = append(terms, "yearPublished>="+strconv.Itoa(q.FromYear))
	}
	if q.ToYear != 0 {
		terms = append(terms, "yearPublished<="+strconv.Itoa(q.ToYear))
	}
	v := url.Values{"q": {strings.Join(terms, " AND ")}, "offset": {strconv.Itoa(offset)}, "limit": {strconv.Itoa(n)}}
	return fetchResults[coreWork](ctx, c, request{path: "/v3/search/works/", query: v, header: c.bearerHeader()})
}

type coreWork struct {
	ID        json.Number `json:"id"`
	DOI       string      `json:"doi"`
	Title     string      `json:"title"`
	Abstract  string      `json:"abstract"`
	Year      int         `json:"yearPublished"`
	Date      string      `json:"publishedDate"`
	Type      string      `json:"documentType"`
	CitedBy   *int        `json:"citationCount"`
	Download  string      `json:"downloadUrl"`
	Publisher string      `json:"publisher"`
	Authors   []author    `json:"authors"`
	Journals  []struct {
		Title string `json:"title"`
	} `json:"journals"`
	Links []struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	} `json:"links"`
}

func (w coreWork) document() source.Document {
	d := source.Document{
		ExternalID: w.ID.String(), Title: plainText(w.Title), Text: plainText(w.Abstract), Year: w.Year,
		PublishedAt: normalizeDate(w.Date), DOI: normalizeDOI(w.DOI),
		Type: w.Type, CitationCount: nonNegative(w.CitedBy), OpenAccessURL: w.Download, Venue: plainText(w.Publisher),
	}
	if d.Year == 0 {
		d.Year = leadingYear(w.Date)
	}
	if len(w.Journals) > 0 && w.Journals[0].Title != "" {
		d.Venue = plainText(w.Journals[0].Title)
	}
	d.Authors = authorNames(w.Authors)
	for _, l := range w.Links {
		if l.Type == "display" {
			d.URL = l.URL
		}
	}
	d.URL = firstNonEmpty(d.URL, doiURL(d.DOI), w.Download)
	return d
}
