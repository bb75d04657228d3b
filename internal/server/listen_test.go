package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/server"
	"carrel/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// start runs the server. stop stops it and returns the error of Serve.
func (h harness) start(t *testing.T) (stop func() error) {
	t.Helper()
	if err := h.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h.serve(t)
}

// serve runs the server after Listen.
func (h harness) serve(t *testing.T) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Serve(ctx) }()
	stopped := false
	stop = func() error {
		cancel()
		stopped = true
		return <-done
	}
	t.Cleanup(func() {
		if !stopped {
			_ = stop()
		}
	})
	return stop
}

// newClient returns a client whose connections are closed at the end of the test.
func newClient(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func get(t *testing.T, c *http.Client, url string) (int, string, *http.Response) {
	t.Helper()
	res, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body), res
}

func TestServerServesUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	h := newServer(t, server.Options{Version: "1.2.3"})
	if h.Addr() != "" || h.Serve(t.Context()) == nil {
		t.Error("Serve without Listen succeeded")
	}
	stop := h.start(t)
	if status, body, _ := get(t, newClient(t), "http://"+h.Addr()+"/healthz"); status != 200 || body != "ok\n" {
		t.Errorf("%d %s", status, body)
	}
	if err := stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if _, err := net.Dial("tcp", h.Addr()); err == nil {
		t.Error("the stopped server still listens")
	}
	if got := h.lines(t, "listening"); len(got) != 1 || got[0]["version"] != "1.2.3" || got[0]["addr"] != h.Addr() {
		t.Errorf("log: %s", h.log)
	}
}

func TestPortInUseErrorNamesTheFlag(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	addr := taken.Addr().String()
	err = newServer(t, server.Options{}, "CARREL_ADDR", addr).Listen(t.Context())
	if err == nil || !strings.Contains(err.Error(), addr+" is already in use") ||
		!strings.Contains(err.Error(), "--addr") {
		t.Errorf("%v", err)
	}
	err = newServer(t, server.Options{}, "CARREL_METRICS_ADDR", addr).Listen(t.Context())
	if err == nil || !strings.Contains(err.Error(), "--metrics-addr") {
		t.Errorf("%v", err)
	}
	err = newServer(t, server.Options{}, "CARREL_ADDR", "192.0.2.1:1").Listen(t.Context())
	if err == nil || !strings.Contains(err.Error(), "address of this machine") {
		t.Errorf("%v", err)
	}
}

func TestOpenRequestIsDrained(t *testing.T) {
	t.Parallel()
	entered, draining := make(chan struct{}), make(chan struct{})
	opts := routes(map[string]http.HandlerFunc{"/slow": func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-draining
		if r.Context().Err() != nil {
			t.Error("the shutdown cancelled the request")
		}
		_, _ = w.Write([]byte("done"))
	}})
	opts.Draining = func() { close(draining) }
	h := newServer(t, opts)
	stop := h.start(t)
	client := newClient(t)
	reply := make(chan string, 1)
	go func() {
		_, body, _ := get(t, client, "http://"+h.Addr()+"/slow")
		reply <- body
	}()
	<-entered
	if err := stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if got := <-reply; got != "done" {
		t.Errorf("the reply is %q", got)
	}
}

func TestRequestIsClosedAfterTheShutdownTimeout(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	h := newServer(t, routes(map[string]http.HandlerFunc{"/stuck": func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	}}), "CARREL_SHUTDOWN_TIMEOUT", "50ms")
	stop := h.start(t)
	client := newClient(t)
	failed := make(chan error, 1)
	go func() {
		res, err := client.Get("http://" + h.Addr() + "/stuck")
		if err == nil {
			_ = res.Body.Close()
		}
		failed <- err
	}()
	<-entered
	if err := stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
	if len(h.lines(t, "closed requests that did not end in time")) != 1 {
		t.Errorf("log: %s", h.log)
	}
}

func TestMetricsAreServedOnTheirOwnAddress(t *testing.T) {
	t.Parallel()
	h := newServer(t, server.Options{}, "CARREL_METRICS_ADDR", "127.0.0.1:0")
	stop := h.start(t)
	client := newClient(t)
	if status, _, _ := get(t, client, "http://"+h.Addr()+"/metrics"); status != 404 {
		t.Errorf("metrics on the public address: %d", status)
	}
	if status, body, _ := get(t, client, "http://"+h.MetricsAddr()+"/metrics"); status != 200 ||
		!strings.Contains(body, "carrel_http_requests_total") {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := get(t, client, "http://"+h.MetricsAddr()+"/healthz"); status != 404 {
		t.Errorf("other paths on the metrics address: %d", status)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestHugeHeaderIsRefused(t *testing.T) {
	t.Parallel()
	h := newServer(t, server.Options{})
	h.start(t)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.Addr()+"/healthz", nil)
	req.Header.Set("X-Big", strings.Repeat("x", 40<<10))
	res, err := newClient(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d", res.StatusCode)
	}
}

func TestSlowBodyTimesOut(t *testing.T) {
	t.Parallel()
	result := make(chan error, 1)
	h := newServer(t, routes(map[string]http.HandlerFunc{"/up": func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		result <- err
	}}))
	h.SetReadTimeout(time.Second)
	h.start(t)
	conn, err := net.Dial("tcp", h.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "POST /up HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
	if err := <-result; err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("the read ended with %v", err)
	}
}

func TestLongReplyIsNotLimitedByTheReadTimeout(t *testing.T) {
	t.Parallel()
	opts := routes(map[string]http.HandlerFunc{"/wait": func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		select {
		case <-r.Context().Done():
			_, _ = w.Write([]byte("cancelled"))
		case <-time.After(1500 * time.Millisecond):
			_, _ = w.Write([]byte("whole"))
		}
	}})
	cert, key := certificate(t)
	for scheme, h := range map[string]harness{
		"http": newServer(t, opts), "https": newServer(t, opts, "CARREL_TLS_CERT", cert, "CARREL_TLS_KEY", key),
	} {
		h.SetReadTimeout(time.Second)
		h.start(t)
		client := newClient(t)
		for range 2 { // the second on the same connection
			res, err := client.Post(scheme+"://"+h.Addr()+"/wait", "application/json", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil || string(body) != "whole" {
				t.Errorf("%s: %s %v", scheme, body, err)
			}
		}
	}
}

func TestHandlersCanStream(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{})
	stream := func(flush func(http.ResponseWriter)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Errorf("deadline: %v", err)
			}
			_, _ = io.WriteString(w, "first\n")
			flush(w)
			<-seen // blocks if the first line is buffered
			_, _ = io.WriteString(w, "second\n")
		}
	}
	h := newServer(t, routes(map[string]http.HandlerFunc{
		"/controller": stream(func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }),
		"/flusher":    stream(func(w http.ResponseWriter) { w.(http.Flusher).Flush() }),
	}))
	h.start(t)
	client := newClient(t)
	for _, path := range []string{"/controller", "/flusher"} {
		res, err := client.Get("http://" + h.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(res.Body)
		first, _ := lines.ReadString('\n')
		seen <- struct{}{}
		second, _ := lines.ReadString('\n')
		_ = res.Body.Close()
		if first != "first\n" || second != "second\n" {
			t.Errorf("%s: %q %q", path, first, second)
		}
	}
}

func TestFileIsSentAndCounted(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 100_000)
	path := filepath.Join(t.TempDir(), "f.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newServer(t, routes(map[string]http.HandlerFunc{"/f": func(w http.ResponseWriter,
		r *http.Request,
	) {
		http.ServeFile(w, r, path)
	}}))
	stop := h.start(t)
	if status, body, _ := get(t, newClient(t), "http://"+h.Addr()+"/f"); status != 200 || body != text {
		t.Errorf("%d, %d bytes", status, len(body))
	}
	_ = stop()
	if got := h.lines(t, "request"); len(got) != 1 || got[0]["bytes"] != 1e6 {
		t.Errorf("log: %v", got)
	}
}
