package favourite

import (
	"encoding/json"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/testkit"
)

func TestCardWithAnInvalidLinkIsRejected(t *testing.T) {
	t.Parallel()
	values := []any{
		[]string{"javascript:alert(1)"},
		map[string]string{"toString": "x"},
		1, true,
		" https://example.org",
	}
	for _, s := range testkit.UnsafeLinks() {
		values = append(values, s)
	}
	for _, name := range linkFields {
		for _, v := range values {
			card, err := json.Marshal(map[string]any{"title": "T", "authors": []string{"A"}, name: v})
			if err != nil {
				t.Fatal(err)
			}
			e := core.AsError(checkLinks(card))
			if e == nil || len(e.Fields) != 1 || e.Fields[0].Pointer != "/card/"+name {
				t.Errorf("%s: %v", card, e)
			}
			// A card saved before the rule existed is shown and exported without the link.
			if got := string(withoutUnsafeLinks(card)); got != `{"authors":["A"],"title":"T"}` {
				t.Errorf("%s is shown as %s", card, got)
			}
			for _, format := range []Format{FormatBibTeX, FormatRIS, FormatCSLJSON, FormatMarkdown, FormatCSV} {
				var out strings.Builder
				if err := Export(&out, format, []Card{{ID: "c", JSON: card}}); err != nil {
					t.Fatal(err)
				}
				lower := strings.ToLower(out.String())
				for _, scheme := range []string{"javascript:alert", "data:text", "vbscript:", "file:///", "blob:"} {
					if strings.Contains(lower, scheme) {
						t.Errorf("%s as %s: %s", card, format, out.String())
					}
				}
			}
		}
	}
	for _, card := range []string{
		`{"url": "https://example.org/a", "openAccessUrl": "http://example.org/b.pdf"}`, `{"url": null}`, `{"url": ""}`,
		`{}`, `{"URL": "javascript:x"}`,
		`{"nested": {"url": "javascript:x"}}`,
	} {
		if err := checkLinks([]byte(card)); err != nil {
			t.Errorf("%s: %v", card, err)
		}
		if got := string(withoutUnsafeLinks(json.RawMessage(card))); got != card {
			t.Errorf("%s is shown as %s", card, got)
		}
	}
}
