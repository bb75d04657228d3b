package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// serveCached answers with a cached result, or lets the SDK answer and caches its result. Every client that connects
// requests the list of tools, which is the longest reply and does not change while the program runs. The cached result
// includes the brace that ends the reply, which would cost a further write to the socket.
func (e *endpoint) serveCached(s *stream, r *http.Request, m message, key string, sdk http.Handler) {
	cached, ok := e.cache.Load(key)
	if !ok || !isPlainID(m.ID) {
		recorder := &replyRecorder{ResponseWriter: s}
		sdk.ServeHTTP(recorder, r)
		var reply struct {
			Result json.RawMessage `json:"result"`
		}
		if recorder.status == http.StatusOK && json.Unmarshal(recorder.body.Bytes(), &reply) == nil && len(reply.Result) > 0 {
			e.cache.Store(key, append(reply.Result, '}'))
		}
		return
	}
	rest, _ := cached.(json.RawMessage)
	head := append(append([]byte(`{"jsonrpc":"2.0","id":`), m.ID...), `,"result":`...)
	h := s.Header()
	h.Set("Content-Type", typeJSON)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(head)+len(rest)))
	_, _ = s.Write(head) // the client may have disconnected
	_, _ = s.Write(rest)
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
