package testkit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nginxStart limits the start and the end of nginx.
const nginxStart = Patience

// ErrNoNginx means that nginx is not installed.
var ErrNoNginx = errors.New("nginx is not installed (Debian: apt-get install nginx-light)")

// Nginx is nginx in front of servers.
type Nginx struct {
	// URL is the base URL without a trailing slash.
	URL  string
	proc *process
}

// NewNginx starts nginx with a configuration for three nodes, named node1 to node3, that listens on port 8080. The
// addresses of the nodes and a free port replace those in the file. Nginx is stopped at the end of the test. If it is
// not installed, the test is skipped.
func NewNginx(t testing.TB, file string, nodes ...string) *Nginx {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		if program = "/usr/sbin/nginx"; !isExecutable(program) {
			t.Skip(ErrNoNginx)
		}
	}
	settings, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir, addr := t.TempDir(), ReserveAddr(t)
	text := strings.ReplaceAll(string(settings), "/tmp/", dir+"/")
	text = strings.Replace(text, "listen 8080", "listen "+addr, 1)
	for i, node := range nodes {
		text = strings.ReplaceAll(text, fmt.Sprintf("node%d:8080", i+1), strings.TrimPrefix(node, "http://"))
	}
	if left := regexp.MustCompile(`node\d:`).FindString(text); left != "" {
		t.Fatalf("%s has more nodes than %d: %s", file, len(nodes), left)
	}
	name := filepath.Join(dir, "nginx.conf")
	// Workers of root drop to another user, which must reach the temporary folder.
	err = errors.Join(os.WriteFile(name, []byte(text), 0o644), os.Chmod(filepath.Dir(dir), 0o711), os.Chmod(dir, 0o711))
	if err != nil {
		t.Fatal(err)
	}
	log := &Log{}
	cmd := exec.CommandContext(context.Background(), program, "-e", "stderr", "-c", name, "-g", "daemon off;")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	n := &Nginx{URL: "http://" + addr}
	if n.proc, err = startProcess(cmd, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.proc.end(syscall.SIGTERM, nginxStart); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("nginx's log:\n%s", log.Excerpt())
		}
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ctx, cancel := context.WithTimeout(t.Context(), nginxStart)
	defer cancel()
	for !succeeds(ctx, client, n.URL+"/healthz") {
		if ctx.Err() != nil {
			t.Fatalf("nginx does not answer\n%s", log.Excerpt())
		}
		time.Sleep(20 * time.Millisecond)
	}
	return n
}

// Reload makes nginx read its configuration again and replace its workers, which end their requests first.
func (n *Nginx) Reload() error { return n.proc.cmd.Process.Signal(syscall.SIGHUP) }
