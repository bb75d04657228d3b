package testkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Environment variables that select the cluster for tests.
const (
	// EnvOpenSearch is the URL of a cluster in which tests may create indices. Without it, a test process that needs a
	// cluster starts its own.
	EnvOpenSearch = "CARREL_TEST_OPENSEARCH"
	// EnvRequireOpenSearch set to 1 makes tests fail instead of being skipped if OpenSearch is not installed.
	EnvRequireOpenSearch = "CARREL_TEST_REQUIRE_OPENSEARCH"
)

// ErrNoOpenSearch means that OpenSearch is not installed.
var ErrNoOpenSearch = errors.New("OpenSearch is not installed in .cache/opensearch (make setup installs it; " +
	"on Debian it needs: apt-get install openjdk-17-jre-headless maven)")

// Time limits for starting a node on a busy machine and for stopping it.
const (
	openSearchStart = 3 * time.Minute
	openSearchStop  = 30 * time.Second
)

// openSearchHeap is the memory of a node.
const openSearchHeap = "512m"

// OpenSearchNode is an OpenSearch node on loopback that a test may kill and restart.
type OpenSearchNode struct {
	// URL is the base URL without a trailing slash. It does not change with a restart.
	URL string

	name      string
	transport string // the address for other nodes
	home      string
	dir       string // contains the configuration, the data and temporary files
	cred      *syscall.Credential
	log       *Log
	proc      *process // nil while stopped
	release   []func()
}

// NewOpenSearch starts a node that is removed at the end of the test. If OpenSearch is not installed, the test is
// skipped, or fails if CARREL_TEST_REQUIRE_OPENSEARCH is 1.
func NewOpenSearch(t testing.TB) *OpenSearchNode {
	t.Helper()
	n, err := startOpenSearch()
	if err != nil {
		withoutOpenSearch(t, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("OpenSearch's log:\n%s", n.log.Excerpt())
		}
		if err := n.close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// NewOpenSearchCluster starts a cluster of several nodes, as in NewOpenSearch.
func NewOpenSearchCluster(t testing.TB, size int) []*OpenSearchNode {
	t.Helper()
	nodes := make([]*OpenSearchNode, size)
	var seeds, names []string
	for i := range nodes {
		n, err := newOpenSearchNode(fmt.Sprintf("n%d", i+1))
		if err != nil {
			withoutOpenSearch(t, err)
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("OpenSearch's log of %s:\n%s", n.name, n.log.Excerpt())
			}
			if err := n.close(); err != nil {
				t.Error(err)
			}
		})
		nodes[i], seeds, names = n, append(seeds, n.transport), append(names, n.name)
	}
	discovery := fmt.Sprintf("discovery.seed_hosts: [%s]\ncluster.initial_cluster_manager_nodes: [%s]\n",
		strings.Join(seeds, ", "), strings.Join(names, ", "))
	starts := make(chan error, size)
	for _, n := range nodes {
		if err := n.configure(discovery); err != nil {
			t.Fatal(err)
		}
		go func() { starts <- n.Start() }() // a node is ready when it has found the others
	}
	for range nodes {
		if err := <-starts; err != nil {
			t.Fatal(err)
		}
	}
	return nodes
}

// OpenSearch returns the URL of a node that is shared by the tests of this process, as in NewOpenSearch. Tests must use
// different indices.
func OpenSearch(t testing.TB) string {
	t.Helper()
	if url := os.Getenv(EnvOpenSearch); url != "" {
		return url
	}
	n, err := sharedOpenSearch.open()
	if err != nil {
		withoutOpenSearch(t, err)
	}
	return n.URL
}

func withoutOpenSearch(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ErrNoOpenSearch) && os.Getenv(EnvRequireOpenSearch) != "1" {
		t.Skip(err)
	}
	t.Fatal(err)
}

// sharedOpenSearch is the node shared by the tests of this process, started by the first test that needs it. It is
// global because it outlives single tests.
var sharedOpenSearch openSearchOnce

type openSearchOnce struct {
	mu     sync.Mutex
	opened bool
	node   *OpenSearchNode
	err    error
}

func (s *openSearchOnce) open() (*OpenSearchNode, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.opened {
		s.opened = true
		s.node, s.err = startOpenSearch()
	}
	return s.node, s.err
}

func (s *openSearchOnce) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.node == nil {
		return nil
	}
	err := s.node.close()
	s.opened, s.node = false, nil
	return err
}

// startOpenSearch creates and starts a cluster of one node.
func startOpenSearch() (*OpenSearchNode, error) {
	n, err := newOpenSearchNode("n1")
	if err != nil {
		return nil, err
	}
	if err = n.configure("discovery.type: single-node\n"); err == nil {
		err = n.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start OpenSearch: %w\n%s", err, n.log.Excerpt()), n.close())
	}
	return n, nil
}

// newOpenSearchNode creates a node with a folder and reserved ports.
func newOpenSearchNode(name string) (*OpenSearchNode, error) {
	home, err := openSearchHome()
	if err != nil {
		return nil, err
	}
	cred, err := unprivileged("OpenSearch", "nobody")
	if err != nil {
		return nil, err
	}
	parent, err := scratch.path()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "opensearch-")
	if err != nil {
		return nil, err
	}
	n := &OpenSearchNode{name: name, home: home, dir: dir, cred: cred, log: &Log{}}
	for _, addr := range []*string{&n.URL, &n.transport} {
		var release func()
		if *addr, release, err = reserveAddr(); err != nil {
			return nil, errors.Join(err, n.close())
		}
		n.release = append(n.release, release)
	}
	n.URL = "http://" + n.URL
	return n, nil
}

// openSearchHome returns the folder that scripts/opensearch has filled. It is in the root of the repository, above the
// folder of the package that is tested.
func openSearchHome() (string, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", ErrNoOpenSearch
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		home := filepath.Join(dir, ".cache", "opensearch")
		if _, err := os.Stat(filepath.Join(home, "version")); err == nil {
			return home, nil
		}
	}
	return "", ErrNoOpenSearch
}

// configure writes the configuration of the node, with how it finds other nodes.
func (n *OpenSearchNode) configure(discovery string) error {
	_, httpPort, err1 := net.SplitHostPort(strings.TrimPrefix(n.URL, "http://"))
	_, transportPort, err2 := net.SplitHostPort(n.transport)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for _, name := range []string{"config", "data", "logs", "tmp"} {
		if err := os.Mkdir(filepath.Join(n.dir, name), 0o755); err != nil {
			return err
		}
	}
	logging, err := os.ReadFile(filepath.Join(n.home, "config", "log4j2.properties"))
	if err != nil {
		return err
	}
	settings := fmt.Sprintf("cluster.name: carrel-test\nnode.name: %s\npath.data: %[2]s/data\npath.logs: %[2]s/logs\n"+
		"network.host: 127.0.0.1\nhttp.port: %[3]s\ntransport.port: %[4]s\n"+
		"cluster.routing.allocation.disk.threshold_enabled: false\n", n.name, n.dir, httpPort, transportPort)
	for name, content := range map[string][]byte{
		"log4j2.properties": logging, "opensearch.yml": []byte(settings + discovery),
	} {
		if err := os.WriteFile(filepath.Join(n.dir, "config", name), content, 0o644); err != nil {
			return err
		}
	}
	return n.chown()
}

// chown gives the folder to the user of the node.
func (n *OpenSearchNode) chown() error {
	if n.cred == nil {
		return nil
	}
	return filepath.WalkDir(n.dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, int(n.cred.Uid), int(n.cred.Gid)))
	})
}

// Start starts the stopped node and returns once it answers requests.
func (n *OpenSearchNode) Start() error {
	tmp := filepath.Join(n.dir, "tmp")
	cmd := exec.Command("java", "-Xms"+openSearchHeap, "-Xmx"+openSearchHeap, //nolint:noctx // outlives the caller
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.io.tmpdir="+tmp, "-Djava.security.manager=allow",
		"-Dfile.encoding=UTF-8", "-Djna.nosys=true", "-Djna.tmpdir="+tmp, "-Dio.netty.noUnsafe=true",
		"-Dio.netty.noKeySetOptimization=true", "-Dio.netty.recycler.maxCapacityPerThread=0",
		"-Dio.netty.allocator.numDirectArenas=0", "-Dlog4j.shutdownHookEnabled=false", "-Dlog4j2.disable.jmx=true",
		"-Dopensearch.path.home="+n.home, "-Dopensearch.path.conf="+filepath.Join(n.dir, "config"),
		"-Dopensearch.distribution.type=tar", "-cp", filepath.Join(n.home, "lib", "*"),
		"org.opensearch.bootstrap.OpenSearch")
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, n.log, n.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: n.cred}
	proc, err := startProcess(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	n.proc = proc
	return n.await()
}

// await waits until the node has recovered its indices.
func (n *OpenSearchNode) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), openSearchStart)
	defer cancel()
	for {
		select {
		case <-n.proc.done:
			return fmt.Errorf("the node exited: %w", n.proc.err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		if n.ready(ctx) {
			return nil
		}
	}
}

func (n *OpenSearchNode) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		n.URL+"/_cluster/health?wait_for_status=yellow&timeout=10s", http.NoBody)
	if err != nil {
		return false
	}
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = reply.Body.Close() }()
	var health struct{ Status string }
	return json.NewDecoder(reply.Body).Decode(&health) == nil && reply.StatusCode == http.StatusOK &&
		(health.Status == "green" || health.Status == "yellow")
}

// Kill ends the node like a crash of its machine's process. It does nothing if the node is stopped.
func (n *OpenSearchNode) Kill() error {
	if n.proc == nil {
		return nil
	}
	err := n.proc.end(syscall.SIGKILL, openSearchStop)
	n.proc = nil
	return err
}

// close kills the node and removes its data.
func (n *OpenSearchNode) close() error {
	err := errors.Join(n.Kill(), os.RemoveAll(n.dir))
	for _, release := range n.release {
		release()
	}
	return err
}
