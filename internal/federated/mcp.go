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

// mcpServer searches another MCP server with its search tool. MCP does not define the shape of search results. We
// read the common one, a list of objects with id, title, URL and text, and treat plain text as one document.
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
	defer func() { _ = session.Close() }() // the reply is complete; errors of closing do not matter
	tool, err := c.searchTool(ctx, session)
	if err != nil {
		return nil, err
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: mcpArguments(tool, q, n)})
	if err != nil {
		return nil, mcpFailure(err)
	}
	if result.IsError {
		return nil, &source.Failure{
			Code: source.WarnSourceUnexpected,
			Detail: "The tool " + strconv.Quote(
				tool.Name,
			) + " reports an error. Rephrase the query, or set another tool.",
		}
	}
	return mcpDocuments(result), nil
}

// mcpClient returns the installation's client with the key in each request and a limit on each reply.
func (c *apiClient) mcpClient() *http.Client {
	client := *c.options.Client
	client.Transport = &mcpTransport{
		next: client.Transport, origin: outbound.Origin(c.host), header: c.bearerHeader(), agent: c.userAgent(),
	}
	return &client
}

// mcpTransport adds the key to requests. It refuses every other origin than the source's, because the SDK may follow
// addresses in replies.
type mcpTransport struct {
	next   http.RoundTripper
	origin string
	header http.Header
	agent  string
}

// errOtherOrigin is returned for a request to another origin than the source's.
var errOtherOrigin = errors.New("federated: the MCP server points to another origin")

// RoundTrip adds the key and limits the reply.
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
		_ = resp.Body.Close() // only the status is used
		return nil, statusError{status: resp.StatusCode}
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxReplyBytes)
	return resp, nil
}

// mcpFailure reduces an error of the SDK, which quotes addresses and replies, to its cause.
func mcpFailure(err error) error {
	var s statusError
	switch {
	case errors.As(err, &s):
		return s
	case errors.As(err, new(*http.MaxBytesError)):
		return &source.Failure{
			Code: source.WarnSourceUnexpected, Detail: "The reply is too large. Request fewer results.",
		}
	}
	return withoutURL(err)
}

// searchTool returns the tool named in the settings, or else one whose name contains "search".
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
		return nil, &source.Failure{
			Code: source.WarnSourceRefused,
			Detail: "The server has no such search tool. Set one of its tools in the settings: " + strings.Join(
				names[:min(len(names), 10)], ", ",
			) + ".",
		}
	}
	return best, nil
}

// maxTools limits how many tools of a server are considered.
const maxTools = 500

// argumentNames returns the names of a tool's arguments.
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

// queryArgument returns the name of the argument for the search text, or "".
func queryArgument(tool *mcp.Tool) string {
	has := argumentNames(tool)
	for _, name := range []string{"query", "q", "search", "question", "text"} {
		if has[name] {
			return name
		}
	}
	return ""
}

// mcpArguments sets the arguments of the tool whose names we recognize.
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
	}{
		{q.FromYear, []string{"fromYear", "from_year", "year_from"}},
		{q.ToYear, []string{"toYear", "to_year", "year_to"}},
	} {
		for _, name := range bound.names {
			if has[name] && bound.year != 0 {
				arguments[name] = bound.year
			}
		}
	}
	return arguments
}

// mcpDocuments converts the result of a tool call.
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
				out = append(
					out,
					source.Document{
						ExternalID: "text:" + strconv.Itoa(i) + ":" + shortHash(text),
						Title:      truncate(plainText(title), maxTitle), Text: text,
					},
				)
			}
		case *mcp.ResourceLink:
			out = append(
				out,
				source.Document{
					ExternalID: content.URI, Title: firstNonEmpty(content.Title, content.Name),
					Text: content.Description, URL: webAddress(content.URI),
				},
			)
		}
	}
	return out
}

// mcpResult has the field names that search tools commonly use.
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

// mcpResults decodes a list of results, bare or in a field of an object. A result with a field of an unexpected type
// is dropped.
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
		Title: plainText(firstNonEmpty(r.Title, r.Name)), URL: webAddress(firstNonEmpty(r.URL, r.Link)),
		DOI: normalizeDOI(r.DOI), Venue: plainText(r.Venue), Year: max(0, r.Year),
		Text:        plainText(firstNonEmpty(r.Text, r.Content, r.Abstract, r.Snippet, r.Descr)),
		PublishedAt: normalizeDate(firstNonEmpty(r.Published, r.Date)), Authors: cleanNames(r.Authors),
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
