package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// standInTurns replies to messages like Carrel, and stores the number of sleeping turns in a file, so that a new
// process resumes them after a kill.
type standInTurns struct {
	file, model string

	mu     sync.Mutex
	asleep int
	busy   map[string]bool // threads with a turn
}

func (s *standInTurns) load() error {
	if s.model == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return err
	}
	raw, err := os.ReadFile(s.file)
	if err == nil {
		s.asleep, err = strconv.Atoi(string(raw))
	}
	go s.reports()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// reports sends the number of sleeping turns to the model, like the scripted server.
func (s *standInTurns) reports() {
	memory := 0
	for ; ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		body := fmt.Appendf(nil, `{"asleep":%d,"memory":%d}`, s.asleep, memory)
		s.mu.Unlock()
		memory = 0
		resp, err := http.Post(s.model+"/asleep", "application/json", bytes.NewReader(body))
		if err != nil {
			continue
		}
		var orders struct{ Measure bool }
		if json.NewDecoder(resp.Body).Decode(&orders) == nil && orders.Measure {
			memory = 1
		}
		_ = resp.Body.Close()
	}
}

func (s *standInTurns) post(w http.ResponseWriter, r *http.Request) {
	var in struct{ Text string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Text == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	thread := r.PathValue("id")
	s.mu.Lock()
	taken := s.busy[thread]
	s.busy[thread] = true
	s.mu.Unlock()
	switch {
	case taken:
		w.WriteHeader(http.StatusConflict)
		return
	case in.Text == sleepText && r.Header.Get("Prefer") == "respond-async":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asleep++
		if err := os.WriteFile(s.file, []byte(strconv.Itoa(s.asleep)), 0o600); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, `{"status":"working","turnId":"trn_1"}`)
		return
	}
	time.Sleep(100 * time.Microsecond)
	s.mu.Lock()
	delete(s.busy, thread)
	s.mu.Unlock()
	echo(w, "You wrote: "+in.Text)
}

func echo(w http.ResponseWriter, text string) {
	_ = json.NewEncoder(w).Encode(map[string]string{"status": "complete", "text": text})
}

// runStandInPeers acts as `peers …` and reports whether it handled the arguments.
func runStandInPeers(args []string) (bool, error) {
	switch {
	case len(args) == 1 && args[0] == "versions":
		fmt.Println(`{"river":"v0.1.2","dbos":"v3.4.5"}`)
		return true, nil
	case len(args) == 3 && (args[0] == "river" || args[0] == "river-tx" || args[0] == "dbos"):
		mux := http.NewServeMux()
		mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
		mux.HandleFunc("POST /turns", func(w http.ResponseWriter, r *http.Request) {
			var in struct{ Text string }
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			time.Sleep(2 * time.Millisecond)
			echo(w, "You wrote: "+in.Text)
		})
		return true, http.ListenAndServe(args[2], mux)
	}
	return false, nil
}
