package server

import (
	"io"
	"net/http"
	"strings"
)

// response is the writer that handlers get. It remembers what was sent, and keeps back the mux's own replies, which
// are plain text, so that route can answer in our form.
type response struct {
	http.ResponseWriter
	status int
	bytes  int64
	// routing is the request while the mux has it; missed is the status that the mux wanted to send by itself.
	routing *http.Request
	missed  int
}

// Unwrap lets http.ResponseController reach the connection: flushing, deadlines, hijacking.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush serves handlers that look for http.Flusher instead of using a ResponseController.
func (w *response) Flush() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush() // a writer that can't flush has nothing to flush
}

// WriteHeader sends the status, once.
func (w *response) WriteHeader(status int) {
	if w.missed != 0 {
		return
	}
	if w.status == 0 && w.routing != nil && w.isMiss(status) {
		w.missed = status
		return
	}
	// 1xx replies other than a switch of protocols are followed by the real one.
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// isMiss reports whether the status comes from the mux itself: no pattern matched, or the mux wants to send the
// client of an API path to the same path with a slash, where there is nothing either.
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

// Write sends a part of the body.
func (w *response) Write(p []byte) (int, error) {
	if !w.begin() {
		return len(p), nil
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// ReadFrom keeps the kernel's way of sending files, which net/http's own writer has.
func (w *response) ReadFrom(src io.Reader) (int64, error) {
	if !w.begin() {
		return io.Copy(io.Discard, src)
	}
	n, err := io.Copy(w.ResponseWriter, src)
	w.bytes += n
	return n, err
}

// begin makes a first write send the status, and reports whether the body is wanted.
func (w *response) begin() bool {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.missed == 0
}
