package main

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// ended is the query that counts finished work.
var ended = map[string]string{
	// River completes jobs in batches, after the event.
	"river":    "SELECT count(*) FROM river_job WHERE state = 'completed' AND json(metadata) LIKE '%You wrote: %'",
	"river-tx": "SELECT count(*) FROM river_job WHERE state = 'completed' AND json(metadata) LIKE '%You wrote: %'",
	"dbos":     "SELECT count(*) FROM workflow_status WHERE status = 'SUCCESS'",
}

func TestReplyIsSentWhenTheEndOfItsTurnIsStored(t *testing.T) {
	t.Parallel()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "turns.db")
			e, err := open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := e.close(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			look, err := sql.Open("sqlite", sqliteDSN(path))
			if err != nil {
				t.Fatal(err)
			}
			defer look.Close()
			const turns = 20
			h := handler(e)
			var wg sync.WaitGroup
			for range turns {
				wg.Go(func() {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/turns", strings.NewReader(`{"text":"note 1"}`)))
					var reply map[string]string
					if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || reply["status"] != "complete" ||
						reply["text"] != "You wrote: note 1" {
						t.Errorf("%d %s", w.Code, w.Body)
					}
				})
			}
			wg.Wait()
			var stored int
			if err := look.QueryRow(ended[name]).Scan(&stored); err != nil || stored != turns {
				t.Errorf("%d of %d ends are stored, %v", stored, turns, err)
			}
		})
	}
}

func TestAMessageWithoutTextIsRefused(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	handler(nil).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/turns", strings.NewReader(`{}`)))
	if w.Code != http.StatusBadRequest {
		t.Errorf("got %d", w.Code)
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "river", "temporal x 127.0.0.1:1", "river a b c"} {
		if err := run(strings.Fields(args)); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}
