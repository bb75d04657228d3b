package federated

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/outbound"
	"carrel/internal/source"
)

// mcpServer searches another MCP server with a tool of its own. Answers have no set form: we read the one that search
// tools have agreed on, results with an id, a title, an address and a text, and take plain text for one document.
func mcpServer(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error) {
	if offset > 0 {
		return nil, nil
	}
	if err := c.limit.wait(ctx); err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "carrel", Version: c.options.Version}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: c.host, HTTPClient: c.mcpClient(), MaxRetries: -1, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return nil, mcpFailure(err)
	}
	defer func() { _ = session.Close() }() // the answer is here; how the line ends is not of interest
	tool, err := c.searchTool(ctx, session)
	if err != nil {
		return nil, err
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: mcpArguments(tool, q, n)})
	if err != nil {
		return nil, mcpFailure(err)
	}
	if result.IsError {
		return nil, &source.Failure{Code: source.WarnSourceUnexpected, Detail: "Its tool " + strconv.Quote(tool.Name) + " reports an error. Ask with other words, or name another tool."}
	}
	return mcpDocuments(result), nil
}

// mcpClient is the client of the installation with the key in each request and an end to each answer.
func (c *apiClient) mcpClient() *http.Client {
	client := *c.options.Client
	client.Transport = &mcpTransport{
		next: client.Transport, origin: outbound.Origin(c.host), header: c.bearerHeader(), agent: c.userAgent(),
	}
	return &client
}

// mcpTransport adds the key to requests. It sends it to the origin of the source alone, whatever address the SDK
// makes of the server's replies.
type mcpTransport struct {
	next   http.RoundTripper
	origin string
	header http.Header
	agent  string
}

// errElsewhere is a request that the MCP SDK would make to another origin than the source's.
var errOtherOrigin = errors.New("live: the MCP server points to another origin")

// RoundTrip adds the key, and bounds the answer.
func (t *mcpTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if outbound.Origin(r.URL.String()) != t.origin {
		return nil, errOtherOrigin
	}
	r = r.Clone(r.Context())
	for name, values := range t.header {
		r.Header[name] = values
	}
	r.Header.Set("User-Agent", t.agent)
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		_ = resp.Body.Close() // what matters is the status
		return nil, statusError{status: resp.StatusCode}
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxReplyBytes)
	return resp, nil
}

// mcpFailure keeps what is known of an error. That of the SDK quotes addresses and answers.
func mcpFailure(err error) error {
	var s statusError
	switch {
	case errors.As(err, &s):
		return s
	case errors.As(err, new(*http.MaxBytesError)):
		return &source.Failure{Code: source.WarnSourceUnexpected, Detail: "Its answer is too large. Ask for fewer results."}
	}
	return withoutURL(err)
}

// searchTool returns the tool that the settings name, or the one that looks like a search.
func (c *apiClient) searchTool(ctx context.Context, session *mcp.ClientSession) (*mcp.Tool, error) {
	var best *mcp.Tool
	var names []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, mcpFailure(err)
		}
		names = append(names, strconv.Quote(tool.Name))
		switch {
		case tool.Name == c.settings.Tool:
			return tool, nil
		case c.settings.Tool != "" || queryArgument(tool) == "":
		case tool.Name == "search", best == nil && strings.Contains(tool.Name, "search"):
			best = tool
		}
		if len(names) > maxTools {
			break
		}
	}
	if best == nil {
		slices.Sort(names)
		return nil, &source.Failure{Code: source.WarnSourceRefused, Detail: "It has no such tool to search with. Name one of its tools in the settings: " + strings.Join(names[:min(len(names), 10)], ", ") + "."}
	}
	return best, nil
}

// maxTools bounds how many tools of a server are looked at.
const maxTools = 500

// fields returns the names of a tool's arguments.
func argumentNames(tool *mcp.Tool) map[string]bool {
	b, err := json.Marshal(tool.InputSchema)
	if err != nil {
		return nil
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(b, &schema) != nil {
		return nil
	}
	out := make(map[string]bool, len(schema.Properties))
	for name := range schema.Properties {
		out[name] = true
	}
	return out
}

// queryField is the argument that takes the question.
func queryArgument(tool *mcp.Tool) string {
	has := argumentNames(tool)
	for _, name := range []string{"query", "q", "search", "question", "text"} {
		if has[name] {
			return name
		}
	}
	return ""
}

// mcpArguments fills in what the tool takes of what we know.
func mcpArguments(tool *mcp.Tool, q Query, n int) map[string]any {
	has := argumentNames(tool)
	arguments := map[string]any{firstNonEmpty(queryArgument(tool), "query"): q.Text}
	for _, name := range []string{"numResults", "num_results", "limit", "max_results", "maxResults", "count", "k"} {
		if has[name] {
			arguments[name] = n
			break
		}
	}
	for _, bound := range []struct {
		year  int
		names []string
	}{{q.FromYear, []string{"fromYear", "from_year", "year_from"}}, {q.ToYear, []string{"toYear", "to_year", "year_to"}}} {
		for _, name := range bound.names {
			if has[name] && bound.year != 0 {
				arguments[name] = bound.year
			}
		}
	}
	return arguments
}

// mcpDocuments reads the results of a tool.
func mcpDocuments(result *mcp.CallToolResult) []source.Document {
	if result.StructuredContent != nil {
		if b, err := json.Marshal(result.StructuredContent); err == nil {
			if list, ok := mcpResults(b); ok {
				return list
			}
		}
	}
	var out []source.Document
	for i, content := range result.Content {
		switch content := content.(type) {
		case *mcp.TextContent:
			if list, ok := mcpResults([]byte(content.Text)); ok {
				out = append(out, list...)
			} else if text := strings.TrimSpace(content.Text); text != "" {
				title, _, _ := strings.Cut(text, "\n")
				out = append(out, source.Document{ExternalID: "text:" + strconv.Itoa(i) + ":" + shortHash(text), Title: truncate(plainText(title), maxTitle), Text: text})
			}
		case *mcp.ResourceLink:
			out = append(out, source.Document{ExternalID: content.URI, Title: firstNonEmpty(content.Title, content.Name), Text: content.Description, URL: webAddress(content.URI)})
		}
	}
	return out
}

// mcpResult is a result by the names that tools use for its parts.
type mcpResult struct {
	ID         any      `json:"id"`
	DocumentID string   `json:"documentId"`
	Title      string   `json:"title"`
	Name       string   `json:"name"`
	URL        string   `json:"url"`
	Link       string   `json:"link"`
	Text       string   `json:"text"`
	Content    string   `json:"content"`
	Snippet    string   `json:"snippet"`
	Abstract   string   `json:"abstract"`
	Descr      string   `json:"description"`
	DOI        string   `json:"doi"`
	Venue      string   `json:"venue"`
	Year       int      `json:"year"`
	Published  string   `json:"publishedAt"`
	Date       string   `json:"date"`
	Authors    []string `json:"authors"`
}

// mcpResults reads a list of results, bare or under a name. A result that has an odd field is left out; others stay.
func mcpResults(b []byte) ([]source.Document, bool) {
	var list []json.RawMessage
	if json.Unmarshal(b, &list) != nil {
		var named map[string]json.RawMessage
		if json.Unmarshal(b, &named) != nil {
			return nil, false
		}
		for _, name := range []string{"results", "documents", "items", "data", "hits"} {
			if json.Unmarshal(named[name], &list) == nil && named[name] != nil {
				break
			}
		}
		if list == nil {
			return nil, false
		}
	}
	out := make([]source.Document, 0, len(list))
	for _, raw := range list {
		var r mcpResult
		if json.Unmarshal(raw, &r) == nil {
			out = append(out, r.document())
		}
	}
	return out, true
}

func (r mcpResult) document() source.Document {
	d := source.Document{
		Title: plainText(firstNonEmpty(r.Title, r.Name)), URL: webAddress(firstNonEmpty(r.URL, r.Link)), DOI: normalizeDOI(r.DOI), Venue: plainText(r.Venue), Year: max(0, r.Year),
		Text: plainText(firstNonEmpty(r.Text, r.Content, r.Abstract, r.Snippet, r.Descr)), PublishedAt: normalizeDate(firstNonEmpty(r.Published, r.Date)), Authors: cleanNames(r.Authors),
	}
	if d.Year == 0 {
		d.Year = leadingYear(d.PublishedAt)
	}
	switch id := r.ID.(type) {
	case string:
		d.ExternalID = id
	case float64:
		d.ExternalID = strconv.FormatFloat(id, 'f', -1, 64)
	}
	d.ExternalID = firstNonEmpty(d.ExternalID, r.DocumentID, d.URL, d.DOI)
	if d.ExternalID == "" && d.Title != "" {
		d.ExternalID = "text:" + shortHash(d.Title+"\n"+d.Text)
	}
	return d
}
