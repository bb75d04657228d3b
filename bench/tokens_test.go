package main

import (
	"bufio"
	"bytes"
	"encoding/json"
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
func rotating(t *testing.T, rotate bool) (addr string) {
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
	return s.Listener.Addr().String()
}

// ownProcess is the process of a server that runs in the test.
func ownProcess(t *testing.T) *process {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return &process{cmd: &exec.Cmd{Process: self}}
}

func TestARoundRefreshesEachTokenInTurn(t *testing.T) {
	t.Parallel()
	addr := rotating(t, true)
	server := &tokenServer{
		process: ownProcess(t),
		name:    "stand-in",
		addr:    addr,
		clients: []*refresher{newRefresher(addr, "/", "c", "one.0"), newRefresher(addr, "/", "c", "two.0")},
	}
	if err := server.round(t.Context(), 500*time.Millisecond); err != nil {
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
		addr := rotating(t, rotate)
		server := &tokenServer{
			process: ownProcess(t),
			addr:    addr,
			clients: []*refresher{newRefresher(addr, "/", "c", token)},
		}
		if err := server.round(t.Context(), time.Second); err == nil {
			t.Errorf("%s is taken", token)
		}
	}
}

// tokenReply is as long as a reply of Carrel.
var tokenReply = []byte(`{"access_token":"` + strings.Repeat("a", 64) + `","token_type":"Bearer","expires_in":3600,` +
	`"refresh_token":"` + strings.Repeat("r", 64) + `","scope":"agents offline_access"}` + "\n")

func TestRefreshRequestIsWellFormedForEveryToken(t *testing.T) {
	t.Parallel()
	r := newRefresher("h:1", "/token", "a client", "short")
	for _, token := range []string{"short", strings.Repeat("long", 100), "a+b/c=&d"} {
		r.token = token
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.append(nil, 1))))
		if err != nil {
			t.Fatal(err)
		}
		if err := req.ParseForm(); err != nil {
			t.Fatal(err)
		}
		if req.Host != "h:1" || req.URL.Path != "/token" || req.PostForm.Get("client_id") != "a client" ||
			req.PostForm.Get("grant_type") != "refresh_token" || req.PostForm.Get("refresh_token") != token {
			t.Errorf("%+v", req)
		}
	}
}

func TestOnlyAReplyWithTwoTokensIsAccepted(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		string(tokenReply): strings.Repeat("r", 64),
		"{\n \"access_token\" : \"a\",\r\n \"refresh_token\"\t: \"b\" }": "b",
		`{"refresh_token":"b","access_token":"a"}`:                       "b",
		``:                      "",
		`{}`:                    "",
		`{"access_token":"a"}`:  "",
		`{"refresh_token":"b"}`: "",
		`{"access_token":"","refresh_token":"b"}`:                        "",
		`{"access_token":"a","refresh_token":""}`:                        "",
		`{"access_token":"a","refresh_token":5}`:                         "",
		`{"access_token":"a","refresh_token":"old"}`:                     "",
		`{"access_token":"a","refresh_token":"b\u0041"}`:                 "",
		`{"access_token":"a","refresh_token":"b"`:                        "",
		`{"access_token":"a","refresh_token":"b}`:                        "",
		`{"access_token":"a","refresh_token":"b","refresh_token":"c"}`:   "",
		`{"access_token":"a","error":"\"refresh_token\": \"b\""}`:        "",
		`{"access_token":"a","missing":["refresh_token"],"other":": x"}`: "",
		`{"my_access_token":"a","refresh_token_of":"b"}`:                 "",
		`["access_token":"a","refresh_token":"b"]`:                       "",
	} {
		r := newRefresher("h:1", "/", "c", "old")
		err := r.check([]byte(body))
		if want == "" && (err == nil || r.token != "old") || want != "" && (err != nil || r.token != want) {
			t.Errorf("%s: got token %q, %v", body, r.token, err)
		}
	}
}

// BenchmarkTokenReply compares the check of a reply with encoding/json.
func BenchmarkTokenReply(b *testing.B) {
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		r := &refresher{}
		for b.Loop() {
			r.token = ""
			if err := r.check(tokenReply); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var got struct {
				Access  string `json:"access_token"`
				Refresh string `json:"refresh_token"`
			}
			if err := json.Unmarshal(tokenReply, &got); err != nil || got.Access == "" || got.Refresh == "" {
				b.Fatal(err)
			}
		}
	})
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
