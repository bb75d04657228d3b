package modelfake

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Reply is an answer. The zero value is an empty one that ends well.
type Reply struct {
	// Text is sent piece by piece, as it is: a piece may end within a character, or hold a NUL.
	Text []string
	// Calls follow the text.
	Calls []Call
	// Finish is why the model stopped, in words of the format; empty means the usual ones.
	Finish string
	// In, Out and Cached are the usage. When In and Out are 0 they are words and pieces; NoUsage leaves it out.
	In, Out, Cached int
	NoUsage         bool

	// Pause is the time before each piece.
	Pause time.Duration
	// KeepAlive puts comments and pings between the pieces, and EmptyChoices chunks without content.
	KeepAlive, EmptyChoices bool
	// NoIDs leaves out the ids of calls, as some servers of OpenAI's format do.
	NoIDs bool
	// End is how the stream ends after what there is of text and calls.
	End End

	// Status other than 0 is an answer without a stream, with a Retry-After unless that is empty, and an error of this
	// code and message. They are also those of an error in the midst of a stream.
	Status     int
	RetryAfter string
	Code       string
	Message    string
	// Body, when not empty, is an answer of status 200 that is no stream.
	Body, ContentType string
}

// End is how a stream ends.
type End int

// The ends.
const (
	// Whole is a stream as it should be.
	Whole End = iota
	// Cut closes the stream cleanly, without the reason to finish and all that follows.
	Cut
	// Unterminated closes the stream cleanly after the reason to finish and the usage, without the mark of its end.
	Unterminated
	// NoReason leaves out only the reason to finish.
	NoReason
	// Broken closes the connection in the midst of the stream.
	Broken
	// BrokenLate closes the connection after the reason to finish and the usage.
	BrokenLate
	// Reset resets the connection, which may also lose what was sent before.
	Reset
	// Fails sends an error.
	Fails
	// Hangs sends nothing more until the client leaves.
	Hangs
	// Garbage sends something that is no JSON.
	Garbage
)

// Say is an answer of this text, word by word.
func Say(text string) Reply { return Reply{Text: strings.SplitAfter(text, " ")} }

// Use is an answer of these calls.
func Use(calls ...Call) Reply { return Reply{Calls: calls} }

// Refuse is an answer with a status and a Retry-After.
func Refuse(status int, retryAfter string) Reply {
	return Reply{Status: status, RetryAfter: retryAfter, Code: "error", Message: "scripted"}
}

// refuse answers with a status and an error in the format.
func (s *Server) refuse(w http.ResponseWriter, reply Reply) {
	if reply.RetryAfter != "" {
		w.Header().Set("Retry-After", reply.RetryAfter)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(reply.Status)
	_, _ = fmt.Fprintln(w, s.errorOf(reply)) // a client that left does not want it
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

// speaker writes a stream in one of the formats.
type speaker interface {
	begin()
	text(piece string)
	call(index int, c Call, pieces []string)
	keepAlive()
	emptyChoices()
	// finish gives the reason unless it is empty, and the usage; end is the mark of the end.
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
	var out speaker = &openAISpeaker{writer: wr, model: request.Model, reply: reply}
	if s.Format == Anthropic {
		out = &anthropicSpeaker{writer: wr, model: request.Model, reply: reply}
	}
	between := func() {
		if reply.KeepAlive {
			out.keepAlive()
		}
		if reply.EmptyChoices {
			out.emptyChoices()
		}
	}
	if reply.KeepAlive {
		wr.raw(": still here\n\n")
	}
	if len(reply.Text)+len(reply.Calls) > 0 || reply.End == Whole || reply.End == Unterminated || reply.End == BrokenLate || reply.End == NoReason {
		out.begin()
	}
	for _, piece := range reply.Text {
		between()
		out.text(piece)
	}
	for i, call := range reply.Calls {
		between()
		if reply.NoIDs {
			call.ID = ""
		}
		out.call(i, call, pieces(call.Arguments))
	}
	s.finish(wr, out, reply)
}

func (s *Server) finish(wr *writer, out speaker, reply Reply) {
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

// pieces cuts arguments into pieces of three bytes, through the midst of names and characters.
func pieces(s string) []string {
	var out []string
	for len(s) > 3 {
		out, s = append(out, s[:3]), s[3:]
	}
	return append(out, s)
}

// writer sends events at once, each after its pause. Once the client has left it does nothing.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	gone    <-chan struct{}
	pause   time.Duration
}

func (w *writer) flush() { _ = w.control.Flush() } // a client that left does not want it

func (w *writer) raw(s string) {
	_, _ = w.w.Write([]byte(s)) // a client that left does not want it
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
		_ = tcp.SetLinger(0) // closing it is then a reset
	}
	_ = conn.Close()
}

// quote writes a JSON string, and leaves bytes that are no UTF-8 as they are, as servers do that send half a character.
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
