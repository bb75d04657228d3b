package federated

import (
	"context"
	"net/url"
	"strconv"

	"carrel/internal/source"
)

// europePMC searches www.ebi.ac.uk/europepmc. The API pages with cursors, but its first page holds as many results as
// we ever request.
func europePMC(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error) {
	if offset > 0 {
		return nil, nil
	}
	terms := q.Text
	if q.bounded() {
		terms = "(" + terms + ") AND (PUB_YEAR:[" + yearOr(
			q.FromYear, firstYear,
		) + " TO " + yearOr(q.ToYear, lastYear) + "])"
	}
	v := url.Values{"query": {terms}, "format": {"json"}, "resultType": {"core"}, "pageSize": {strconv.Itoa(n)}}
	if c.options.Contact != "" {
		v.Set("email", c.options.Contact)
	}
	var reply struct {
		List struct {
			Results []europePMCResult `json:"result"`
		} `json:"resultList"`
	}
	if err := c.getJSON(ctx, request{path: "/europepmc/webservices/rest/search", query: v}, &reply); err != nil {
		return nil, err
	}
	return documents(reply.List.Results)
}

type europePMCResult struct {
	ID       string `json:"id"`
	Source   string `json:"source"`
	DOI      string `json:"doi"`
	Title    string `json:"title"`
	Abstract string `json:"abstractText"`
	Year     string `json:"pubYear"`
	Date     string `json:"firstPublicationDate"`
	CitedBy  *int   `json:"citedByCount"`
	Journal  struct {
		Journal struct {
			Title string `json:"title"`
		} `json:"journal"`
	} `json:"journalInfo"`
	Authors struct {
		List []struct {
			Name       string `json:"fullName"`
			First      string `json:"firstName"`
			Last       string `json:"lastName"`
			Collective string `json:"collectiveName"`
		} `json:"author"`
	} `json:"authorList"`
	Types struct {
		List []string `json:"pubType"`
	} `json:"pubTypeList"`
	FullText struct {
		List []struct {
			Availability string `json:"availabilityCode"`
			URL          string `json:"url"`
		} `json:"fullTextUrl"`
	} `json:"fullTextUrlList"`
}

func (r europePMCResult) document() source.Document {
	d := source.Document{
		ExternalID: r.Source + ":" + r.ID, Title: plainText(r.Title), Text: plainText(r.Abstract),
		Year: leadingYear(r.Year), PublishedAt: normalizeDate(r.Date),
		DOI: normalizeDOI(r.DOI), Venue: plainText(r.Journal.Journal.Title), CitationCount: nonNegative(r.CitedBy),
		Type: firstNonEmpty(r.Types.List...),
		URL:  "https://europepmc.org/article/" + r.Source + "/" + r.ID,
	}
	if r.ID == "" {
		d.ExternalID = ""
	}
	var authors []string
	for _, a := range r.Authors.List {
		name := a.Name
		if a.First != "" {
			name = a.First + " " + a.Last
		}
		authors = append(authors, firstNonEmpty(name, a.Collective))
	}
	d.Authors = cleanNames(authors)
	for _, f := range r.FullText.List {
		if f.Availability == "OA" || f.Availability == "F" {
			d.OpenAccessURL = f.URL
			break
		}
	}
	return d
}
