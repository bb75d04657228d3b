package federated

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/outbound"
	"carrel/internal/testkit"
)

// Every kind that takes a key is redirected with every status that a client could follow with the same method,
// headers and body.
func TestNoRedirectTakesAKeyToAnotherOrigin(t *testing.T) {
	t.Parallel()
	for kind, k := range kinds {
		if k.key == forbidden {
			continue
		}
		for _, status := range []int{301, 302, 303, 307, 308} {
			t.Run(kind+" "+strconv.Itoa(status), func(t *testing.T) {
				t.Parallel()
				var elsewhere atomic.Int64
				other := httptest.NewServer(
					http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }),
				)
				t.Cleanup(other.Close)
				a := serve(t, answerWith(status, "Location", other.URL+"/"))
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				if _, err := search(ctx, kind, a, Query{Text: "x"}); err == nil {
					t.Error("a redirect is an answer")
				}
				if a.requests.Load() == 0 || elsewhere.Load() != 0 {
					t.Errorf("%d requests, and %d to other hosts", a.requests.Load(), elsewhere.Load())
				}
			})
		}
	}
}

// The transport must refuse other origins whatever the SDK requests.
func TestTheKeyOfAnMCPSourceGoesToItsOriginAlone(t *testing.T) {
	t.Parallel()
	r := &recordingTransport{}
	c := New(Options{Client: &http.Client{Transport: r}, Version: "test"}).caller(
		"mcp", kinds["mcp"], Settings{Address: "https://wiki.example.org/mcp", Key: secret},
	)
	for address, want := range map[string]int{
		"https://wiki.example.org/other": 1, "https://WIKI.example.org:443/mcp": 1, "http://wiki.example.org/mcp": 0,
		"https://wiki.example.org:8443/mcp": 0, "https://evil.example/mcp": 0,
		"https://wiki.example.org@evil.example/mcp": 0,
	} {
		r.hosts = nil
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.mcpClient().Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		if len(r.hosts) != want {
			t.Errorf("%s: reached %v", address, r.hosts)
		}
	}
}

// Both the error and the number of DNS lookups are compared, because the owner of a source sees the time as well.
func TestAPrivateNameAndAnUnknownOneFailAlike(t *testing.T) {
	t.Parallel()
	for kind, k := range kinds {
		if k.address != required {
			continue
		}
		var failures []error
		var lookups []int
		for _, answers := range [][][4]byte{nil, {{10, 0, 0, 1}}, {{127, 0, 0, 1}}, {{169, 254, 169, 254}}} {
			names, lookupCount := testkit.CountingResolver(t, answers...)
			c := New(
				Options{
					Client:  outbound.NewClient(outbound.Options{Timeout: time.Second, Resolver: names}),
					Version: "test",
				},
			)
			_, err := c.searchKind(
				t.Context(), kind, Settings{Address: "https://intranet.example.org"}, Query{Text: "x", Limit: 1},
			)
			failures, lookups = append(failures, err), append(lookups, lookupCount())
		}
		for i := range failures {
			if failures[i] == nil || failures[i].Error() != failures[0].Error() || lookups[i] != lookups[0] {
				t.Errorf(
					"%s: %v (%d lookups) and %v (%d lookups)", kind, failures[0], lookups[0], failures[i], lookups[i],
				)
			}
		}
	}
}
