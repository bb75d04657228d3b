package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// pacedModel is a model server in OpenAI's format with fixed times to the first and to each further token. It plans,
// selects the first sentences of passages and answers from them, so that every stage of a turn runs.
type pacedModel struct {
	url          string
	srv          *http.Server
	first, token time.Duration

	mu    sync.Mutex
	calls int
	spent time.Duration
	wrong error
}

func newPacedModel(first, token time.Duration) (*pacedModel, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &pacedModel{url: "http://" + l.Addr().String() + "/v1", first: first, token: token}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	m.srv = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = m.srv.Serve(l) }() // until close
	return m, nil
}

func (m *pacedModel) close() { _ = m.srv.Close() }

// reset clears the counters before a turn.
func (m *pacedModel) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls, m.spent, m.wrong = 0, 0, nil
}

// usage returns the number of calls since reset and their total time.
func (m *pacedModel) usage() (calls int, spent time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls, m.spent, m.wrong
}

// complete serves a request. Its time ends with the last byte; the client's processing is not included.
func (m *pacedModel) complete(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	var ask struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
		Format json.RawMessage `json:"response_format"`
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 8<<20)).Decode(&ask)
	if err == nil && len(ask.Messages) == 0 {
		err = errors.New("a request without messages")
	}
	if err == nil {
		m.stream(w, pacedAnswer(string(ask.Format), ask.Messages[len(ask.Messages)-1].Content))
	} else {
		w.WriteHeader(http.StatusBadRequest)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	m.spent += time.Since(began)
	m.wrong = errors.Join(m.wrong, err)
}

// stream sends a text in tokens of four characters.
func (m *pacedModel) stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	tokens := 0
	send := func(choices, rest string) {
		fmt.Fprintf(w,
			"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"paced\",\"choices\":%s%s}\n\n",
			choices, rest)
		_ = flush()
	}
	next := time.Now().Add(m.first)
	for runes := []rune(text); len(runes) > 0; tokens++ {
		n := min(4, len(runes))
		piece, _ := json.Marshal(string(runes[:n])) // strings always marshal
		runes = runes[n:]
		// Tokens are sent on a schedule, so that late wake-ups do not accumulate.
		time.Sleep(time.Until(next))
		next = next.Add(m.token)
		send(`[{"index":0,"delta":{"content":`+string(piece)+`},"finish_reason":null}]`, "")
	}
	send(`[{"index":0,"delta":{},"finish_reason":"stop"}]`, "")
	send("[]",
		fmt.Sprintf(`,"usage":{"prompt_tokens":1000,"completion_tokens":%d,"total_tokens":%d}`, tokens, 1000+tokens))
	fmt.Fprint(w, "data: [DONE]\n\n")
	_ = flush()
}

var (
	pacedPassage = regexp.MustCompile(`(?s) kind="passage" number="(\d+)">\n.*?\n\n(.*?)\n</`)
	pacedQuote   = regexp.MustCompile(`(?s) kind="quote" number="(\d+)">\n.*?\n\n(.*?)\n</`)
)

// pacedAnswer returns a plausible reply for the requested response format.
func pacedAnswer(format, prompt string) string {
	switch {
	case strings.Contains(format, `"queries"`):
		_, question, _ := strings.Cut(prompt, "Question: ")
		b, _ := json.Marshal(map[string]any{"question": question, "queries": []any{
			map[string]any{"query": question, "source": 0, "fromYear": 0, "toYear": 0},
			map[string]any{"query": question + " evaluation", "source": 0, "fromYear": 0, "toYear": 0},
		}})
		return string(b)
	case strings.Contains(format, `"evidence"`):
		var chosen []any
		for _, m := range pacedPassage.FindAllStringSubmatch(prompt, 6) {
			sentence, _, _ := strings.Cut(m[2], ". ")
			chosen = append(chosen, map[string]any{"passage": json.Number(m[1]), "quote": sentence, "relevance": 8})
		}
		b, _ := json.Marshal(map[string]any{"evidence": chosen})
		return string(b)
	}
	var b strings.Builder
	for _, m := range pacedQuote.FindAllStringSubmatch(prompt, 4) {
		words := strings.Fields(m[2])
		fmt.Fprintf(&b, "The sources say: %s [%s]. ", strings.TrimRight(strings.Join(words, " "), "."), m[1])
	}
	return b.String()
}
