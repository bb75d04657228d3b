package server_test

import (
	"fmt"
	"net/http"
	"testing"
)

const mismatch = "a request does not fit base-url; correct base-url, or, behind a proxy, have it forward the host " +
	"and set trusted-proxies"

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

func TestRequestsThatDoNotFitTheBaseURLAreWarnedOfOncePerHost(t *testing.T) {
	t.Parallel()
	h := newServer(t, routes(map[string]http.HandlerFunc{"GET /x": ok}),
		"CARREL_BASE_URL", "https://carrel.example.org", "CARREL_TRUSTED_PROXIES", "10.0.0.1")
	proxy, https := from("10.0.0.1:9"), header("X-Forwarded-Proto", "https")
	h.do("GET", "/x", proxy, https, host("carrel.example.org"))
	h.do("GET", "/x", proxy, https, host("Carrel.example.org:443"))
	h.do("GET", "/healthz", host("10.0.0.7:8080")) // a probe of a load balancer
	if n := len(h.lines(t, mismatch)); n != 0 {
		t.Errorf("%d warnings for the base URL\n%s", n, h.log)
	}
	h.do("GET", "/x", host("carrel.example.org")) // from an untrusted proxy
	for range 3 {
		h.do("GET", "/x", proxy, https, host("other.example.org"))
	}
	got := h.lines(t, mismatch)
	if len(got) != 2 || got[0]["requested"] != "http://carrel.example.org" ||
		got[1]["requested"] != "https://other.example.org" {
		t.Errorf("%v", got)
	}
	for i := range 100 {
		h.do("GET", "/x", host(fmt.Sprintf("host%d.example", i)))
	}
	if n := len(h.lines(t, mismatch)); n != 10 {
		t.Errorf("%d warnings, want a limit of 10", n)
	}
}

func TestNamesOfThisMachineFitEachOther(t *testing.T) {
	t.Parallel()
	h := newServer(t, routes(map[string]http.HandlerFunc{"GET /x": ok}), "CARREL_BASE_URL", "http://127.0.0.1:8080")
	for _, name := range []string{"localhost:8080", "[::1]:8080", "127.0.0.1:8080"} {
		h.do("GET", "/x", host(name))
	}
	if n := len(h.lines(t, mismatch)); n != 0 {
		t.Errorf("%d warnings\n%s", n, h.log)
	}
}
