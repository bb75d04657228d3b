package httpapi

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"carrel/api"
	"carrel/internal/httpapi/docs"
)

// pageCSP lets the page of the documentation use its own style sheet and nothing else: there is no script on it.
const pageCSP = "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// DocumentRoutes adds the contract to a mux: the document itself as YAML and JSON, and a page that shows it, with
// examples for the server at baseURL.
func DocumentRoutes(mux *http.ServeMux, baseURL string) {
	open := func(h http.Header) {
		// The document holds nothing secret, and tools in browsers read it from other sites.
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", "ETag")
	}
	page := func(h http.Header) { h.Set("Content-Security-Policy", pageCSP) }

	mux.Handle("GET /openapi.yaml", newFile("application/yaml", open, func() ([]byte, error) { return api.Document, nil }))
	mux.Handle("GET /openapi.json", newFile("application/json", open, func() ([]byte, error) { return docs.JSON(api.Document) }))
	mux.Handle("GET /docs", newFile("text/html; charset=utf-8", page, func() ([]byte, error) { return docs.Page(api.Document, baseURL) }))
	mux.Handle("GET /docs/style.css", newFile("text/css; charset=utf-8", page, func() ([]byte, error) { return docs.Style, nil }))
}

// file is something that never changes while the program runs. It is made when it is first asked for: making the
// page takes longer than all the rest of starting, and most servers are started more often than read about.
type file struct {
	contentType string
	headers     func(http.Header)
	content     func() *fileContent
}

// fileContent is a file as it is sent, plain and compressed. Each form has a tag of its own (RFC 9110, 8.8.3.3).
type fileContent struct {
	plain, packed       []byte
	plainTag, packedTag string
}

func newFile(contentType string, headers func(http.Header), build func() ([]byte, error)) *file {
	return &file{contentType: contentType, headers: headers, content: sync.OnceValue(func() *fileContent {
		plain, err := build()
		if err != nil {
			panic(err) // made of what is embedded alone, so a test sees it before anybody else does
		}
		packed := pack(plain)
		return &fileContent{plain: plain, packed: packed, plainTag: etag(plain), packedTag: etag(packed)}
	})}
}

func pack(b []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level exists
	_, _ = w.Write(b)                                       // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// ServeHTTP sends the file, or 304 to a client that has it.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := f.content()
	h := w.Header()
	f.headers(h)
	h.Set("Cache-Control", "public, no-cache") // kept by browsers, but asked for after every update of ours
	h.Set("Vary", "Accept-Encoding")
	body, tag := c.plain, c.plainTag
	if acceptsGzip(r.Header.Values("Accept-Encoding")) {
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
	_, _ = w.Write(body) // a client that is gone needs no answer
}

func acceptsGzip(header []string) bool {
	for part := range strings.SplitSeq(strings.Join(header, ","), ",") {
		if mediaType(part) == "gzip" {
			return !refused(part)
		}
	}
	return false
}
