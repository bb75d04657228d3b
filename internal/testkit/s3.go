package testkit

import (
	"cmp"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// S3Server is a running S3 server with a bucket, and the credentials for it.
type S3Server struct {
	URL, Bucket, Region, KeyID, Secret string
}

// S3 starts a real S3 server, versitygw, for the length of a test. CARREL_TEST_VERSITYGW names its command, otherwise
// it is found in the path. The test is skipped without it, and fails in CI.
func S3(t *testing.T) S3Server {
	t.Helper()
	command, err := exec.LookPath(cmp.Or(os.Getenv("CARREL_TEST_VERSITYGW"), "versitygw"))
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("versitygw is not installed: make setup")
	}
	dir := t.TempDir()
	s := S3Server{Bucket: "carrel", Region: "us-east-1", KeyID: "key", Secret: "secret"}
	if err := os.Mkdir(filepath.Join(dir, s.Bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), command, "--port", address, "--access", s.KeyID, "--secret", s.Secret,
		"posix", "--nometa", dir)
	var log Log
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { <-ended }) // the context of the test ends before its cleanup
	for {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
			s.URL = "http://" + address
			return s
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("versitygw ended: %v\n%s", err, log.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
