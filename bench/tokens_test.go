package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// rotating is a server that accepts each refresh token once.
func rotating(t *testing.T, rotate bool) string {
	var mu sync.Mutex
	next := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		chain, n, _ := strings.Cut(r.PostFormValue("refresh_token"), ".")
		if r.PostFormValue("grant_type") != "refresh_token" || n != fmt.Sprint(next[chain]) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if rotate {
			next[chain]++
		}
		fmt.Fprintf(w, `{"access_token":"a","refresh_token":"%s.%d"}`, chain, next[chain])
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestARoundRefreshesEachTokenInTurn(t *testing.T) {
	t.Parallel()
	url := rotating(t, true)
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	server := &tokenServer{
		process: &process{cmd: &exec.Cmd{Process: self}},
		name:    "stand-in",
		clients: []*refresher{newRefresher(url, "c", "one.0"), newRefresher(url, "c", "two.0")},
	}
	if err := server.round(t.Context(), 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if len(server.rates) != 1 || server.rates[0] <= 0 || len(server.waits) < 2 {
		t.Errorf("%v, %d waits", server.rates, len(server.waits))
	}
	for _, c := range server.clients {
		if strings.HasSuffix(c.token, ".0") {
			t.Errorf("%s was never refreshed", c.token)
		}
	}
}

func TestAReplyWithoutANewTokenIsAnError(t *testing.T) {
	t.Parallel()
	for token, rotate := range map[string]bool{"one.0": false, "one.7": true} {
		if err := newRefresher(rotating(t, rotate), "c", token).refresh(t.Context()); err == nil {
			t.Errorf("%s is taken", token)
		}
	}
}

func TestTheReportSaysWhetherTheTargetIsMet(t *testing.T) {
	t.Parallel()
	ours := &tokenServer{name: "ours", rates: []float64{50, 30}, waits: []time.Duration{1}, cpu: time.Millisecond}
	theirs := &tokenServer{name: "theirs", rates: []float64{10, 10}, waits: []time.Duration{1}, cpu: 2 * time.Millisecond}
	row := tokenPage(&tokenSettings{}, []*tokenServer{ours, theirs}).tables[1].rows[0]
	if got := strings.Join(row, " "); got != "4.00× 3.00× 5.00× ≥ 3× "+verdict(true)+" 2.00×" {
		t.Errorf("%s", got)
	}
	if row := tokenPage(&tokenSettings{}, []*tokenServer{theirs, ours}).tables[1].rows[0]; row[4] != verdict(false) {
		t.Errorf("%v", row)
	}
}

func TestHiddenFieldsAreRead(t *testing.T) {
	t.Parallel()
	got := fieldsOf(`<input type="hidden" name="return" value="/a?b&amp;c"><input name="x" value="y">`)
	if len(got) != 1 || got.Get("return") != "/a?b&c" {
		t.Errorf("%v", got)
	}
}
