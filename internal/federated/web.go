package federated

import (
	"context"
	"net/url"
	"strconv"

	"carrel/internal/source"
)

// webPage is a result of a web search engine.
type webPage struct {
	id, title, url, text, date, author string
}

// document identifies a page by its address unless the engine sends an id.
func (p webPage) document() source.Document {
	published := normalizeDate(p.date)
	return source.Document{
		ExternalID: firstNonEmpty(p.id, p.url), Title: firstNonEmpty(plainText(p.title), p.url),
		Text: plainText(p.text), URL: p.url, Type: "webpage",
		PublishedAt: published, Year: leadingYear(published), Authors: cleanNames([]string{p.author}),
	}
}

// searXNG searches a SearXNG server of the user, which must have its JSON format enabled. The engines behind it decide
// on the length of a page, and the API has no bounds on years.
func searXNG(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error) {
	v := url.Values{"q": {q.Text}, "format": {"json"}, "pageno": {strconv.Itoa(offset/n + 1)}}
	if c.settings.Language != "" {
		v.Set("language", c.settings.Language)
	}
	return fetchResults[searXNGResult](ctx, c, request{path: "/search", query: v})
}

type searXNGResult struct {
	URL       string `json:"url"`
	Title     string `json:"title"`
	Content   string `json:"content"`
	Published string `json:"publishedDate"`
}

func (r searXNGResult) document() source.Document {
	return webPage{title: r.Title, url: r.URL, text: r.Content, date: r.Published}.document()
}

// brave searches api.search.brave.com.
func brave(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error) {
	v := url.Values{
		"q": {q.Text}, "count": {strconv.Itoa(n)}, "offset": {strconv.Itoa(offset / n)}, "text_decorations": {"false"},
	}
	if q.bounded() {
		v.Set("freshness", yearOr(q.FromYear, firstYear)+"-01-01to"+yearOr(q.ToYear, lastYear)+"-12-31")
	}
	var reply struct {
		Type string `json:"type"`
		Web  struct {
			Results []braveResult `json:"results"`
		} `json:"web"`
	}
	r := request{path: "/res/v1/web/search", query: v, header: c.keyHeader("X-Subscription-Token")}
	if err := c.getJSON(ctx, r, &reply); err != nil {
		return nil, err
	}
	if reply.Type != "" && reply.Web.Results == nil {
		return nil, nil // a reply without hits has no list
	}
	return documents(reply.Web.Results)
}

type braveResult struct {
	URL         string   `json:"url"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Age         string   `json:"page_age"`
	Extra       []string `json:"extra_snippets"`
}

func (r braveResult) document() source.Document {
	text := r.Description
	for _, more := range r.Extra {
		text += " " + more
	}
	return webPage{title: r.Title, url: r.URL, text: text, date: r.Age}.document()
}

// setYears adds the years of a query to a JSON body as the first and the last moment of a range.
func setYears(body map[string]any, q Query, from, startOfDay, to, endOfDay string) {
	if q.FromYear != 0 {
		body[from] = yearOr(q.FromYear, firstYear) + "-01-01" + startOfDay
	}
	if q.ToYear != 0 {
		body[to] = yearOr(q.ToYear, lastYear) + "-12-31" + endOfDay
	}
}

// tavily searches api.tavily.com, which returns one page.
func tavily(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error) {
	if offset > 0 {
		return nil, nil
	}
	body := map[string]any{"query": q.Text, "max_results": n, "search_depth": "basic"}
	setYears(body, q, "start_date", "", "end_date", "")
	return fetchResults[tavilyResult](ctx, c, request{path: "/search", header: c.bearerHeader(), body: body})
}

type tavilyResult struct {
	URL       string `json:"url"`
	Title     string `json:"title"`
	Content   string `json:"content"`
	Published string `json:"published_date"`
}

func (r tavilyResult) document() source.Document {
	return webPage{title: r.Title, url: r.URL, text: r.Content, date: r.Published}.document()
}

// exaText limits the text of each page, in characters.
const exaText = 4000

// exa searches api.exa.ai, which returns one page.
func exa(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error) {
	if offset > 0 {
		return nil, nil
	}
	body := map[string]any{
		"query": q.Text, "numResults": n, "contents": map[string]any{"text": map[string]any{"maxCharacters": exaText}},
	}
	setYears(body, q, "startPublishedDate", "T00:00:00.000Z", "endPublishedDate", "T23:59:59.999Z")
	return fetchResults[exaResult](ctx, c, request{path: "/search", header: c.keyHeader("X-Api-Key"), body: body})
}

type exaResult struct {
	ID        string `json:"id"`
	URL       string `json:"url"`
	Title     string `json:"title"`
	Author    string `json:"author"`
	Text      string `json:"text"`
	Published string `json:"publishedDate"`
}

func (r exaResult) document() source.Document {
	return webPage{
		id: r.ID, title: r.Title, url: r.URL, text: r.Text, date: r.Published, author: r.Author,
	}.document()
}
