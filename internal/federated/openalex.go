package federated

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"carrel/internal/source"
)

// openAlex searches api.openalex.org/works. The API accepts its key only as a query parameter.
func openAlex(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error) {
	v := url.Values{"search": {q.Text}, "per-page": {strconv.Itoa(n)}, "page": {strconv.Itoa(offset/n + 1)}}
	if q.bounded() {
		v.Set("filter", "publication_year:"+yearOr(q.FromYear, firstYear)+"-"+yearOr(q.ToYear, lastYear))
	}
	if c.settings.Key != "" {
		v.Set("api_key", c.settings.Key)
	}
	if c.options.Contact != "" {
		v.Set("mailto", c.options.Contact)
	}
	return fetchResults[openAlexWork](ctx, c, request{path: "/works", query: v})
}

type openAlexWork struct {
	ID              string           `json:"id"`
	DOI             string           `json:"doi"`
	Title           string           `json:"display_name"`
	Year            int              `json:"publication_year"`
	Date            string           `json:"publication_date"`
	Type            string           `json:"type"`
	CitedBy         *int             `json:"cited_by_count"`
	Abstract        map[string][]int `json:"abstract_inverted_index"`
	PrimaryLocation *struct {
		LandingPage string `json:"landing_page_url"`
		Source      *struct {
			Name string `json:"display_name"`
		} `json:"source"`
	} `json:"primary_location"`
	OpenAccess struct {
		URL string `json:"oa_url"`
	} `json:"open_access"`
	Authorships []struct {
		Author struct {
			Name string `json:"display_name"`
		} `json:"author"`
	} `json:"authorships"`
}

func (w openAlexWork) document() source.Document {
	d := source.Document{
		ExternalID: strings.TrimPrefix(w.ID, "https://openalex.org/"), Title: plainText(w.Title),
		Text: plainText(textFromInvertedIndex(w.Abstract)),
		Year: w.Year, DOI: normalizeDOI(w.DOI), Type: w.Type, PublishedAt: normalizeDate(w.Date),
		CitationCount: nonNegative(w.CitedBy), OpenAccessURL: w.OpenAccess.URL,
	}
	var authors []string
	for _, a := range w.Authorships {
		authors = append(authors, a.Author.Name)
	}
	d.Authors = cleanNames(authors)
	if l := w.PrimaryLocation; l != nil {
		d.URL = l.LandingPage
		if l.Source != nil {
			d.Venue = plainText(l.Source.Name)
		}
	}
	d.URL = firstNonEmpty(d.URL, doiURL(d.DOI), w.ID)
	return d
}

// maxAbstractWords limits an abstract, because a hostile inverted index may contain any position.
const maxAbstractWords = 20_000

// textFromInvertedIndex rebuilds an abstract from the positions of its words.
func textFromInvertedIndex(index map[string][]int) string {
	last := -1
	for _, places := range index {
		for _, p := range places {
			if p >= 0 && p < maxAbstractWords {
				last = max(last, p)
			}
		}
	}
	words := make([]string, last+1)
	for word, places := range index {
		for _, p := range places {
			if p >= 0 && p < len(words) {
				words[p] = word
			}
		}
	}
	return strings.Join(words, " ")
}
