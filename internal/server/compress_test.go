package server_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"carrel/internal/core"
)

func TestLargeRepliesAreCompressed(t *testing.T) {
	t.Parallel()
	large := strings.Repeat(`{"title":"A relational model of data"}`, 1000)
	reply := func(mediaType, body string, more func(http.Header)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaType)
			if more != nil {
				more(w.Header())
			}
			for part := range strings.SplitSeq(body, "\n") {
				_, _ = io.WriteString(w, part)
			}
		}
	}
	encoded := func(h http.Header) { h.Set("Content-Encoding", "zstd") }
	h := newServer(t, routes(map[string]http.HandlerFunc{
		"GET /api/json":    reply("application/json; charset=utf-8", large, nil),
		"GET /api/parts":   reply("text/csv", strings.Repeat("a part of a reply\n", 500), nil),
		"GET /api/small":   reply("application/json", `{"a":1}`, nil),
		"GET /api/empty":   reply("application/json", "", nil),
		"GET /api/pdf":     reply("application/pdf", large, nil),
		"GET /api/encoded": reply("application/json", large, encoded),
		"GET /api/event":   reply("text/event-stream", large, nil),
		"GET /page":        reply("text/html", large, nil),
		"GET /api/creation": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusCreated)
			reply("", "", nil)(w, r)
		},
		"GET /api/flushed": func(w http.ResponseWriter, r *http.Request) {
			reply("application/json", "[", nil)(w, r)
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, large)
		},
		"GET /api/streamed": func(w http.ResponseWriter, r *http.Request) {
			reply("application/json", large, nil)(w, r)
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, large)
		},
	}))
	parts := strings.Repeat("a part of a reply", 500)
	for path, c := range map[string]struct {
		accept, body string
		status       int
		zipped       bool
	}{
		"/api/json":       {"gzip, deflate, br", large, 200, true},
		"/api/parts":      {"gzip", parts, 200, true},
		"/api/streamed":   {"gzip", large + large, 200, true},
		"/api/json?a":     {"", large, 200, false},
		"/api/json?b":     {"gzip;q=0", large, 200, false},
		"/api/json?c":     {"br, *;q=0.5", large, 200, true},
		"/api/json?d":     {"gzip;q=0, *", large, 200, false},
		"/api/json?e":     {"GZIP ; q=0.1", large, 200, true},
		"/api/json?f":     {"gzip;q=x", large, 200, false},
		"/api/json?g":     {"gzip, deflate, br, zstd", large, 200, true},
		"/api/parts?g":    {"zstd", parts, 200, true},
		"/api/streamed?g": {"zstd", large + large, 200, true},
		"/api/small?g":    {"zstd", `{"a":1}`, 200, false},
		"/api/small":      {"gzip", `{"a":1}`, 200, false},
		"/api/empty":      {"gzip", "", 200, false},
		"/api/pdf":        {"gzip", large, 200, false},
		"/api/event":      {"gzip", large, 200, false},
		"/page":           {"gzip", large, 200, false},
		"/api/flushed":    {"gzip", "[" + large, 200, false},
		"/api/creation":   {"gzip", "", 201, false},
	} {
		rec := h.do("GET", path, header("Accept-Encoding", c.accept))
		body := rec.Body.Bytes()
		encoding := ""
		if c.zipped {
			encoding = core.NegotiateEncoding([]string{c.accept})
		}
		if got := rec.Header().Get("Content-Encoding"); got != encoding || rec.Code != c.status {
			t.Errorf("%s with %q: status %d, encoding %q", path, c.accept, rec.Code, got)
			continue
		}
		if c.zipped {
			if len(body) > len(c.body)/10 {
				t.Errorf("%s: %d bytes instead of %d", path, len(body), len(c.body))
			}
			body = unpack(t, encoding, body)
		}
		if string(body) != c.body {
			t.Errorf("%s with %q: the body has %d bytes, not %d", path, c.accept, len(body), len(c.body))
		}
		if vary := strings.Join(rec.Header().Values("Vary"), ", "); strings.HasPrefix(path, "/api") !=
			strings.Contains(vary, "Accept-Encoding") {
			t.Errorf("%s: Vary is %q", path, vary)
		}
	}
	rec := h.do("GET", "/api/encoded", header("Accept-Encoding", "gzip"))
	if rec.Header().Get("Content-Encoding") != "zstd" || rec.Body.String() != large {
		t.Errorf("an encoded reply was encoded again: %v", rec.Header())
	}
	if rec := h.do("GET", "/api/none", header("Accept-Encoding", "gzip")); rec.Code != http.StatusNotFound ||
		!strings.Contains(rec.Header().Get("Content-Type"), "problem") {
		t.Errorf("an unknown path: %d %v", rec.Code, rec.Header())
	}
}

// unpack returns the content of a compressed body.
func unpack(t *testing.T, encoding string, body []byte) []byte {
	t.Helper()
	var in io.Reader
	var err error
	if encoding == core.EncodingZstd {
		in, err = zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	} else {
		in, err = gzip.NewReader(bytes.NewReader(body))
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// BenchmarkCompressedReply measures the time, the memory and the size of compressed replies.
func BenchmarkCompressedReply(b *testing.B) {
	var list strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&list, `{"id":"doc_%026d","title":"A relational model of data %d","year":%d,"score":%f},`,
			i*7919, i, 1950+i%70, 1/float64(i+1))
	}
	h := newServer(b, routes(map[string]http.HandlerFunc{"GET /api/list": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, list.String())
	}}))
	for _, encoding := range []string{"identity", core.EncodingGzip, core.EncodingZstd} {
		b.Run(encoding, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(list.Len()))
			size := 0
			for b.Loop() {
				size = h.do("GET", "/api/list", header("Accept-Encoding", encoding)).Body.Len()
			}
			b.ReportMetric(float64(size), "bytes/reply")
		})
	}
}

// A compressed reply has its own ETag, and the tags of both forms work in conditional requests.
func TestCompressedRepliesHaveTheirOwnETag(t *testing.T) {
	t.Parallel()
	body := strings.Repeat(`{"title":"A relational model of data"}`, 1000)
	var changed []string
	h := newServer(t, routes(map[string]http.HandlerFunc{
		"GET /api/large": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"v1"`)
			if strings.Contains(r.Header.Get("If-None-Match"), `"v1"`) {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		},
		"GET /api/small": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"v1"`)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{}`)
		},
		"PATCH /api/large": func(_ http.ResponseWriter, r *http.Request) {
			changed = append(changed, r.Header.Get("If-Match"))
		},
	}))
	for _, c := range []struct {
		path, accept, known string
		status              int
		tag                 string
	}{
		{"/api/large", "gzip", "", 200, `"v1-gzip"`},
		{"/api/large", "", "", 200, `"v1"`},
		{"/api/small", "gzip", "", 200, `"v1"`},
		{"/api/large", "gzip", `"v1-gzip"`, 304, `"v1-gzip"`},
		{"/api/large", "gzip", `W/"v1-gzip", "v0"`, 304, `"v1-gzip"`},
		{"/api/large", "gzip", `"v1"`, 304, `"v1"`},
		{"/api/large", "", `"v1"`, 304, `"v1"`},
		{"/api/large", "", `"v1-gzip"`, 200, `"v1"`}, // the stored reply is of no use to this client
		{"/api/large", "gzip", `"v0-gzip"`, 200, `"v1-gzip"`},
		{"/api/large", "gzip, zstd", "", 200, `"v1-zstd"`},
		{"/api/large", "gzip, zstd", `"v1-zstd"`, 304, `"v1-zstd"`},
		{"/api/large", "gzip", `"v1-zstd"`, 200, `"v1-gzip"`},
	} {
		rec := h.do("GET", c.path, header("Accept-Encoding", c.accept), header("If-None-Match", c.known))
		if got := rec.Header().Get("ETag"); rec.Code != c.status || got != c.tag {
			t.Errorf("%s, %q, %s: %d with %s, want %d with %s", c.path, c.accept, c.known, rec.Code, got, c.status, c.tag)
		}
	}
	h.do("PATCH", "/api/large", header("If-Match", `"v1-gzip"`))
	h.do("PATCH", "/api/large", header("If-Match", `"v1-zstd"`))
	h.do("PATCH", "/api/large", header("Accept-Encoding", "gzip"), header("If-Match", `"v1"`))
	if strings.Join(changed, " ") != `"v1" "v1" "v1"` {
		t.Errorf("the handler got %v", changed)
	}
}
