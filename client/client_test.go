package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/client"
	"carrel/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// fake is a server that records requests and replies as a test scripts it.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

// newFake starts a server. The handler gets the number of the request, from 1.
func newFake(t *testing.T, handler func(n int, w http.ResponseWriter, r *http.Request)) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		f.requests = append(f.requests, r)
		f.bodies = append(f.bodies, string(body))
		n := len(f.requests)
		f.mu.Unlock()
		handler(n, w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// sent returns the requests so far. A handler may still run after its connection was broken.
func (f *fake) sent() []*http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// sentBodies returns the bodies of the requests.
func (f *fake) sentBodies() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.bodies)
}

// client returns a client without pauses between attempts.
func (f *fake) client(t *testing.T, credential client.Credential) *client.Client {
	t.Helper()
	c := client.New(f.URL+"/", credential, client.Options{Backoff: time.Nanosecond})
	t.Cleanup(c.Close)
	return c
}

func problem(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"status":0,"code":"`+code+`","detail":"Detail of `+code+`.","requestId":"req_1",`+
		`"errors":[{"pointer":"/name","detail":"Too long."}]}`)
}

func TestRetriesShareTheIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		switch n {
		case 1:
			problem(w, http.StatusServiceUnavailable, "unavailable")
		case 2:
			panic(http.ErrAbortHandler) // the connection breaks, and the client does not know what was processed
		default:
			_, _ = io.WriteString(w, `{"agent":{"id":"agt_1","name":"Papers"}}`)
		}
	})
	reply, err := f.client(t, client.APIKey("crl_1")).CreateAgent(t.Context(), client.AgentCreate{Name: "Papers"})
	if err != nil || reply.Agent.ID != "agt_1" || len(f.sent()) != 3 {
		t.Fatalf("%+v, %v after %d requests", reply, err, len(f.sent()))
	}
	key := f.sent()[0].Header.Get("Idempotency-Key")
	for i, r := range f.sent() {
		if got := r.Header.Get("Idempotency-Key"); got != key || len(got) < 20 || f.sentBodies()[i] != `{"name":"Papers"}` ||
			r.Header.Get("Authorization") != "Bearer crl_1" {
			t.Errorf("request %d has the key %q and the body %s", i, got, f.sentBodies()[i])
		}
	}
	ctx := client.WithIdempotencyKey(t.Context(), "mine")
	if _, err := f.client(t, nil).CreateAgent(ctx, client.AgentCreate{Name: "B"}); err != nil {
		t.Fatal(err)
	}
	if got := f.sent()[3].Header.Get("Idempotency-Key"); got != "mine" {
		t.Errorf("the key is %q", got)
	}
}

func TestRequestsThatMayHaveBeenProcessedAreNotRepeated(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(int, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	c := f.client(t, nil)
	if _, err := c.CancelTurn(t.Context(), "agt_1", "thr_1"); err == nil || len(f.sent()) != 1 {
		t.Errorf("a POST without a key: %v after %d requests", err, len(f.sent()))
	}
	if _, err := c.GetAgent(t.Context(), "agt_1"); err == nil || len(f.sent()) != 5 {
		t.Errorf("a GET: %v after %d requests", err, len(f.sent()))
	}
}

func TestProblemsAreErrors(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			problem(w, http.StatusBadRequest, "invalid_request")
			return
		}
		http.Error(w, "<html>", http.StatusTeapot)
	})
	c := f.client(t, nil)
	_, err := c.GetAgent(t.Context(), "agt_1")
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status != 400 || e.Code != client.CodeInvalidRequest || e.Error() != "Detail of invalid_request." ||
		e.RequestID != "req_1" || len(e.Fields) != 1 || e.Fields[0].Pointer != "/name" || len(f.sent()) != 1 {
		t.Errorf("%+v after %d requests", err, len(f.sent()))
	}
	_, err = c.GetAgent(t.Context(), "agt_1")
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != "" || !strings.Contains(e.Detail, "418") {
		t.Errorf("a reply of a proxy is %+v", err)
	}
}

func TestRetryAfterIsAtLeastThePause(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		problem(w, http.StatusTooManyRequests, "rate_limited")
	})
	c := client.New(f.URL, nil, client.Options{Attempts: 1})
	t.Cleanup(c.Close)
	_, err := c.GetAgent(t.Context(), "agt_1")
	if e, ok := errors.AsType[*client.Error](err); !ok || e.RetryAfter != time.Hour {
		t.Errorf("%+v", err)
	}
	// The pause ends with the context, and no second request is sent.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for len(f.sent()) < 2 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond) // for the reply
		cancel()
	}()
	if _, err := f.client(t, nil).GetAgent(ctx, "agt_1"); !errors.Is(err, context.Canceled) ||
		len(f.sent()) != 2 {
		t.Errorf("%v after %d requests", err, len(f.sent()))
	}
}

func TestPagesAreOneList(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		switch r.FormValue("cursor") {
		case "":
			_, _ = io.WriteString(w, `{"threads":[{"id":"thr_3"},{"id":"thr_2"}],"nextCursor":"a b"}`)
		case "a b":
			_, _ = io.WriteString(w, `{"threads":[{"id":"thr_1"}],"nextCursor":"end"}`)
		default:
			problem(w, http.StatusBadRequest, "invalid_request")
		}
	})
	var ids []string
	var last error
	for thread, err := range f.client(t, nil).ListThreadsAll(t.Context(), "agt_1", client.ListThreadsParams{Limit: 2}) {
		if last = err; err == nil {
			ids = append(ids, thread.ID)
		}
	}
	if !slices.Equal(ids, []string{"thr_3", "thr_2", "thr_1"}) || last == nil || f.sent()[0].FormValue("limit") != "2" {
		t.Errorf("%v, %v", ids, last)
	}
	for range f.client(t, nil).ListThreadsAll(t.Context(), "agt_1", client.ListThreadsParams{}) {
		break
	}
	if len(f.sent()) != 4 {
		t.Errorf("a loop that ends early sends %d requests", len(f.sent())-3)
	}
}

// renewable is a credential whose first token is refused.
type renewable struct{ renewed int }

func (c *renewable) Token(_ context.Context, rejected string) (string, error) {
	if rejected != "" {
		c.renewed++
	}
	if c.renewed > 0 {
		return "new", nil
	}
	return "old", nil
}

func TestARefusedTokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer new" {
			problem(w, http.StatusUnauthorized, "invalid_credential")
			return
		}
		_, _ = io.WriteString(w, `{"agent":{"id":"agt_1"}}`)
	})
	credential := &renewable{}
	if _, err := f.client(t, credential).GetAgent(t.Context(), "agt_1"); err != nil || credential.renewed != 1 {
		t.Errorf("%v after %d renewals", err, credential.renewed)
	}
	_, err := f.client(t, client.APIKey("revoked")).GetAgent(t.Context(), "agt_1")
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != http.StatusUnauthorized || len(f.sent()) != 3 {
		t.Errorf("a key: %v after %d requests", err, len(f.sent()))
	}
}

func TestUploadsAreRepeatedWithTheWholeFile(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			problem(w, http.StatusTooManyRequests, "rate_limited")
			return
		}
		_, _ = io.WriteString(w, `{"uploads":[{"name":"a.txt"}]}`)
	})
	opened := 0
	reply, err := f.client(t, nil).UploadFile(t.Context(), "agt_1", "src_1", "a.txt", func() (io.ReadCloser, error) {
		opened++
		return io.NopCloser(strings.NewReader("A note.")), nil
	})
	if err != nil || reply.Uploads[0].Name != "a.txt" || opened != 2 || !strings.Contains(f.sentBodies()[1], "A note.") {
		t.Errorf("%+v, %v, opened %d times", reply, err, opened)
	}
	missing := errors.New("no such file")
	_, err = f.client(t, nil).UploadFile(t.Context(), "agt_1", "src_1", "b.txt",
		func() (io.ReadCloser, error) { return nil, missing })
	if !errors.Is(err, missing) {
		t.Errorf("a file that can't be opened: %v", err)
	}
}
