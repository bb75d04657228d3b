package federated

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"carrel/internal/source"
)

// wikipedia searches one edition and returns the introductions of articles. Articles have no year, so a bounded query
// has no results.
func wikipedia(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error) {
	v := url.Values{
		"action": {"query"}, "format": {"json"}, "formatversion": {"2"}, "maxlag": {"5"},
		"generator": {"search"}, "gsrsearch": {q.Text}, "gsrlimit": {strconv.Itoa(n)},
		"gsroffset": {strconv.Itoa(offset)}, "gsrnamespace": {"0"},
		"prop": {"extracts|info"}, "exintro": {"1"}, "explaintext": {"1"}, "exlimit": {"max"}, "inprop": {"url"},
	}
	var reply struct {
		Error *struct {
			Code string `json:"code"`
		} `json:"error"`
		Complete *bool `json:"batchcomplete"`
		Query    struct {
			Pages []wikipediaPage `json:"pages"`
		} `json:"query"`
	}
	if err := c.getJSON(ctx, request{path: "/w/api.php", query: v}, &reply); err != nil {
		return nil, err
	}
	if reply.Error != nil {
		// Errors have status 200.
		if reply.Error.Code == "maxlag" || reply.Error.Code == "ratelimited" {
			return nil, statusError{status: 429}
		}
		return nil, statusError{status: 400}
	}
	if reply.Complete == nil && reply.Query.Pages == nil { // a reply without hits has no pages
		return nil, errUnexpected
	}
	slices.SortFunc(reply.Query.Pages, func(a, b wikipediaPage) int { return a.Index - b.Index })
	out := make([]source.Document, len(reply.Query.Pages))
	for i, p := range reply.Query.Pages {
		out[i] = source.Document{
			ExternalID: c.language + ":" + strconv.Itoa(p.ID), Title: plainText(p.Title), Text: p.Extract, URL: p.URL,
			Type: "encyclopedia-article", Venue: "Wikipedia",
		}
	}
	return out, nil
}

type wikipediaPage struct {
	ID      int    `json:"pageid"`
	Index   int    `json:"index"`
	Title   string `json:"title"`
	Extract string `json:"extract"`
	URL     string `json:"fullurl"`
}
