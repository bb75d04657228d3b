package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// streamKind opens an event stream with a key.
type streamKind struct {
	name string
	open func(t *testing.T, key string) *http.Response
}

// streamKinds are all kinds of event streams that a server has.
func (w *mcpInstallation) streamKinds(t *testing.T) []streamKind {
	t.Helper()
	thread := w.do(t, "POST", w.below("/threads"), `{}`).text("thread", "id")
	source := w.do(t, "GET", w.below(""), "").text("agent", "defaultSourceId")
	session := w.begin(t, w.key)
	rest := func(path string) func(t *testing.T, key string) *http.Response {
		return func(t *testing.T, key string) *http.Response {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+w.below(path), http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+key)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
	}
	return []streamKind{
		{"turn events", rest("/threads/" + thread + "/events")},
		{"import events", rest("/sources/" + source + "/events")},
		{"the stream of an MCP session", func(t *testing.T, key string) *http.Response {
			t.Helper()
			return w.request(t, raw{method: http.MethodGet, key: key, session: session, version: stateful})
		}},
		{"an MCP subscription", func(t *testing.T, key string) *http.Response {
			t.Helper()
			r := w.modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`, "")
			r.key = key
			return w.request(t, r)
		}},
	}
}

func TestACredentialHoldsAHundredEventStreamsOpen(t *testing.T) {
	t.Parallel()
	w := newMCPInstallation(t, testkit.ServerOptions{})
	kinds := w.streamKinds(t)
	var open []*http.Response
	for i := range 100 {
		kind := kinds[i%len(kinds)]
		res := kind.open(t, w.key)
		t.Cleanup(func() { _ = res.Body.Close() })
		if res.StatusCode != http.StatusOK {
			t.Fatalf("stream %d, %s: %d", i+1, kind.name, res.StatusCode)
		}
		open = append(open, res)
	}
	for _, kind := range kinds {
		res := kind.open(t, w.key)
		t.Cleanup(func() { _ = res.Body.Close() })
		if res.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("one more, %s: %d", kind.name, res.StatusCode)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || res.Header.Get("Retry-After") == "" || !strings.Contains(string(body), `"code":"rate_limited"`) {
			t.Errorf("one more, %s: %v %s %v", kind.name, res.Header, body, err)
		}
		// The limit applies to a credential: another key of the same user can still open streams.
		other := kind.open(t, w.limited)
		_ = other.Body.Close()
		if other.StatusCode != http.StatusOK {
			t.Errorf("another key, %s: %d", kind.name, other.StatusCode)
		}
	}
	// Plain requests are not streams.
	w.do(t, "GET", w.below(""), "")
	for _, res := range open {
		_ = res.Body.Close()
	}
	// Slots are released on close. The server notices a closed connection with a delay, so a refusal is retried; a leak
	// would refuse for ever.
	deadline := time.Now().Add(testkit.Patience)
	for i := range 300 {
		kind := kinds[i%len(kinds)]
		for {
			res := kind.open(t, w.key)
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				break
			}
			if res.StatusCode != http.StatusTooManyRequests || time.Now().After(deadline) {
				t.Fatalf("reopening, %s: %d", kind.name, res.StatusCode)
			}
		}
	}
}
