package modelfake

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Reply is a scripted reply. The zero value is an empty, complete answer.
type Reply struct {
	// Text is sent in these pieces. A piece may end within a character or contain NUL.
	Text []string
	// Calls are sent after the text.
	Calls []Call
	// Finish is the finish reason in the words of the format. The default depends on Calls.
	Finish string
	// In, Out and Cached are the usage. If In and Out are 0, words and pieces are counted. NoUsage omits the usage.
	In, Out, Cached int
	NoUsage         bool

	// Pause is the delay before each piece.
	Pause time.Duration
	// KeepAlive sends comments and pings between the pieces, EmptyChoices sends chunks without content.
	KeepAlive, EmptyChoices bool
	// NoIDs omits the ids of tool calls, like some OpenAI-compatible servers.
	NoIDs bool
	// End is the end of the stream, after text and calls.
	End End

	// Status, if not 0, is the status of an error reply instead of a stream. RetryAfter is its header, if not empty. Code
	// and Message belong to this error, or to the error event of End Fails.
	Status     int
	RetryAfter string
	Code       string
	Message    string
	// Body, if not empty, is sent with status 200 instead of a stream.
	Body, ContentType string
}

// End is the end of a stream.
type End int

// Ends of a stream.
const (
	// Whole ends the stream correctly.
	Whole End = iota
	// Cut closes the stream cleanly before the finish reason.
	Cut
	// Unterminated closes the stream cleanly after finish reason and usage, without the final event.
	Unterminated
	// NoReason omits only the finish reason.
	NoReason
	// Broken closes the connection within an event.
	Broken
	// BrokenLate closes the connection after finish reason and usage.
	BrokenLate
	// Reset resets the connection, which may also lose earlier events.
	Reset
	// Fails sends an error event.
	Fails
	// Hangs sends nothing more until the client disconnects.
	Hangs
	// Garbage sends an event that is not JSON.
	Garbage
)

// Say returns a reply with a text, sent word by word.
func Say(text string) Reply { return Reply{Text: strings.SplitAfter(text, " ")} }

// Use returns a reply with tool calls.
func Use(calls ...Call) Reply { return Reply{Calls: calls} }

// Refuse returns an error reply with a status and a Retry-After header.
func Refuse(status int, retryAfter string) Reply {
	return Reply{Status: status, RetryAfter: retryAfter, Code: "error", Message: "scripted"}
}

// refuse writes an error reply.
func (s *Server) refuse(w http.ResponseWriter, reply Reply) {
	if reply.RetryAfter != "" {
		w.Header().Set("Retry-After", reply.RetryAfter)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(reply.Status)
	_, _ = fmt.Fprintln(w, s.errorOf(reply)) // the client may have disconnected
}

func (s *Server) errorOf(reply Reply) string {
	details := map[string]any{"message": reply.Message, "type": reply.Code}
	all := map[string]any{"error": details}
	if s.Format == Anthropic {
		all["type"], all["request_id"] = "error", "req_1"
	} else {
		details["code"], details["param"] = reply.Code, nil
	}
	b, _ := json.Marshal(all) // strings always marshal
	return string(b)
}

// encoder writes a stream in one of the formats.
type encoder interface {
	begin()
	text(piece string)
	call(index int, c Call, pieces []string)
	keepAlive()
	emptyChoices()
	// finish writes the finish reason, unless it is empty, and the usage. end writes the final event.
	finish(reason string)
	end()
	fail(body string)
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request, request Request, reply Reply) {
	if reply.In == 0 && reply.Out == 0 {
		reply.In = len(strings.Fields(request.Body))
		reply.Out = len(reply.Text) + len(reply.Calls)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	wr := &writer{w: w, control: http.NewResponseController(w), gone: r.Context().Done(), pause: reply.Pause}
	wr.flush()
	var out encoder = &openAIEncoder{writer: wr, model: request.Model, reply: reply}
	if s.Format == Anthropic {
		out = &anthropicEncoder{writer: wr, model: request.Model, reply: reply}
	}
	sendBetween := func() {
		if reply.KeepAlive {
			out.keepAlive()
		}
		if reply.EmptyChoices {
			out.emptyChoices()
		}
	}
	if reply.KeepAlive {
		wr.raw(": keep-alive\n\n")
	}
	if len(reply.Text)+len(reply.Calls) > 0 || reply.End == Whole || reply.End == Unterminated ||
		reply.End == BrokenLate || reply.End == NoReason {
		out.begin()
	}
	for _, piece := range reply.Text {
		sendBetween()
		out.text(piece)
	}
	for i, call := range reply.Calls {
		sendBetween()
		if reply.NoIDs {
			call.ID = ""
		}
		out.call(i, call, pieces(call.Arguments))
	}
	s.finish(wr, out, reply)
}

func (s *Server) finish(wr *writer, out encoder, reply Reply) {
	switch reply.End {
	case Whole, Unterminated, BrokenLate:
		reason := reply.Finish
		if reason == "" {
			reason = map[Format]string{OpenAI: "stop", Anthropic: "end_turn"}[s.Format]
			if len(reply.Calls) > 0 {
				reason = map[Format]string{OpenAI: "tool_calls", Anthropic: "tool_use"}[s.Format]
			}
		}
		out.finish(reason)
		switch reply.End {
		case Whole:
			out.end()
		case BrokenLate:
			panic(http.ErrAbortHandler)
		}
	case NoReason:
		out.finish("")
		out.end()
	case Cut:
	case Broken:
		wr.raw("data: {\"half\":")
		panic(http.ErrAbortHandler)
	case Reset:
		wr.reset()
	case Fails:
		out.fail(s.errorOf(reply))
	case Garbage:
		wr.raw("event: message_delta\ndata: {what?}\n\n")
	case Hangs:
		<-wr.gone
	}
}

// pieces splits arguments into pieces of three bytes, also within characters.
func pieces(s string) []string {
	var out []string
	for len(s) > 3 {
		out, s = append(out, s[:3]), s[3:]
	}
	return append(out, s)
}

// writer flushes every event, after the pause. It does nothing once the client has disconnected.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	gone    <-chan struct{}
	pause   time.Duration
}

func (w *writer) flush() { _ = w.control.Flush() } // the client may have disconnected

func (w *writer) raw(s string) {
	_, _ = w.w.Write([]byte(s)) // the client may have disconnected
	w.flush()
}

func (w *writer) event(kind, data string) {
	if kind != "" {
		kind = "event: " + kind + "\n"
	}
	w.raw(kind + "data: " + data + "\n\n")
}

func (w *writer) wait() {
	if w.pause == 0 {
		return
	}
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.gone:
	}
}

func (w *writer) reset() {
	conn, _, err := w.control.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // Close resets the connection
	}
	_ = conn.Close()
}

// quote encodes a JSON string. It keeps invalid UTF-8, like servers that split characters between chunks.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
