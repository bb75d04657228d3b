package server

import (
	"io"
	"net/http"
	"strings"
)

// response is the http.ResponseWriter of the handlers. It records status and size, and holds back the plain text
// replies of the mux, so that route can replace them with problems.
type response struct {
	http.ResponseWriter
	status int
	bytes  int64
	// routing is the request while the mux serves it. missed is the status of a reply of the mux that was held back.
	routing *http.Request
	missed  int
}

// Unwrap supports http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher, for handlers that do not use a ResponseController.
func (w *response) Flush() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush() // not supported by all writers
}

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if w.missed != 0 {
		return
	}
	if w.status == 0 && w.routing != nil && w.isMiss(status) {
		w.missed = status
		return
	}
	// 1xx replies, except 101, are followed by the final one.
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// isMiss reports whether the status comes from the mux itself: no pattern matched, or the mux redirects an API path to
// the same path with a slash, which does not exist either.
func (w *response) isMiss(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return w.routing.Pattern == ""
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		to, _, _ := strings.Cut(w.Header().Get("Location"), "?")
		return isAPI(w.routing.URL.Path) && to == w.routing.URL.EscapedPath()+"/"
	}
	return false
}

// Write implements io.Writer.
func (w *response) Write(p []byte) (int, error) {
	if !w.begin() {
		return len(p), nil
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// ReadFrom implements io.ReaderFrom, so that net/http can use sendfile.
func (w *response) ReadFrom(src io.Reader) (int64, error) {
	if !w.begin() {
		return io.Copy(io.Discard, src)
	}
	n, err := io.Copy(w.ResponseWriter, src)
	w.bytes += n
	return n, err
}

// begin sends the status before the first write, and reports whether the body is to be sent.
func (w *response) begin() bool {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.missed == 0
}
