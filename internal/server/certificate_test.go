package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/server"
)

// certificate writes a self-signed certificate and its key to a new folder.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, 1, cert, key)
	return cert, key
}

// writeCertificate writes a self-signed certificate with a serial number, and its key.
func writeCertificate(t *testing.T, serial int64, cert, key string) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &priv.PublicKey, priv)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, cert, "CERTIFICATE", der)
	writePEM(t, key, "EC PRIVATE KEY", keyDER)
}

// writePEM replaces a file at once. Its modification time differs from that of the replaced file even on file systems
// with coarse times.
func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	modified := time.Now()
	if old, err := os.Stat(path); err == nil {
		modified = old.ModTime().Add(time.Second)
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(temporary, modified, modified); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}

// servedSerial returns the serial number of the certificate that the server presents.
func servedSerial(t *testing.T, addr string) int64 {
	t.Helper()
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	c, err := dialer.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	return c.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("timeout: " + what)
		}
	}
}

func TestTLSIsServed(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	h := newServer(t, server.Options{}, "CARREL_TLS_CERT", cert, "CARREL_TLS_KEY", key)
	h.start(t)
	status, _, res := get(t, newClient(t), "https://"+h.Addr()+"/healthz")
	if status != 200 || res.ProtoMajor != 2 || res.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%d %s %v", status, res.Proto, res.Header)
	}
	bad := newServer(t, server.Options{}, "CARREL_TLS_CERT", key, "CARREL_TLS_KEY", cert)
	if err := bad.Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "tls-cert and tls-key") {
		t.Errorf("swapped files: %v", err)
	}
}

func TestCertificateIsReloadedWhenItsFilesChange(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	h := newServer(t, server.Options{}, "CARREL_TLS_CERT", cert, "CARREL_TLS_KEY", key)
	h.SetCertificatePoll(time.Millisecond)
	h.start(t)
	if n := servedSerial(t, h.Addr()); n != 1 {
		t.Fatalf("serial %d", n)
	}
	writeCertificate(t, 2, cert, key)
	eventually(t, "the new certificate", func() bool { return servedSerial(t, h.Addr()) == 2 })
}

func TestSignalReloadsTheCertificate(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	hangups := make(chan os.Signal)
	h := newServer(t, server.Options{Reload: hangups}, "CARREL_TLS_CERT", cert, "CARREL_TLS_KEY", key)
	h.SetCertificatePoll(time.Hour)
	h.start(t)
	writeCertificate(t, 2, cert, key)
	if n := servedSerial(t, h.Addr()); n != 1 {
		t.Errorf("serial %d before the signal", n)
	}
	hangups <- syscall.SIGHUP
	eventually(t, "the new certificate", func() bool { return servedSerial(t, h.Addr()) == 2 })
}

func TestBadCertificateKeepsTheOldOne(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	hangups := make(chan os.Signal)
	h := newServer(t, server.Options{Reload: hangups}, "CARREL_TLS_CERT", cert, "CARREL_TLS_KEY", key)
	h.SetCertificatePoll(time.Millisecond)
	h.start(t)
	other := filepath.Join(t.TempDir(), "key.pem")
	writeCertificate(t, 2, cert, other) // the certificate no longer fits the key
	const message = "the new certificate is not usable; the old one stays in use"
	eventually(t, "the error", func() bool { return len(h.lines(t, message)) > 0 })
	if n := servedSerial(t, h.Addr()); n != 1 {
		t.Errorf("serial %d", n)
	}
	hangups <- syscall.SIGHUP // is received after polls that found no further change
	eventually(t, "the error of the signal", func() bool { return len(h.lines(t, message)) > 1 })
	if n := len(h.lines(t, message)); n != 2 || h.lines(t, message)[0]["level"] != "ERROR" {
		t.Errorf("%d errors for one change and one signal:\n%s", n, h.log)
	}
	if err := os.Remove(cert); err != nil { // a missing file
		t.Fatal(err)
	}
	eventually(t, "the error of a missing file", func() bool { return len(h.lines(t, message)) > 2 })
	writeCertificate(t, 3, cert, key)
	eventually(t, "the valid certificate", func() bool { return servedSerial(t, h.Addr()) == 3 })
}

func TestSignalWithoutTLSIsHarmless(t *testing.T) {
	t.Parallel()
	hangups := make(chan os.Signal)
	h := newServer(t, server.Options{Reload: hangups})
	h.start(t)
	hangups <- syscall.SIGHUP
	hangups <- syscall.SIGHUP // is received after the first one was handled
	if status, _, _ := get(t, newClient(t), "http://"+h.Addr()+"/healthz"); status != 200 {
		t.Errorf("status %d", status)
	}
}
