package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/search"
	"carrel/internal/search/local/disk"
)

// TestConcurrentChangesSearchesMergesAndDamage changes documents while the index follows and merges, readers search,
// and files are damaged and checked, and compares the index with the documents at the end.
func TestConcurrentChangesSearchesMergesAndDamage(t *testing.T) {
	t.Parallel()
	w, dir := newMemoryLog(), t.TempDir()
	bad := &badFS{FS: quick(), random: rand.New(rand.NewPCG(7, 7))}
	ix := open(t, dir, Options{FS: bad})
	ix.policy.factor = 3
	f := NewFollower(ix, w, FollowerOptions{Interval: time.Millisecond, BatchDocuments: 7, Builders: 3, Log: quiet})
	ctx, stop := context.WithCancel(context.Background())
	var following, working sync.WaitGroup
	following.Go(func() { f.Run(ctx) })
	deadline := time.Now().Add(2 * time.Second)
	repeat := func(seed uint64, step func(*rand.Rand)) {
		working.Go(func() {
			for random := rand.New(rand.NewPCG(seed, 0)); time.Now().Before(deadline); {
				step(random)
			}
		})
	}
	for writer := range 2 {
		repeat(uint64(writer), func(random *rand.Rand) {
			id := random.IntN(60)
			switch source := everywhere[id%3]; random.IntN(40) {
			case 0:
				w.drop(source)
			case 1, 2, 3, 4:
				w.delete(fmt.Sprint("d", id))
			default:
				w.put(note(fmt.Sprint("d", id), source, "w1", fmt.Sprint("w", random.IntN(8))))
			}
			f.Poll()
			time.Sleep(time.Millisecond)
		})
	}
	for reader := range 3 {
		repeat(uint64(10+reader), func(random *rand.Rand) {
			q := search.Query{Text: fmt.Sprint("w1 w", random.IntN(8)), Sources: everywhere, Limit: 100, Facets: true}
			r, err := ix.Search(context.Background(), q)
			if err != nil {
				t.Errorf("search: %v", err)
			}
			seen := make(map[string]bool)
			for _, h := range r.Hits {
				if seen[h.ID] {
					t.Errorf("document %s is found twice", h.ID)
				}
				seen[h.ID] = true
			}
			ix.Status()
			f.Progress()
		})
	}
	repeat(30, func(*rand.Rand) {
		if _, err := Check(context.Background(), dir); err != nil {
			t.Errorf("check: %v", err)
		}
	})
	working.Wait()
	if bad.mu.Lock(); bad.damaged == 0 {
		t.Error("no segment was damaged")
	}
	bad.mu.Unlock()
	f.Poll()
	for deadline := time.Now().Add(4 * time.Minute); ; time.Sleep(time.Millisecond) {
		if got := held(t, ix); fmt.Sprint(got) == fmt.Sprint(w.documents()) && f.Progress().Missing == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("index holds %v, want %v; progress %+v", held(t, ix), w.documents(), f.Progress())
		}
	}
	stop()
	following.Wait()
	bad.healthy = true
	ix.dropDamagedNow(context.Background()) // pages that have not been read yet
	catchUp(t, ix, w)
	checkComplete(t, ix, w)
	checkSearch(t, ix, w, t.TempDir())
}

// badFS is a disk that sometimes corrupts a segment.
type badFS struct {
	disk.FS
	mu      sync.Mutex
	random  *rand.Rand
	damaged int
	healthy bool
}

func (b *badFS) Create(path string) (disk.File, error) {
	f, err := b.FS.Create(path)
	if err != nil || !strings.HasSuffix(path, segmentSuffix) {
		return f, err
	}
	return &badFile{File: f, fs: b, path: path}, nil
}

type badFile struct {
	disk.File
	fs   *badFS
	path string
}

func (f *badFile) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if info, err := os.Stat(f.path); err == nil && info.Size() > 0 && !f.fs.healthy && f.fs.random.IntN(6) == 0 {
		f.fs.damaged++
		if _, err := f.WriteAt([]byte{byte(f.fs.random.Uint32())}, f.fs.random.Int64N(info.Size())); err != nil {
			return err
		}
	}
	return f.File.Close()
}
