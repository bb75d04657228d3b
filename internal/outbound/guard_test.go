package outbound

import (
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// TestGuardAllowsPublicAddressesOnly lists addresses that may be reached always, with private networks allowed, or
// never.
func TestGuardAllowsPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	const (
		always  = "always"
		private = "private"
		never   = "never"
	)
	for want, addresses := range map[string][]string{
		always: {
			"1.1.1.1", "8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
			"172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
			"223.255.255.255",
			"11.0.0.0", "9.255.255.255", "169.253.255.255", "169.255.0.0", "192.0.1.0", "192.0.3.0",
			"2606:4700:4700::1111", "2a00:1450:4001:80b::200e", "2001:200::1", "2400:cb00::1", "2001:4860:4860::8888",
			"::ffff:8.8.8.8", "::ffff:808:808", "64:ff9b::8.8.8.8", "64:ff9b::808:808",
		},
		private: {
			"127.0.0.1", "127.255.255.254", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1",
			"192.168.255.255", "100.64.0.1", "100.127.255.255", "::1", "fc00::1", "fd12:3456:789a::1",
			"::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.1.2.3", "::ffff:192.168.1.1",
			"64:ff9b::10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::192.168.0.1",
		},
		never: {
			"0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.0.1", "169.254.170.2", "100.100.100.200", "192.0.0.192",
			"224.0.0.1", "239.255.255.250",
			"255.255.255.255", "240.0.0.1", "254.1.2.3", "192.0.0.1", "192.0.0.170", "192.0.2.1", "198.51.100.7",
			"203.0.113.9", "198.18.0.1",
			"198.19.255.255", "192.88.99.1", "192.175.48.1",
			"::", "fe80::1", "febf::1", "fe80::1%eth0", "::1%lo", "2606:4700::1%eth0", "ff02::1", "ff0e::1",
			"fd00:ec2::254", "fd20:ce::254", "fec0::1",
			"::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "::ffff:0.0.0.0", "::ffff:224.0.0.1", "::ffff:203.0.113.1",
			"::127.0.0.1", "::7f00:1", "::8.8.8.8", "::ffff:0:127.0.0.1", "64:ff9b::169.254.169.254",
			"64:ff9b::0.0.0.0", "64:ff9b:1::8.8.8.8",
			"64:ff9b::203.0.113.1", "2001:db8::1", "3fff::1", "2001::1", "2001:0:4136:e378::1", "2001:2::1",
			"2001:10::1", "2001:20::1", "2002:7f00:1::",
			"2002:808:808::1", "100::1", "4000::1", "5f00::1", "1fff:ffff::1", "e000::1",
		},
	} {
		for _, s := range addresses {
			a := netip.MustParseAddr(s)
			got := never
			if (guard{private: true}).allows(a) {
				got = private
			}
			if (guard{}).allows(a) {
				got += " always"
			}
			if wants := map[string]string{
				always: "private always", private: private, never: never,
			}[want]; got != wants {
				t.Errorf("%s: %s, want %s", s, got, wants)
			}
		}
	}
	if (guard{private: true}).allows(netip.Addr{}) {
		t.Error("no address at all is allowed")
	}
}

// FuzzGuard checks that every form of an IPv4 address inside IPv6 is treated like the address itself.
func FuzzGuard(f *testing.F) {
	for _, s := range []string{"127.0.0.1", "8.8.8.8", "169.254.169.254", "10.0.0.1"} {
		a := netip.MustParseAddr(s).As4()
		f.Add(binary.BigEndian.Uint32(a[:]), false)
	}
	f.Fuzz(func(t *testing.T, n uint32, private bool) {
		var four [4]byte
		binary.BigEndian.PutUint32(four[:], n)
		a := netip.AddrFrom4(four)
		g := guard{private: private}
		want := g.allows(a)
		if want && !private && (a.IsPrivate() || a.IsLoopback() || !a.IsGlobalUnicast()) {
			t.Errorf("%s is allowed", a)
		}
		for _, prefix := range []string{"::ffff:0:0", "64:ff9b::"} {
			wrapped := netip.MustParseAddr(prefix).As16()
			copy(wrapped[12:], four[:])
			if got := g.allows(netip.AddrFrom16(wrapped)); got != want {
				t.Errorf("%s: %v, and %s: %v", a, want, netip.AddrFrom16(wrapped), got)
			}
		}
	})
}

// The requests go through the client, so the system's resolver interprets the names.
func TestNoSpellingOfAPrivateHostIsReached(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(server.Close)
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	client := NewClient(Options{})
	for _, host := range []string{
		"127.0.0.1", "localhost", "LOCALHOST", "localhost.", "127.1", "127.0.1", "0177.0.0.1", "0x7f.0.0.1",
		"0x7f000001", "2130706433", "0", "0.0.0.0",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]", "[64:ff9b::127.0.0.1]", "127.0.0.1.",
		"%31%32%37.0.0.1",
		"１２７.0.0.1", "ⓛocalhost", "169.254.169.254",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+port, http.NoBody)
		if err == nil {
			var res *http.Response
			if res, err = client.Do(req); err == nil {
				_ = res.Body.Close()
				t.Errorf("%s was reached", host)
			}
		}
		cancel()
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
	res, err := NewClient(Options{Private: true}).Get(server.URL)
	if err != nil {
		t.Fatalf("with private networks open: %v", err)
	}
	_ = res.Body.Close()
}

// DNS rebinding: the name has a public address when it is checked and a private one when it is used.
func TestRebindingNameIsCheckedAtConnectionTime(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(server.Close)
	port := server.URL[strings.LastIndex(server.URL, ":")+1:]
	dns := testkit.FakeResolver(t, [4]byte{127, 0, 0, 1})
	address := "http://rebind.example.org:" + port
	for _, private := range []bool{false, true} {
		res, err := NewClient(Options{Private: private, Resolver: dns}).Get(address)
		if err == nil {
			_ = res.Body.Close()
		}
		if private != (err == nil) || !private && !errors.Is(err, ErrNotPublic) {
			t.Errorf("private %v: %v", private, err)
		}
	}
	if n := hits.Load(); n != 1 {
		t.Errorf("%d requests arrived, want that of the open guard alone", n)
	}
	// The first reply is allowed, the second is not: the connection must be refused.
	changing := testkit.FakeResolver(t, [4]byte{192, 0, 2, 1}, [4]byte{127, 0, 0, 1})
	if _, err := changing.LookupNetIP(t.Context(), "ip4", "rebind.example.org"); err != nil {
		t.Fatal(err)
	}
	_, err := NewClient(Options{Resolver: changing}).Get(address)
	if !errors.Is(err, ErrNotPublic) {
		t.Errorf("after a change: %v", err)
	}
	if n := hits.Load(); n != 1 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	const (
		whole  = "Must be a whole address, such as https://example.org/hook."
		secure = "Must be an https address."
		public = "Must have a public host."
		port   = "Must have a port from 1 to 65535, or none."
	)
	for address, want := range map[string]string{
		"https://example.org":                        "",
		"https://example.org:8443/a/b?c=d":           "",
		"https://8.8.8.8/":                           "",
		"https://[2606:4700:4700::1111]/":            "",
		"https://bücher.example/":                    "",
		"":                                           whole,
		"example.org":                                whole,
		"/hook":                                      whole,
		"https://":                                   whole,
		"https:///hook":                              whole,
		"https:example.org":                          whole,
		"ftp://example.org":                          whole,
		"file:///etc/passwd":                         whole,
		"javascript:alert(1)":                        whole,
		"https://exa mple.org":                       whole,
		"https://example.org/\n":                     whole,
		"https://[::1":                               whole,
		" https://example.org":                       whole,
		"http://example.org":                         secure,
		"https://u@example.org":                      "Must not hold a user name or password.",
		"https://u:p@example.org":                    "Must not hold a user name or password.",
		"https://example.org/#a":                     "Must not have a fragment.",
		"https://example.org/#":                      "Must not have a fragment.",
		"https://example.org:0/":                     port,
		"https://example.org:65536/":                 port,
		"https://127.0.0.1/":                         public,
		"https://[::1]/":                             public,
		"https://[fe80::1%25eth0]/":                  public,
		"https://[::ffff:169.254.169.254]/":          public,
		"https://10.0.0.1:8443/":                     public,
		"https://e.org/" + strings.Repeat("a", 1986): "",
		"https://e.org/" + strings.Repeat("a", 1987): "Must have at most 2000 characters.",
	} {
		if got := CheckURL(address, false); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
	for address, want := range map[string]string{
		"http://127.0.0.1:9000/hook": "", "http://example.org": "", "https://10.0.0.1": "",
		"https://169.254.169.254/": public,
	} {
		if got := CheckURL(address, true); got != want {
			t.Errorf("with private networks open, %q: %q, want %q", address, got, want)
		}
	}
}

// FuzzCheckURL checks the properties of accepted addresses that requests rely on.
func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{"https://example.org/hook", "http://127.0.0.1", "https://a@b", "https://[::1]:1#"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, private bool) {
		if CheckURL(s, private) != "" {
			return
		}
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "https" && !private {
			t.Errorf("%q is taken", s)
		}
		if _, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s, http.NoBody); err != nil {
			t.Errorf("%q is taken and can't be sent to: %v", s, err)
		}
	})
}

func TestAClientFollowsNoRedirectAndReadsNoMoreThanItShould(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/from" {
			http.Redirect(w, r, "/to", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("12345"))
	}))
	t.Cleanup(server.Close)
	client := NewClient(Options{Private: true})
	res, err := client.Get(server.URL + "/from")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusFound {
		t.Errorf("a redirect was followed: %d", res.StatusCode)
	}
	for limit, want := range map[int64]error{4: ErrTooLarge, 5: nil} {
		res, err := client.Get(server.URL + "/to")
		if err != nil {
			t.Fatal(err)
		}
		body, err := ReadAll(res.Body, limit)
		_ = res.Body.Close()
		if !errors.Is(err, want) || want == nil && string(body) != "12345" {
			t.Errorf("%d: %q, %v", limit, body, err)
		}
	}
}

func TestNamesAreLookedUpWithoutTheSearchDomainsOfThisMachine(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"intranet:443": "intranet.:443", "example.org:80": "example.org.:80", "example.org.:80": "example.org.:80",
		"127.0.0.1:80": "127.0.0.1:80", "[::1]:80": "[::1]:80", "[fe80::1%eth0]:80": "[fe80::1%eth0]:80", "bad": "bad",
	} {
		if got := absolute(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

func TestOriginsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://example.org":                   "https://example.org",
		"HTTPS://Example.ORG./a?b#c":            "https://example.org",
		"https://example.org:443/":              "https://example.org",
		"https://example.org:0443/":             "https://example.org",
		"http://example.org:443":                "http://example.org:443",
		"http://example.org:80":                 "http://example.org",
		"https://example.org:8443":              "https://example.org:8443",
		"https://u:p@example.org":               "https://example.org",
		"https://bücher.example":                "https://xn--bcher-kva.example",
		"https://xn--bcher-kva.example":         "https://xn--bcher-kva.example",
		"https://[2606:4700:4700:0::1111]:443/": "https://[2606:4700:4700::1111]",
		"ftp://example.org":                     "",
		"javascript:alert(1)":                   "",
		"example.org":                           "",
		"":                                      "",
	} {
		if got := Origin(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

// The number of DNS queries is compared as well, because a machine with search domains would try them for unknown
// names only.
func TestAnUnknownNameAndARefusedOneAreTheSameError(t *testing.T) {
	t.Parallel()
	queries := map[string]int{}
	for name, answers := range map[string][][4]byte{
		"unknown": nil, "loopback": {{127, 0, 0, 1}}, "private": {{10, 1, 2, 3}}, "metadata": {{169, 254, 169, 254}},
		"documentation": {{192, 0, 2, 1}},
	} {
		names, asked := testkit.CountingResolver(t, answers...)
		client := NewClient(Options{Resolver: names})
		for _, host := range []string{"intranet", "wiki.intranet.example.org"} {
			res, err := client.Get("https://" + host + "/")
			if err == nil {
				_ = res.Body.Close()
			}
			var failed *url.Error
			//nolint:errorlint // the bare error, which contains no address
			if !errors.As(err, &failed) || failed.Err != ErrNotPublic {
				t.Errorf("%s %s: %v", name, host, err)
			}
		}
		queries[name] = asked()
	}
	for name, n := range queries {
		if n != queries["unknown"] {
			t.Errorf("%s: %d queries, and for unknown names %d", name, n, queries["unknown"])
		}
	}
}
