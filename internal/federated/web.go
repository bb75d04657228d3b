package federated

import (
	"context"
	"net/url"
	"strconv"

	"carrel/internal/source"
)

// page is a result of a search engine of the web.
type page struct {
	id, title, url, text, date, author string
}

// documents makes documents of pages. Their address is what they are known by, unless there is something better.
func documents(pages []page) []source.Document {
	out := make([]source.Document, len(pages))
	for i, p := range pages {
		out[i] = source.Document{
			ExternalID: first(p.id, p.url), Title: first(plain(p.title), p.url), Text: plain(p.text), URL: p.url, Type: "webpage",
			PublishedAt: date(p.date), Year: year(date(p.date)), Authors: names([]string{p.author}),
		}
	}
	return out
}

// searXNG searches a server of one's own, which must have the format json switched on. Its pages are as long as its
// engines make them, and it knows no bounds.
func searXNG(ctx context.Context, c *caller, q Query, offset, n int) ([]source.Document, error) {
	v := url.Values{"q": {q.Text}, "format": {"json"}, "pageno": {strconv.Itoa(offset/n + 1)}}
	if c.settings.Language != "" {
		v.Set("language", c.settings.Language)
	}
	var reply struct {
		Results []struct {
			URL       string `json:"url"`
			Title     string `json:"title"`
			Content   string `json:"content"`
			Published string `json:"publishedDate"`
		} `json:"results"`
	}
	if err := c.getJSON(ctx, request{path: "/search", query: v}, &reply); err != nil {
		return nil, err
	}
	if reply.Results == nil {
		return nil, errUnexpected
	}
	pages := make([]page, len(reply.Results))
	for i, r := range reply.Results {
		pages[i] = page{title: r.Title, url: r.URL, text: r.Content, date: r.Published}
	}
	return documents(pages), nil
}

// brave searches api.search.brave.com.
func brave(ctx context.Context, c *caller, q Query, offset, n int) ([]source.Document, error) {
	v := url.Values{"q": {q.Text}, "count": {strconv.Itoa(n)}, "offset": {strconv.Itoa(offset / n)}, "text_decorations": {"false"}}
	if q.bounded() {
		v.Set("freshness", yearOr(q.FromYear, firstYear)+"-01-01to"+yearOr(q.ToYear, lastYear)+"-12-31")
	}
	var reply struct {
		Type string `json:"type"`
		Web  struct {
			Results []struct {
				URL         string   `json:"url"`
				Title       string   `json:"title"`
				Description string   `json:"description"`
				Age         string   `json:"page_age"`
				Extra       []string `json:"extra_snippets"`
			} `json:"results"`
		} `json:"web"`
	}
	if err := c.getJSON(ctx, request{path: "/res/v1/web/search", query: v, header: c.keyIn("X-Subscription-Token")}, &reply); err != nil {
		return nil, err
	}
	if reply.Type == "" && reply.Web.Results == nil { // without a hit there is no list
		return nil, errUnexpected
	}
	pages := make([]page, len(reply.Web.Results))
	for i, r := range reply.Web.Results {
		text := r.Description
		for _, more := range r.Extra {
			text += " " + more
		}
		pages[i] = page{title: r.Title, url: r.URL, text: text, date: r.Age}
	}
	return documents(pages), nil
}

// tavily searches api.tavily.com. It has one page.
func tavily(ctx context.Context, c *caller, q Query, offset, n int) ([]source.Document, error) {
	if offset > 0 {
		return nil, nil
	}
	body := map[string]any{"query": q.Text, "max_results": n, "search_depth": "basic"}
	if q.FromYear != 0 {
		body["start_date"] = yearOr(q.FromYear, firstYear) + "-01-01"
	}
	if q.ToYear != 0 {
		body["end_date"] = yearOr(q.ToYear, lastYear) + "-12-31"
	}
	var reply struct {
		Results []struct {
			URL       string `json:"url"`
			Title     string `json:"title"`
			Content   string `json:"content"`
			Published string `json:"published_date"`
		} `json:"results"`
	}
	if err := c.getJSON(ctx, request{path: "/search", header: c.bearer(), body: body}, &reply); err != nil {
		return nil, err
	}
	if reply.Results == nil {
		return nil, errUnexpected
	}
	pages := make([]page, len(reply.Results))
	for i, r := range reply.Results {
		pages[i] = page{title: r.Title, url: r.URL, text: r.Content, date: r.Published}
	}
	return documents(pages), nil
}

// exaText bounds what is read of each page, in characters.
const exaText = 4000

// exa searches api.exa.ai. It has one page.
func exa(ctx context.Context, c *caller, q Query, offset, n int) ([]source.Document, error) {
	if offset > 0 {
		return nil, nil
	}
	body := map[string]any{
		"query": q.Text, "numResults": n, "contents": map[string]any{"text": map[string]any{"maxCharacters": exaText}},
	}
	if q.FromYear != 0 {
		body["startPublishedDate"] = yearOr(q.FromYear, firstYear) + "-01-01T00:00:00.000Z"
	}
	if q.ToYear != 0 {
		body["endPublishedDate"] = yearOr(q.ToYear, lastYear) + "-12-31T23:59:59.999Z"
	}
	var reply struct {
		Results []struct {
			ID        string `json:"id"`
			URL       string `json:"url"`
			Title     string `json:"title"`
			Author    string `json:"author"`
			Text      string `json:"text"`
			Published string `json:"publishedDate"`
		} `json:"results"`
	}
	if err := c.getJSON(ctx, request{path: "/search", header: c.keyIn("X-Api-Key"), body: body}, &reply); err != nil {
		return nil, err
	}
	if reply.Results == nil {
		return nil, errUnexpected
	}
	pages := make([]page, len(reply.Results))
	for i, r := range reply.Results {
		pages[i] = page{id: r.ID, title: r.Title, url: r.URL, text: r.Text, date: r.Published, author: r.Author}
	}
	return documents(pages), nil
}
