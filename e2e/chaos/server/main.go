// Command server is carrel for tests of durability: everything is the program's own, but its turns are scripted.
// The text "model N …" is N steps, each of which asks the model at CARREL_TEST_MODEL_URL and streams what it says;
// "sleep …" is one step that waits until the model says that it may end.
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
	// As many idle connections as there may be turns: a test is not about connecting.
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	env.Answerer = &scripted{
		url: url, node: env.Getenv("CARREL_TEST_NODE"), client: client,
		sleepers: sleepers{url: url, client: client, wake: make(chan struct{})},
	}
	os.Exit(cli.Main(os.Args[1:], env))
}

// scripted answers as the message says.
type scripted struct {
	url, node string
	client    *http.Client
	sleepers  sleepers
}

// Answer implements thread.Answerer. The reply is all that the model said, step after step.
func (s *scripted) Answer(ctx context.Context, r *task.Run, q thread.Question) (thread.Answer, error) {
	words := strings.Fields(q.Text)
	switch {
	case len(words) > 1 && words[0] == "model":
		n, err := strconv.Atoi(words[1])
		if err != nil {
			return thread.Answer{}, err
		}
		var text strings.Builder
		for range n {
			said, err := r.Step(ctx, "model", "Asking the model", func(ctx context.Context, step *task.Step) ([]byte, error) {
				return s.ask(ctx, r, step)
			})
			if err != nil {
				return thread.Answer{Text: text.String()}, err
			}
			text.Write(said)
		}
		return thread.Answer{Text: text.String()}, nil
	case len(words) > 0 && words[0] == "sleep":
		_, err := r.Step(ctx, "sleep", "Sleeping", func(ctx context.Context, _ *task.Step) ([]byte, error) {
			return nil, s.sleepers.sleep(ctx)
		})
		return thread.Answer{Text: "awake"}, err
	}
	return thread.Answer{}, errors.New("a message that is not in the script")
}

// ask makes one call and tells the turn's readers what comes as it comes. The model speaks ASCII: a piece may end
// anywhere.
func (s *scripted) ask(ctx context.Context, r *task.Run, step *task.Step) ([]byte, error) {
	resp, err := s.post(ctx, r, step)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(resp.Body) // only for the log
		return nil, fmt.Errorf("the model answered %d: %s", resp.StatusCode, why)
	}
	var said []byte
	piece := make([]byte, 64)
	for {
		n, err := resp.Body.Read(piece)
		r.Delta(string(piece[:n]))
		said = append(said, piece[:n]...)
		switch {
		case errors.Is(err, io.EOF):
			return said, nil
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
	// In Go's own spelling the header would be leave for its client to send the request again by itself, and a call
	// would be counted twice.
	req.Header["idempotency-key"] = []string{step.Key()}
	return s.client.Do(req)
}
