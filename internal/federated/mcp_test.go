package federated

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/source"
)

// searchCall is the argument of the test server's tools.
type searchCall struct {
	Query    string `json:"query"`
	Limit    int    `json:"limit,omitempty"`
	FromYear int    `json:"fromYear,omitempty"`
	ToYear   int    `json:"toYear,omitempty"`
}

// mcpAPI is a real MCP server whose tools return fixed results.
func mcpAPI(t *testing.T, tools map[string]*mcp.CallToolResult, onCall func(searchCall)) *testAPI {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1"}, nil)
	for name, result := range tools {
		mcp.AddTool(server, &mcp.Tool{
			Name: name,
		}, func(_ context.Context, _ *mcp.CallToolRequest, in searchCall) (*mcp.CallToolResult, any, error) {
			onCall(in)
			return result, nil, nil
		})
	}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func TestAnotherMCPServerIsSearchedWithItsTool(t *testing.T) {
	t.Parallel()
	structured := &mcp.CallToolResult{StructuredContent: map[string]any{"results": []any{
		map[string]any{
			"id": 7, "title": "One", "url": "https://example.org/1", "text": "First.", "year": 1975,
			"authors": []any{"Ada"},
		},
		map[string]any{
			"documentId": "doc_2", "title": "Two", "snippet": "Second.", "publishedAt": "1976-05-04",
			"url": "javascript:alert(1)",
		},
		map[string]any{"title": "Odd", "year": "many"},
		map[string]any{"title": "Late", "id": "x", "year": 1999},
	}}}
	two := []source.Document{
		{
			ExternalID: "7", Title: "One", Text: "First.", URL: "https://example.org/1", Year: 1975,
			Authors: []string{"Ada"},
		},
		{
			ExternalID: "doc_2", Title: "Two", Text: "Second.", Year: 1976, PublishedAt: "1976-05-04",
			Authors: []string{},
		},
	}
	for name, c := range map[string]struct {
		tools map[string]*mcp.CallToolResult
		tool  string
		q     Query
		want  []source.Document
		call  searchCall
	}{
		"structured, with bounds": {
			tools: map[string]*mcp.CallToolResult{"add": textResult("no"), "search": structured},
			q:     Query{Text: "x", Limit: 5, FromYear: 1970, ToYear: 1980},
			want:  two, call: searchCall{Query: "x", Limit: 5, FromYear: 1970, ToYear: 1980},
		},
		"JSON in a text, by name": {
			tools: map[string]*mcp.CallToolResult{
				"search": textResult("no"), "lookup": textResult(`{"results":[{"id":"a","title":"A","text":"B"}]}`),
			},
			tool: "lookup",
			q:    Query{Text: "x", Limit: 5},
			want: []source.Document{{ExternalID: "a", Title: "A", Text: "B", Authors: []string{}}},
			call: searchCall{Query: "x", Limit: 5},
		},
		"plain text": {
			tools: map[string]*mcp.CallToolResult{"docs_search": textResult("A title\nand a text")},
			q:     Query{Text: "x", Limit: 5},
			want: []source.Document{
				{
					ExternalID: "text:0:" + shortHash("A title\nand a text"), Title: "A title",
					Text: "A title\nand a text",
				},
			},
			call: searchCall{Query: "x", Limit: 5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got searchCall
			a := mcpAPI(t, c.tools, func(in searchCall) { got = in })
			found, err := catalogue("", "").searchKind(
				t.Context(), "mcp", Settings{Address: a.URL, Key: secret, Tool: c.tool}, c.q,
			)
			if err != nil || !reflect.DeepEqual(found.Documents, c.want) || got != c.call {
				t.Errorf("%v\ngot  %+v\nwant %+v\nasked %+v", err, found.Documents, c.want, got)
			}
		})
	}
}

func TestUnusableMCPServerReportsTheReason(t *testing.T) {
	t.Parallel()
	broken := textResult("boom")
	broken.IsError = true
	a := mcpAPI(t, map[string]*mcp.CallToolResult{"add": textResult("1"), "search": broken}, func(searchCall) {})
	for name, c := range map[string]struct {
		settings Settings
		code     string
		says     string
	}{
		"wrong key":   {Settings{Key: "other"}, source.WarnSourceRefused, "key"},
		"no tool":     {Settings{Key: secret, Tool: "gone"}, source.WarnSourceRefused, `"add", "search"`},
		"tool fails":  {Settings{Key: secret}, source.WarnSourceUnexpected, `"search" reports an error`},
		"nobody home": {Settings{Key: secret, Address: "http://127.0.0.1:1"}, source.WarnSourceUnavailable, "reached"},
	} {
		s := c.settings
		if s.Address == "" {
			s.Address = a.URL
		}
		_, err := catalogue("", "").searchKind(t.Context(), "mcp", s, Query{Text: "x", Limit: 3})
		var f *source.Failure
		if !errors.As(err, &f) || f.Code != c.code || !strings.Contains(f.Detail, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
