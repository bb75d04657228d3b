// Command server is carrel with scripted turns, for the durability tests and the benchmark of turns. The first word of
// a message selects the script: "model N …" runs N steps, each of which calls the model at CARREL_TEST_MODEL_URL and
// streams its reply; "sleep …" is one step that waits for a signal of the model; "note …" is one step that repeats the
// message.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"carrel/internal/cli"
	"carrel/internal/task"
	"carrel/internal/thread"
)

func main() {
	env := cli.System()
	url := env.Getenv("CARREL_TEST_MODEL_URL")
	// A turn must not wait for a new connection to the model.
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	env.Answerer = &scripted{
		url: url, node: env.Getenv("CARREL_TEST_NODE"), client: client,
		sleepers: sleepers{url: url, client: client, wake: make(chan struct{})},
	}
	os.Exit(cli.Main(os.Args[1:], env))
}

// scripted runs the script that a message selects.
type scripted struct {
	url, node string
	client    *http.Client
	sleepers  sleepers
}

// Answer implements thread.Answerer.
func (s *scripted) Answer(ctx context.Context, r *task.Run, q thread.Question) (thread.Answer, error) {
	script, rest, _ := strings.Cut(q.Text, " ")
	switch script {
	case "model":
		return s.callModel(ctx, r, rest)
	case "note":
		text, err := r.Step(ctx, "answer", "Writing the reply", func(context.Context, *task.Step) ([]byte, error) {
			reply := "You wrote: " + q.Text
			r.Delta(reply)
			return []byte(reply), nil
		})
		return thread.Answer{Text: string(text)}, err
	case "sleep":
		_, err := r.Step(ctx, "sleep", "Sleeping", func(ctx context.Context, _ *task.Step) ([]byte, error) {
			return nil, s.sleepers.sleep(ctx)
		})
		return thread.Answer{Text: "awake"}, err
	}
	return thread.Answer{}, errors.New("the message selects no script")
}

// callModel calls the model in as many steps as the rest of the message says. The answer is the text of all replies.
func (s *scripted) callModel(ctx context.Context, r *task.Run, rest string) (thread.Answer, error) {
	count, _, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(count)
	if err != nil {
		return thread.Answer{}, err
	}
	var text strings.Builder
	for range n {
		reply, err := r.Step(ctx, "model", "Asking the model", func(ctx context.Context, step *task.Step) ([]byte, error) {
			return s.stream(ctx, r, step)
		})
		if err != nil {
			return thread.Answer{Text: text.String()}, err
		}
		text.Write(reply)
	}
	return thread.Answer{Text: text.String()}, nil
}

// stream makes one call and streams the reply as events of the turn. The model replies in ASCII, so a chunk may end
// anywhere.
func (s *scripted) stream(ctx context.Context, r *task.Run, step *task.Step) ([]byte, error) {
	resp, err := s.post(ctx, r, step)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		detail, _ := io.ReadAll(resp.Body) // only for the log
		return nil, fmt.Errorf("the model replied with %d: %s", resp.StatusCode, detail)
	}
	var reply []byte
	chunk := make([]byte, 64)
	for {
		n, err := resp.Body.Read(chunk)
		r.Delta(string(chunk[:n]))
		reply = append(reply, chunk[:n]...)
		switch {
		case errors.Is(err, io.EOF):
			return reply, nil
		case err != nil:
			return nil, err
		}
	}
}

func (s *scripted) post(ctx context.Context, r *task.Run, step *task.Step) (*http.Response, error) {
	body, err := json.Marshal(map[string]any{"turn": r.Task().ID, "step": step.N(), "attempt": r.Task().Attempt})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Node", s.node)
	// net/http retries a request with an Idempotency-Key header by itself, and the call would be counted twice. It does
	// not recognise the lower-case spelling.
	req.Header["idempotency-key"] = []string{step.Key()}
	return s.client.Do(req)
}
