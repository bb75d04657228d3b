package local

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"carrel/internal/search"
)

// positions keeps the reported positions in memory.
type positions struct {
	mu    sync.Mutex
	nodes map[string]uint64
}

func (p *positions) SetNodeIndex(_ context.Context, node string, through uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nodes == nil {
		p.nodes = make(map[string]uint64)
	}
	p.nodes[node] = through
	return nil
}

func (p *positions) DeleteNodeIndex(_ context.Context, node string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.nodes, node)
	return nil
}

func (p *positions) NodeIndexes(context.Context, time.Duration) ([]search.NodeIndex, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []search.NodeIndex
	for node, through := range p.nodes {
		out = append(out, search.NodeIndex{Node: node, Through: through})
	}
	return out, nil
}

func newFolder(t *testing.T, log search.Log, single bool) (Folder, *positions) {
	t.Helper()
	p := &positions{}
	return Folder{
		Path: filepath.Join(t.TempDir(), "index"), Identity: search.Identity([]byte("secret")), Changes: log, Positions: p,
		SingleNode: single,
	}, p
}

func noProgress(uint64, uint64) {}

func TestNodeCoversWhatTheLogHeldAtItsStart(t *testing.T) {
	t.Parallel()
	log := &gatedLog{memoryLog: newMemoryLog()}
	many(log.memoryLog, 20)
	log.shut()
	folder, _ := newFolder(t, log, true)
	node, err := OpenNode(folder, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	if err := node.WaitReady(ctx, 10*time.Millisecond); err != nil { // gives up, so that the server can start
		t.Fatal(err)
	}
	if node.CoversStart() {
		t.Error("an empty index covers 20 documents")
	}
	if p := node.Progress(); p.Missing == 0 || p.Behind <= 0 {
		t.Errorf("the progress is %+v", p)
	}
	log.open()
	eventually(t, "the index covers the log", node.CoversStart)
	eventually(t, "the index is complete", func() bool { return node.Progress().Missing == 0 })
	if p := node.Progress(); p.Behind != 0 {
		t.Errorf("a complete index is %v behind", p.Behind)
	}
	log.shut()
	many(log.memoryLog, 40)
	eventually(t, "the log grows", func() bool { return node.Progress().Behind > 0 })
	if !node.CoversStart() {
		t.Error("a later change makes the node not ready")
	}
	log.open()
	stop()
	if err := errors.Join(<-ended, node.Close()); err != nil {
		t.Error(err)
	}
}

func TestNodeIndexesReportsItsPositionAndWithdrawsIt(t *testing.T) {
	t.Parallel()
	for name, single := range map[string]bool{"single": true, "several": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newMemoryLog()
			many(w, 20)
			folder, positions := newFolder(t, w, single)
			node, err := OpenNode(folder, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- node.Run(ctx) }()
			if err := folder.WaitForNodes(ctx, noProgress); single && err != nil {
				t.Errorf("waiting for the only node: %v", err) // several nodes may not have reported yet
			}
			eventually(t, "the node reports its position", func() bool {
				nodes, _ := positions.NodeIndexes(ctx, 0)
				return len(nodes) == 1 && nodes[0].Through == w.head
			})
			if err := folder.WaitForNodes(ctx, noProgress); err != nil {
				t.Error(err)
			}
			if err := node.WaitReady(ctx, time.Minute); err != nil {
				t.Error(err)
			}
			if p := node.Progress(); p.Missing != 0 || p.Through != w.head {
				t.Errorf("the progress is %+v", p)
			}
			checkComplete(t, node.index, w)
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if nodes, _ := positions.NodeIndexes(t.Context(), 0); len(nodes) != 0 {
				t.Errorf("after the end there are the positions %v", nodes)
			}
			node.Finish(t.Context(), time.Minute)
			if err := node.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCatchUpIndexesWithoutAServer(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	many(w, 30)
	w.drop("B")
	folder, _ := newFolder(t, w, true)
	var done, all uint64
	if err := folder.CatchUp(t.Context(), func(d, a uint64) { done, all = d, a }); err != nil {
		t.Fatal(err)
	}
	if done != w.head || all != w.head {
		t.Errorf("the last progress was %d of %d, want %d", done, all, w.head)
	}
	checkComplete(t, open(t, folder.Path, Options{Identity: folder.Identity}), w)
	if err := folder.WaitForRebuild(t.Context(), time.Now(), noProgress); err != nil {
		t.Errorf("waiting for a complete index: %v", err)
	}
}

func TestWaitingForAnIndexEndsIfNoServerRuns(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	many(w, 3)
	folder, _ := newFolder(t, w, false)
	if err := folder.WaitForNodes(t.Context(), noProgress); !errors.Is(err, ErrNotIndexed) {
		t.Errorf("waiting for nodes returned %v", err)
	}
	long := time.Now().Add(-2 * reportTimeout)
	if err := folder.WaitForRebuild(t.Context(), long, noProgress); !errors.Is(err, ErrNotIndexed) {
		t.Errorf("waiting for a rebuild returned %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := folder.WaitForRebuild(ctx, time.Now(), noProgress); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled wait returned %v", err)
	}
}

func TestIdentityDependsOnTheSecret(t *testing.T) {
	t.Parallel()
	one, again, other := search.Identity([]byte("a")), search.Identity([]byte("a")), search.Identity([]byte("b"))
	if one != again || one == other || len(one) != 32 {
		t.Errorf("the identities are %s, %s and %s", one, again, other)
	}
}
