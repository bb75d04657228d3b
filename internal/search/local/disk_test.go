package local

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"carrel/internal/search/local/disk"
)

// hookFS reports created files, and does not sync.
type hookFS struct {
	disk.FS
	created func(path string)
}

func (h *hookFS) Create(path string) (disk.File, error) {
	if h.created != nil {
		h.created(path)
	}
	f, err := h.FS.Create(path)
	return unsynced{f}, err
}

func (h *hookFS) SyncDir(string) error { return nil }

type unsynced struct{ disk.File }

func (unsynced) Sync() error { return nil }

// errCut is returned by the disk after the cut.
var errCut = errors.New("power cut")

// cutFS is a disk that fails after a number of steps. It tracks what is durable and what may be lost: everything since
// the last sync of a file or folder, in part or in whole.
type cutFS struct {
	dir   string
	steps int // left until the cut

	mu      sync.Mutex
	taken   int
	names   map[string]*node // the folder as processes see it
	durable map[string]*node // the folder at its last sync
}

// node is the content of a file, independent of its name.
type node struct{ now, durable []byte }

func newCutFS(dir string, steps int) *cutFS {
	return &cutFS{dir: dir, steps: steps, names: make(map[string]*node), durable: make(map[string]*node)}
}

// step counts one step, and reports whether it is done: fully, in part (the last one), or not at all.
func (c *cutFS) step() (whole, part bool) {
	c.taken++
	return c.taken < c.steps, c.taken == c.steps
}

func (c *cutFS) MkdirAll(path string) error { return disk.OS.MkdirAll(path) }

func (c *cutFS) Create(path string) (disk.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	whole, part := c.step()
	if !whole && !part {
		return nil, errCut
	}
	f, err := disk.OS.Create(path)
	if err != nil {
		return nil, err
	}
	n := &node{}
	c.names[filepath.Base(path)] = n
	if !whole {
		_ = f.Close()
		return nil, errCut
	}
	return &cutFile{File: f, fs: c, node: n}, nil
}

func (c *cutFS) Rename(from, to string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	whole, part := c.step()
	if !whole && !part {
		return errCut
	}
	if err := disk.OS.Rename(from, to); err != nil {
		return err
	}
	c.names[filepath.Base(to)] = c.names[filepath.Base(from)]
	delete(c.names, filepath.Base(from))
	if !whole {
		return errCut
	}
	return nil
}

func (c *cutFS) Remove(path string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	whole, part := c.step()
	if !whole && !part {
		return errCut
	}
	if err := disk.OS.Remove(path); err != nil {
		return err
	}
	delete(c.names, filepath.Base(path))
	if !whole {
		return errCut
	}
	return nil
}

func (c *cutFS) SyncDir(string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if whole, _ := c.step(); !whole {
		return errCut
	}
	c.durable = maps.Clone(c.names)
	return nil
}

type cutFile struct {
	disk.File
	fs   *cutFS
	node *node
}

func (f *cutFile) Write(p []byte) (int, error) { return f.write(p, len(f.node.now)) }

func (f *cutFile) WriteAt(p []byte, at int64) (int, error) { return f.write(p, int(at)) }

func (f *cutFile) write(p []byte, at int) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	whole, part := f.fs.step()
	if !whole && !part {
		return 0, errCut
	}
	if part {
		p = p[:len(p)/2]
	}
	if grow := at + len(p) - len(f.node.now); grow > 0 {
		f.node.now = append(f.node.now, make([]byte, grow)...)
	}
	copy(f.node.now[at:], p)
	if n, err := f.File.WriteAt(p, int64(at)); err != nil {
		return n, err
	}
	if !whole {
		return len(p), errCut
	}
	return len(p), nil
}

func (f *cutFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if whole, _ := f.fs.step(); !whole {
		return errCut
	}
	f.node.durable = slices.Clone(f.node.now)
	return nil
}

// loss is what a power cut does to writes that were not synced.
type loss string

const (
	keepsAll  loss = "keeps everything"
	losesAll  loss = "loses everything"
	zeroes    loss = "keeps names and lengths, and zeroes what was not synced"
	truncates loss = "keeps names, and cuts off what was not synced"
	mixes     loss = "keeps some and loses some"
)

// restart writes the folder that a restart finds.
func (c *cutFS) restart(t *testing.T, dir string, how loss, random *rand.Rand) {
	t.Helper()
	names := maps.Clone(c.names)
	switch how {
	case losesAll:
		names = maps.Clone(c.durable)
	case mixes:
		// Each change of the folder may have reached the disk independently.
		for _, name := range slices.Sorted(maps.Keys(c.durable)) {
			if names[name] != c.durable[name] && random.IntN(2) == 0 {
				names[name] = c.durable[name]
			}
		}
		for _, name := range slices.Sorted(maps.Keys(c.names)) {
			if c.durable[name] == nil && random.IntN(2) == 0 {
				delete(names, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := os.WriteFile(filepath.Join(dir, name), names[name].after(how, random), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// after returns the content of a file after the cut.
func (n *node) after(how loss, random *rand.Rand) []byte {
	synced := min(len(n.durable), len(n.now))
	out := slices.Clone(n.now)
	switch how {
	case losesAll:
		return n.durable
	case zeroes:
		clear(out[synced:])
	case truncates:
		out = out[:synced]
	case mixes:
		if rest := len(out) - synced; rest > 0 {
			out = out[:synced+random.IntN(rest+1)]
			clear(out[synced+random.IntN(len(out)-synced+1):])
		}
	}
	return out
}
