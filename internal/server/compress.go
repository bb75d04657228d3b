package server

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"carrel/internal/core"
)

// minCompressed is the size from which a reply is compressed. It fits into one packet, and replies with a new secret,
// which must not be compressed together with text of the sender, are smaller.
const minCompressed = 1400

// compressible are the media types of replies that become much smaller. Event streams are left out: a client must see
// each event at once.
var compressible = []string{
	"application/json", "application/problem+json", "application/x-ndjson", "application/yaml", "application/rtf",
	"application/x-bibtex", "application/x-research-info-systems", "application/vnd.citationstyles.csl+json",
	"text/plain", "text/markdown", "text/csv", "text/html", "text/x-bibliography",
}

// varyEncoding is shared by replies; see headers.go.
var varyEncoding = []string{"Accept-Encoding"}

// encoder compresses a reply. Close ends it; Reset makes the encoder ready for the next one.
type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(w io.Writer)
}

// zstdWindow bounds the memory of a zstd encoder and of the client's decoder. Replies rarely have matches that are
// further apart, and decoders of browsers accept at most 8 MiB (RFC 9659).
const zstdWindow = 256 << 10

// encoders has a pool of encoders for each encoding, because a new one allocates its tables. The encoder of gzip is not
// that of the standard library, which clears its tables for each reply and takes twice as long.
var encoders = map[string]*sync.Pool{
	core.EncodingGzip: {New: func() any {
		w, _ := gzip.NewWriterLevel(io.Discard, 5) // a valid level has no error
		return w
	}},
	core.EncodingZstd: {New: func() any {
		// One goroutine per reply: the requests use all processors already. The options are valid, so there is no error.
		w, _ := zstd.NewWriter(io.Discard, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow),
			zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedFastest))
		return w
	}},
}

// encodings are the names of the encodings that replies are compressed with.
var encodings = []string{core.EncodingGzip, core.EncodingZstd}

// compressed is the response writer of a request whose client accepts a compressed reply. It holds back the header and
// the start of the body until it knows whether the reply is large enough.
type compressed struct {
	http.ResponseWriter
	status int
	held   []byte
	// plain is set once the reply is sent as it is, and zip once it is compressed.
	plain bool
	zip   encoder
	// encoding is the encoding that the client prefers.
	encoding string
	// stored is set if the client names the ETag of a compressed reply that it has stored.
	stored bool
}

// compress calls next with a writer that compresses its reply, if the client accepts that. Only the REST API has
// replies worth it; the files of the web app are compressed when it is built.
func compress(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !isREST(r.URL.Path) {
		next.ServeHTTP(w, r)
		return
	}
	if h := w.Header(); h["Vary"] == nil {
		h["Vary"] = varyEncoding
	} else {
		h.Add("Vary", "Accept-Encoding")
	}
	encoding := core.NegotiateEncoding(r.Header.Values("Accept-Encoding"))
	stored := plainTags(r.Header, encoding)
	if r.Method == http.MethodHead || encoding == "" {
		next.ServeHTTP(w, r)
		return
	}
	c := &compressed{ResponseWriter: w, encoding: encoding, stored: stored}
	next.ServeHTTP(c, r)
	c.close()
}

// Unwrap supports http.ResponseController.
func (c *compressed) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *compressed) WriteHeader(status int) {
	if c.status != 0 || c.plain {
		return
	}
	if status < 200 {
		c.ResponseWriter.WriteHeader(status)
		return
	}
	c.status = status
	if !c.worthIt() {
		c.passOn()
	}
}

// worthIt reports whether the reply may become smaller, by its header.
func (c *compressed) worthIt() bool {
	h := c.Header()
	if c.status == http.StatusNoContent || c.status == http.StatusNotModified || c.status == http.StatusPartialContent ||
		h.Get("Content-Encoding") != "" || h.Get("Content-Range") != "" {
		return false
	}
	if n, err := strconv.Atoi(h.Get("Content-Length")); err == nil && n < minCompressed {
		return false
	}
	mediaType, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	for _, t := range compressible {
		if mediaType == t {
			return true
		}
	}
	return false
}

// passOn sends the reply as it is from now on.
func (c *compressed) passOn() {
	c.plain = true
	if c.stored && c.status == http.StatusNotModified {
		c.tag()
	}
	if c.status != 0 {
		c.ResponseWriter.WriteHeader(c.status)
	}
	if len(c.held) > 0 {
		_, _ = c.ResponseWriter.Write(c.held) // the client has gone
		c.held = nil
	}
}

// tag gives the reply the ETag of its compressed form.
func (c *compressed) tag() {
	h := c.Header()
	if tag := h.Get("ETag"); tag != "" {
		h.Set("ETag", taggedWith(tag, c.encoding))
	}
}

// Write implements io.Writer.
func (c *compressed) Write(p []byte) (int, error) {
	if c.status == 0 && !c.plain {
		c.WriteHeader(http.StatusOK)
	}
	switch {
	case c.plain:
		return c.ResponseWriter.Write(p)
	case c.zip != nil:
		return c.zip.Write(p)
	case len(c.held)+len(p) < minCompressed:
		c.held = append(c.held, p...)
		return len(p), nil
	}
	h := c.Header()
	h.Set("Content-Encoding", c.encoding)
	c.tag()
	h.Del("Content-Length")
	h.Del("Accept-Ranges")
	c.ResponseWriter.WriteHeader(c.status)
	c.zip = encoders[c.encoding].Get().(encoder) //nolint:forcetypeassert // the pool has nothing else
	c.zip.Reset(c.ResponseWriter)
	if len(c.held) > 0 {
		if _, err := c.zip.Write(c.held); err != nil {
			return 0, err
		}
		c.held = nil
	}
	return c.zip.Write(p)
}

// ReadFrom implements io.ReaderFrom, so that net/http can use sendfile for replies that are not compressed.
func (c *compressed) ReadFrom(src io.Reader) (int64, error) {
	if c.status == 0 && !c.plain {
		c.WriteHeader(http.StatusOK)
	}
	if c.plain {
		return io.Copy(c.ResponseWriter, src)
	}
	return io.Copy(struct{ io.Writer }{c}, src)
}

// Flush implements http.Flusher.
func (c *compressed) Flush() { _ = c.FlushError() }

// FlushError sends what has been written so far; http.ResponseController calls it.
func (c *compressed) FlushError() error {
	if c.zip != nil {
		if err := c.zip.Flush(); err != nil {
			return err
		}
	} else if !c.plain {
		if c.status == 0 {
			c.WriteHeader(http.StatusOK)
		}
		if !c.plain {
			c.passOn()
		}
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// close ends the reply after the handler has returned.
func (c *compressed) close() {
	switch {
	case c.zip != nil:
		_ = c.zip.Close() // the client has gone
		c.zip.Reset(io.Discard)
		encoders[c.encoding].Put(c.zip)
	case !c.plain && c.status != 0:
		c.passOn()
	}
}
