package httpapi

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"sync"

	"carrel/internal/core"
	"carrel/internal/httpapi/docs"
)

// pageCSP allows the documentation page its own style sheet and script, and nothing else.
const pageCSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; " +
	"base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"

// DocumentRoutes adds the contract to a mux, as YAML, as JSON and as an HTML page with examples for the server at
// baseURL.
func DocumentRoutes(mux *http.ServeMux, baseURL string) {
	open := func(h http.Header) {
		// The document is public, and browser tools on other origins read it.
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", "ETag")
	}
	page := func(h http.Header) { h.Set("Content-Security-Policy", pageCSP) }

	mux.Handle("GET /openapi.yaml", newFile("application/yaml", open, docs.YAML))
	mux.Handle("GET /openapi.json", newFile("application/json", open, docs.JSON))
	mux.Handle("GET /docs", newFile("text/html; charset=utf-8", page, func() ([]byte, error) {
		return docs.Page(baseURL)
	}))
	mux.Handle("GET /docs/style.css", newFile("text/css; charset=utf-8", page, func() ([]byte, error) {
		return docs.Style, nil
	}))
	mux.Handle("GET /docs/script.js", newFile("text/javascript; charset=utf-8", page, func() ([]byte, error) {
		return docs.Script, nil
	}))
}

// staticFile is a file that does not change while the program runs. It is built on the first request, because it is
// stored compressed and few servers are asked for it.
type staticFile struct {
	contentType string
	headers     func(http.Header)
	content     func() *fileContent
}

// fileContent is the content of a file, plain and compressed. Each form has its own ETag (RFC 9110, 8.8.3.3).
type fileContent struct {
	plain, packed       []byte
	plainTag, packedTag string
}

func newFile(contentType string, headers func(http.Header), build func() ([]byte, error)) *staticFile {
	return &staticFile{contentType: contentType, headers: headers, content: sync.OnceValue(func() *fileContent {
		plain, err := build()
		if err != nil {
			panic(err) // depends on embedded files only, so tests would notice
		}
		packed := pack(plain)
		return &fileContent{plain: plain, packed: packed, plainTag: etag(plain), packedTag: etag(packed)}
	})}
}

func pack(b []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // cannot fail: the level is valid
	_, _ = w.Write(b)                                       // a buffer never fails
	_ = w.Close()
	return out.Bytes()
}

// ServeHTTP sends the file, or 304 if the client's ETag matches.
func (f *staticFile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := f.content()
	h := w.Header()
	f.headers(h)
	h.Set("Cache-Control", "public, no-cache") // browsers must revalidate, to notice an update of the server
	h.Set("Vary", "Accept-Encoding")
	body, tag := c.plain, c.plainTag
	if core.AcceptsGzip(r.Header.Values("Accept-Encoding")) {
		body, tag = c.packed, c.packedTag
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", tag)
	if matches(r.Header.Get("If-None-Match"), tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client may have disconnected
}
