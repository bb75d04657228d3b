package federated

import (
	"context"
	"net/url"
	"strconv"

	"carrel/internal/source"
)

// crossref searches api.crossref.org/works.
func crossref(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error) {
	v := url.Values{"query.bibliographic": {q.Text}, "rows": {strconv.Itoa(n)}, "offset": {strconv.Itoa(offset)}}
	filter := ""
	if q.FromYear != 0 {
		filter = "from-pub-date:" + strconv.Itoa(q.FromYear)
	}
	if q.ToYear != 0 {
		if filter != "" {
			filter += ","
		}
		filter += "until-pub-date:" + strconv.Itoa(q.ToYear)
	}
	if filter != "" {
		v.Set("filter", filter)
	}
	if c.options.Contact != "" {
		v.Set("mailto", c.options.Contact)
	}
	var reply struct {
		Message struct {
			Items []crossrefWork `json:"items"`
		} `json:"message"`
	}
	if err := c.getJSON(ctx, request{path: "/works", query: v}, &reply); err != nil {
		return nil, err
	}
	return documents(reply.Message.Items)
}

type crossrefWork struct {
	DOI       string   `json:"DOI"`
	URL       string   `json:"URL"`
	Title     []string `json:"title"`
	Container []string `json:"container-title"`
	Abstract  string   `json:"abstract"`
	Type      string   `json:"type"`
	CitedBy   *int     `json:"is-referenced-by-count"`
	Issued    struct {
		Parts [][]*int `json:"date-parts"`
	} `json:"issued"`
	Author []struct {
		Given  string `json:"given"`
		Family string `json:"family"`
		Name   string `json:"name"`
	} `json:"author"`
}

func (w crossrefWork) document() source.Document {
	id := normalizeDOI(w.DOI)
	d := source.Document{
		ExternalID: id, DOI: id, Title: plainText(firstNonEmpty(w.Title...)),
		Venue: plainText(firstNonEmpty(w.Container...)), Text: plainText(w.Abstract),
		Type: w.Type, CitationCount: nonNegative(w.CitedBy), URL: firstNonEmpty(w.URL, doiURL(id)),
	}
	var authors []string
	for _, a := range w.Author {
		authors = append(authors, firstNonEmpty(a.Name, a.Given+" "+a.Family))
	}
	d.Authors = cleanNames(authors)
	var parts [3]int
	if len(w.Issued.Parts) > 0 { // a second date is the end of a range
		for i, part := range w.Issued.Parts[0] {
			if part != nil && i < len(parts) {
				parts[i] = *part
			}
		}
	}
	d.Year, d.PublishedAt = max(0, parts[0]), joinDate(parts[0], parts[1], parts[2])
	return d
}
