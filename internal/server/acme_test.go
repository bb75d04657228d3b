package server_test

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/server"
	"carrel/internal/testkit"
)

// pebble is a real ACME certificate authority that validates names on loopback.
type pebble struct {
	command, addr, dir, cert, key string
}

// newPebble reserves the address of an authority. The command is named by CARREL_TEST_PEBBLE, which make test sets.
func newPebble(t *testing.T) pebble {
	t.Helper()
	command, err := exec.LookPath(cmp.Or(os.Getenv("CARREL_TEST_PEBBLE"), "pebble"))
	if err != nil {
		t.Skip("pebble is not installed; make setup builds it")
	}
	p := pebble{command: command, addr: testkit.ReserveAddr(t), dir: t.TempDir()}
	p.cert, p.key = certificate(t)
	return p
}

// client trusts the authority's own certificate.
func (p pebble) client(t *testing.T) *http.Client {
	t.Helper()
	b, err := os.ReadFile(p.cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// run starts the authority. It validates names at these addresses and issues certificates with this validity.
func (p pebble) run(t *testing.T, tlsAddr, httpAddr string, validity time.Duration) {
	t.Helper()
	port := func(addr string) int {
		_, text, _ := net.SplitHostPort(addr)
		n, _ := strconv.Atoi(text)
		return max(n, 1)
	}
	b, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": p.addr, "managementListenAddress": "127.0.0.1:0", "certificate": p.cert, "privateKey": p.key,
		"tlsPort": port(tlsAddr), "httpPort": port(httpAddr), "retryAfter": map[string]int{"authz": 1, "order": 1},
		"profiles": map[string]any{"default": map[string]any{
			"description": "test", "validityPeriod": int(validity.Seconds()),
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(p.dir, "pebble.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	log := &testkit.Log{}
	cmd := exec.CommandContext(t.Context(), p.command, "-config", path, "-dnsserver", testkit.DNSServer(t))
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Log(log)
		}
	})
	eventually(t, "the certificate authority", func() bool {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

// presentedFor returns the certificate that the server presents for a name, or nil if the handshake fails.
func presentedFor(t *testing.T, addr, name string) *x509.Certificate {
	t.Helper()
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: name}}
	c, err := dialer.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		return nil
	}
	defer func() { _ = c.Close() }()
	return c.(*tls.Conn).ConnectionState().PeerCertificates[0]
}

// startACME starts a server for carrel.example.org that gets its certificate from the authority.
func startACME(t *testing.T, p pebble, validity time.Duration, kv ...string) harness {
	t.Helper()
	data := t.TempDir()
	h := newServer(t, server.Options{}, append([]string{
		"CARREL_DATA", data, "CARREL_ACME_DOMAINS", "carrel.example.org", "CARREL_ACME_EMAIL", "ops@example.org",
		"CARREL_ACME_DIRECTORY", "https://" + p.addr + "/dir",
	}, kv...)...)
	h.SetACMEClient(p.client(t))
	if err := h.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.run(t, h.Addr(), h.RedirectAddr(), validity)
	h.serve(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(h.log)
		}
		info, err := os.Stat(filepath.Join(data, "acme"))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder of certificates: %v, %v", info, err)
		}
	})
	return h
}

func TestCertificateIsObtainedAndRenewed(t *testing.T) {
	t.Parallel()
	h := startACME(t, newPebble(t), 12*time.Second)
	var first *x509.Certificate
	eventually(t, "a certificate", func() bool {
		first = presentedFor(t, h.Addr(), "carrel.example.org")
		return first != nil
	})
	if err := first.VerifyHostname("carrel.example.org"); err != nil {
		t.Error(err)
	}
	eventually(t, "the message", func() bool { return len(h.lines(t, "certificate obtained")) > 0 })
	if byAddress := presentedFor(t, h.Addr(), ""); byAddress == nil {
		t.Error("a client without a name gets no certificate")
	}
	if other := presentedFor(t, h.Addr(), "other.example.org"); other != nil {
		t.Errorf("an unknown name gets the certificate of %v", other.DNSNames)
	}
	eventually(t, "the renewal", func() bool {
		now := presentedFor(t, h.Addr(), "carrel.example.org")
		return now != nil && now.SerialNumber.Cmp(first.SerialNumber) != 0
	})
}

func TestCertificateIsObtainedOverPlainHTTP(t *testing.T) {
	t.Parallel()
	p := newPebble(t)
	data := t.TempDir()
	h := newServer(t, server.Options{}, "CARREL_DATA", data, "CARREL_ACME_DOMAINS", "carrel.example.org",
		"CARREL_ACME_DIRECTORY", "https://"+p.addr+"/dir", "CARREL_REDIRECT_ADDR", "127.0.0.1:0")
	h.SetACMEClient(p.client(t))
	if err := h.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.run(t, testkit.ReserveAddr(t), h.RedirectAddr(), time.Hour) // nothing answers tls-alpn-01
	h.serve(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(h.log)
		}
	})
	eventually(t, "a certificate", func() bool { return presentedFor(t, h.Addr(), "carrel.example.org") != nil })
}

func TestFailedRequestForACertificateIsLogged(t *testing.T) {
	t.Parallel()
	h := newServer(t, server.Options{}, "CARREL_ACME_DOMAINS", "carrel.example.org",
		"CARREL_ACME_DIRECTORY", "https://"+testkit.ReserveAddr(t)+"/dir")
	stop := h.start(t)
	const message = "no certificate was obtained; retrying"
	eventually(t, "the error", func() bool { return len(h.lines(t, message)) > 0 })
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestPlainHTTPIsRedirected(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	h := newServer(t, server.Options{}, "CARREL_TLS_CERT", cert, "CARREL_TLS_KEY", key,
		"CARREL_REDIRECT_ADDR", "127.0.0.1:0", "CARREL_BASE_URL", "https://carrel.example.org")
	h.start(t)
	client := newClient(t)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for target, want := range map[string]string{
		"/":                    "https://carrel.example.org/",
		"/api/agents?limit=5":  "https://carrel.example.org/api/agents?limit=5",
		"//evil.example/x":     "https://carrel.example.org//evil.example/x",
		"/a%2Fb%20c?q=%26&r=1": "https://carrel.example.org/a%2Fb%20c?q=%26&r=1",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.RedirectAddr()+target,
			strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "evil.example"
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if got := res.Header.Get("Location"); res.StatusCode != http.StatusPermanentRedirect || got != want {
			t.Errorf("%s: %d %s, want %s", target, res.StatusCode, got, want)
		}
	}
}
