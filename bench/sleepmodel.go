package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// sleepModel is the model of the scripted server in e2e/chaos. The server reports the number of sleeping turns to it
// and takes commands to collect garbage.
type sleepModel struct {
	url string
	srv *http.Server

	mu      sync.Mutex
	asleep  int
	tidy    bool // request a garbage collection
	tidied  bool // the collection is done
	changed chan struct{}
}

func newSleepModel() (*sleepModel, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &sleepModel{url: "http://" + l.Addr().String(), changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /asleep", m.report)
	m.srv = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = m.srv.Serve(l) }() // until close
	return m, nil
}

func (m *sleepModel) close() { _ = m.srv.Close() }

// report handles a report of the server and replies with a command.
func (m *sleepModel) report(w http.ResponseWriter, r *http.Request) {
	var said struct {
		Asleep int    `json:"asleep"`
		Memory uint64 `json:"memory"` // set after a requested collection
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&said); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asleep = said.Asleep
	m.tidied = m.tidied || said.Memory > 0
	_ = json.NewEncoder(w).Encode(map[string]bool{"measure": m.tidy}) // the server repeats the report
	m.tidy = false
	close(m.changed)
	m.changed = make(chan struct{})
}

// awaitAsleep waits until at least n turns sleep.
func (m *sleepModel) awaitAsleep(ctx context.Context, n int) error {
	return m.await(ctx, fmt.Sprintf("%d turns to sleep", n), func() bool { return m.asleep >= n })
}

// tidyUp makes the server collect garbage and release memory.
func (m *sleepModel) tidyUp(ctx context.Context) error {
	m.mu.Lock()
	m.tidy, m.tidied = true, false
	m.mu.Unlock()
	return m.await(ctx, "the server to collect its memory", func() bool { return m.tidied })
}

func (m *sleepModel) await(ctx context.Context, what string, reached func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, sleepTimeout, errors.New("it took too long"))
	defer cancel()
	for {
		m.mu.Lock()
		done, changed, asleep := reached(), m.changed, m.asleep
		m.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s, with %d asleep: %w", what, asleep, context.Cause(ctx))
		}
	}
}
