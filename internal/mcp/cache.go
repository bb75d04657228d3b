package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// serveCached answers with a cached result, or lets the SDK answer and caches its result. Every client that connects
// requests the list of tools, which is the longest reply and does not change while the program runs.
func (e *endpoint) serveCached(s *stream, r *http.Request, m message, key string, sdk http.Handler) {
	cached, ok := e.cache.Load(key)
	if !ok || !isPlainID(m.ID) {
		recorder := &replyRecorder{ResponseWriter: s}
		sdk.ServeHTTP(recorder, r)
		var reply struct {
			Result json.RawMessage `json:"result"`
		}
		if recorder.status == http.StatusOK && json.Unmarshal(recorder.body.Bytes(), &reply) == nil && len(reply.Result) > 0 {
			e.cache.Store(key, []byte(reply.Result))
		}
		return
	}
	result, _ := cached.([]byte)
	head := append(append([]byte(`{"jsonrpc":"2.0","id":`), m.ID...), `,"result":`...)
	h := s.Header()
	h.Set("Content-Type", typeJSON)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(head)+len(result)+len("}")))
	for _, b := range [][]byte{head, result, []byte("}")} {
		_, _ = s.Write(b) // the client may have disconnected
	}
}

// replyRecorder passes a reply on and keeps a copy.
type replyRecorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (r *replyRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *replyRecorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.body.Write(b)
	return r.ResponseWriter.Write(b)
}
