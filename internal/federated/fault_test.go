package federated

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"carrel/internal/core"
	"carrel/internal/outbound"
	"carrel/internal/source"
)

// Every kind of source runs through the same table of failures.
func TestFailuresOfEveryKindHaveASentence(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		for name, c := range map[string]struct {
			serve http.HandlerFunc
			code  string
			// requests is the expected number of requests; 0 means any.
			requests int64
		}{
			"too many for long": {answerWith(429, "Retry-After", "3600"), source.WarnSourceRateLimited, 1},
			"no key":            {answerWith(401), source.WarnSourceRefused, 1},
			"wrong key":         {answerWith(403), source.WarnSourceRefused, 1},
			"a fault":           {answerWith(500), source.WarnSourceUnavailable, 0},
			"elsewhere":         {answerWith(302, "Location", "http://127.0.0.1:1/"), source.WarnSourceUnexpected, 0},
			"bad request":       {answerWith(400), source.WarnSourceUnexpected, 0},
			"a page":            {text("<html><body>Maintenance</body></html>"), source.WarnSourceUnexpected, 0},
			"another form":      {text(`{"nothing":"here"}`), source.WarnSourceUnexpected, 0},
			"cut off":           {cutOff, source.WarnSourceUnavailable, 0},
			"too large":         {flood, source.WarnSourceUnexpected, 0},
			"never":             {silence, source.WarnSourceTimeout, 0},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				a := serve(t, c.serve)
				wait := 8 * time.Second
				if name == "never" {
					wait = 200 * time.Millisecond
				}
				ctx, cancel := context.WithTimeout(t.Context(), wait)
				defer cancel()
				found, err := search(ctx, kind, a, Query{Text: "x"})
				var f *source.Failure
				if !errors.As(err, &f) {
					t.Fatalf("%v, %v", found, err)
				}
				if kind == "mcp" && name != "never" && !strings.HasSuffix(name, "key") && name != "too many for long" {
					return // the MCP SDK does not distinguish failures, so any sentence is accepted
				}
				if f.Code != c.code {
					t.Errorf("%s: %s", f.Code, f.Detail)
				}
				if n := a.requests.Load(); c.requests != 0 && n != c.requests && kind != "mcp" {
					t.Errorf("%d requests", n)
				}
				if strings.Contains(f.Detail, secret) || strings.Contains(f.Detail, "127.0.0.1") {
					t.Errorf("it tells too much: %s", f.Detail)
				}
			})
		}
	}
}

func answerWith(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
	}
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
}

func cutOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"results":[`)
}

// silence never replies. It reads the request first, because a server notices a disconnect only then.
func silence(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func flood(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, strings.Repeat(" ", 1<<20)); err != nil {
			return
		}
	}
}

func TestTemporaryFailuresAreRetried(t *testing.T) {
	t.Parallel()
	for _, status := range []int{429, 500, 502, 503, 504} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			var a *testAPI
			a = serve(t, func(w http.ResponseWriter, r *http.Request) {
				if a.requests.Load() < maxAttempts {
					answerWith(status, "Retry-After", "0")(w, r)
					return
				}
				text(dated["europepmc"]())(w, r)
			})
			found, err := search(t.Context(), "europepmc", a, Query{Text: "x"})
			if err != nil || len(found.Documents) != 5 || a.requests.Load() != maxAttempts {
				t.Errorf("%d documents after %d requests, %v", len(found.Documents), a.requests.Load(), err)
			}
		})
	}
}

func TestErrorsWithStatus200AreDetected(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":{"code":"maxlag","info":"Waiting for a database server"}}`: source.WarnSourceRateLimited,
		`{"error":{"code":"badvalue"}}`:                                      source.WarnSourceUnexpected,
	} {
		a := serve(t, text(body))
		_, err := search(t.Context(), "wikipedia", a, Query{Text: "x"})
		var f *source.Failure
		if !errors.As(err, &f) || f.Code != want {
			t.Errorf("%s: %v", body, err)
		}
	}
	a := serve(
		t,
		text(
			`<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/api/errors#x</id><title>Error</title></entry></feed>`,
		),
	)
	_, err := search(t.Context(), "arxiv", a, Query{Text: "x"})
	var f *source.Failure
	if !errors.As(err, &f) || f.Code != source.WarnSourceUnexpected {
		t.Errorf("arXiv: %v", err)
	}
}

func TestConfiguredAddressMustBePublic(t *testing.T) {
	t.Parallel()
	a := serve(t, text(`{"results":[]}`))
	for _, kind := range []string{"searxng", "mcp"} {
		c := New(Options{Client: outbound.NewClient(outbound.Options{Timeout: time.Second}), Version: "test"})
		// A name may resolve to any address, so the check happens when the connection is made.
		for address, want := range map[string]string{
			a.URL: "invalid_request", "https://10.0.0.1/": "invalid_request", "https://[::1]/x": "invalid_request",
			"ftp://example.org": "invalid_request",
			"":                  "invalid_request", "https://user:pass@example.org/": "invalid_request",
		} {
			_, err := c.searchKind(t.Context(), kind, Settings{Address: address}, Query{Text: "x", Limit: 1})
			if e := core.AsError(err); e == nil || e.Code != want {
				t.Errorf("%s %s: %v", kind, address, err)
			}
		}
		_, err := c.searchKind(
			t.Context(), kind, Settings{Address: strings.Replace(a.URL, "http://127.0.0.1", "https://localhost", 1)},
			Query{Text: "x", Limit: 1},
		)
		var f *source.Failure
		if !errors.As(err, &f) || a.requests.Load() != 0 {
			t.Errorf("%s: a name for this machine: %v, %d requests", kind, err, a.requests.Load())
		}
	}
}

// recordingTransport records the hosts of requests and sends none.
type recordingTransport struct{ hosts []string }

func (r *recordingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	r.hosts = append(r.hosts, req.URL.Scheme+"://"+req.URL.Host)
	return nil, outbound.ErrNotPublic
}

// The owner of a source must not be able to send the requests of a catalogue to another host.
func TestSettingsCannotRedirectACatalogue(t *testing.T) {
	t.Parallel()
	const evil = "https://evil.example"
	for kind, k := range kinds {
		if k.address == required {
			continue
		}
		r := &recordingTransport{}
		c := New(Options{Client: &http.Client{Transport: r}, Version: "test", Private: true})
		for _, s := range []Settings{
			settingsOf(kind, ""),
			{Key: settingsOf(kind, "").Key, Address: evil},
			{Key: settingsOf(kind, "").Key, Language: "evil.example/"},
			{Key: evil + "/?"},
		} {
			_, _ = c.searchKind(
				t.Context(), kind, s, Query{Text: evil + " @evil.example/\r\nHost: evil.example", Limit: 1},
			)
		}
		want := strings.Replace(k.host, "{language}", "en", 1)
		if len(r.hosts) == 0 || !strings.HasPrefix(want, "https://") ||
			slices.ContainsFunc(r.hosts, func(h string) bool { return h != want }) {
			t.Errorf("%s reaches %v, not %s", kind, r.hosts, want)
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	c := New(Options{})
	for kind, s := range map[string]Settings{
		"brave": {}, "arxiv": {Key: "k"}, "openalex": {Address: "https://example.org"},
		"wikipedia": {Language: "en/../x"}, "core": {Key: "a b"}, "nonsense": {},
	} {
		if err := c.Check(kind, s); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for kind, s := range map[string]Settings{
		"brave": {Key: "k"}, "arxiv": {}, "openalex": {}, "wikipedia": {Language: "zh-min-nan"},
		"searxng": {Address: "https://example.org"},
	} {
		if err := c.Check(kind, s); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestRequestsToAHostAreRateLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		p := c.rateLimit("arxiv", 3*time.Second)
		if c.rateLimit("arxiv", 3*time.Second) != p {
			t.Error("two sources of a host have paces of their own")
		}
		start := time.Now()
		for i := range 3 {
			if err := p.wait(t.Context()); err != nil || time.Since(start) != time.Duration(i)*3*time.Second {
				t.Errorf("request %d after %s, %v", i, time.Since(start), err)
			}
		}
		// A caller with a short deadline fails at once and takes no slot.
		hurried, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := p.wait(hurried)
		var f *source.Failure
		if !errors.As(err, &f) || f.Code != source.WarnSourceRateLimited || time.Since(start) != 6*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		if err := p.wait(t.Context()); err != nil || time.Since(start) != 9*time.Second {
			t.Errorf("the next after %s, %v", time.Since(start), err)
		}
	})
}
