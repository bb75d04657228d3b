package federated

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

// cannedReply is the body of every reply.
type cannedReply string

func (c cannedReply) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(c))),
	}, nil
}

// FuzzAnswers feeds any reply to every kind: the result must be documents that can be stored, or a failure.
func FuzzAnswers(f *testing.F) {
	for _, s := range shapes {
		f.Add(s.answer)
	}
	f.Add(`{"esearchresult":{"idlist":["1"]}}`)
	f.Add(
		`{"results":[{"id":"https://openalex.org/W1","display_name":"x","abstract_inverted_index":{"a":[999999999,-1]}}]}`,
	)
	f.Fuzz(func(t *testing.T, answer string) {
		for kind := range kinds {
			if kind == "mcp" {
				continue // the SDK parses the replies; FuzzMCPResults covers its output
			}
			c := New(Options{Client: &http.Client{Transport: cannedReply(answer)}})
			found, err := c.searchKind(
				t.Context(), kind, settingsOf(kind, "https://example.org"), Query{Text: "x", Limit: 5},
			)
			if err != nil {
				continue
			}
			for _, d := range found.Documents {
				for _, s := range []string{
					d.ExternalID, d.Title, d.Text, d.URL, d.Venue, d.DOI, d.Type, d.OpenAccessURL,
				} {
					if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
						t.Errorf("%s: %q can't be stored", kind, s)
					}
				}
				if d.Year < 0 || d.Title == "" || d.ExternalID == "" {
					t.Errorf("%s: %+v", kind, d)
				}
			}
		}
	})
}

func FuzzMCPResults(f *testing.F) {
	f.Add(`{"results":[{"id":7,"title":"x"}]}`)
	f.Add(`[{"id":null}]`)
	f.Add(`{"results":"x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range mcpDocuments(textResult(text)) {
			if d = sanitize(d); !utf8.ValidString(d.Text) || !utf8.ValidString(d.Title) {
				t.Errorf("%+v", d)
			}
		}
	})
}
