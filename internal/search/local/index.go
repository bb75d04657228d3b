package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"carrel/internal/search"
	"carrel/internal/search/disk"
)

// Options are how an index is opened. The zero value is fit for use.
type Options struct {
	// FS changes the disk; disk.OS unless set.
	FS disk.FS
	// Log is told what was found damaged; slog.Default() unless set.
	Log *slog.Logger
	// Identity names the database whose documents the index holds. An index made with another one is not used.
	Identity string
}

// Index is a folder of segments that together cover spans of the change log. All methods may be called from many
// goroutines at once. It has none of its own: merging is Merge's, which a Follower calls.
type Index struct {
	dir      string
	fs       disk.FS
	log      *slog.Logger
	identity string
	policy   policy
	indexers indexers

	// commit is held by whoever changes the manifest. Readers never wait for it.
	commit sync.Mutex
	// repair is held while segments are searched for damage, so that many searches do it once.
	repair sync.Mutex

	mu      sync.Mutex // guards what follows, and is never held while the disk is used
	current *snapshot  // what the manifest says
	serving *snapshot  // answers searches while current is built anew, else nil
	next    uint64     // the next file's number
	merging map[uint64]bool
	founded bool // a manifest is on disk, unless somebody removed it
	closed  bool
}

// Open opens the index in the folder, which is made if it is not there. What is damaged, foreign or of another
// database is dropped, said in the log, and Missing from then on.
func Open(dir string, o Options) (*Index, error) {
	ix := &Index{dir: dir, fs: o.FS, log: o.Log, identity: o.Identity, policy: defaultPolicy(), merging: make(map[uint64]bool)}
	if ix.fs == nil {
		ix.fs = disk.OS
	}
	if ix.log == nil {
		ix.log = slog.Default()
	}
	if err := ix.fs.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("make the index's folder: %w", err)
	}
	m, usable, err := ix.readManifest()
	if err != nil {
		return nil, err
	}
	parts, err := ix.openParts(m)
	if err != nil {
		return nil, err
	}
	ix.current = newSnapshot(parts, m.Graves)
	releaseParts(parts) // the snapshot holds them now
	if err := ix.settle(m, usable && len(parts) == len(m.Parts)); err != nil {
		ix.current.release()
		return nil, err
	}
	return ix, nil
}

// readManifest returns the folder's manifest, or an empty one when there is none, or none that is usable.
func (ix *Index) readManifest() (m manifest, usable bool, err error) {
	m, err = readManifest(ix.dir)
	ix.founded = !errors.Is(err, fs.ErrNotExist)
	switch {
	case !ix.founded:
		return manifest{}, true, nil
	case errors.Is(err, errForeign):
		ix.log.Warn("search index has no usable manifest and is built anew", "path", ix.dir, "error", err)
		return manifest{}, false, nil
	case err != nil:
		return manifest{}, false, err
	case m.Identity != ix.identity:
		ix.log.Warn("search index is of another database and is built anew", "path", ix.dir)
		return manifest{Next: m.Next}, false, nil
	}
	return m, true, nil
}

// openParts opens what the manifest names, each file held once, and leaves out what cannot be trusted.
func (ix *Index) openParts(m manifest) ([]*part, error) {
	var parts []*part
	for _, named := range m.Parts {
		p, err := openPart(ix.dir, named, ix.fs, ix.log)
		if err != nil && !isLost(err) {
			releaseParts(parts)
			return nil, fmt.Errorf("open the search index: %w", err)
		}
		if err != nil {
			ix.log.Warn("part of the search index is lost and is built anew",
				"path", segmentPath(ix.dir, named.Segment), "after", named.After, "through", named.Through, "error", err)
			continue
		}
		p.purge = p.purge || !m.Purges && p.deleted.Count() > 0
		parts = append(parts, p)
	}
	return parts, nil
}

// settle brings the folder into agreement with what was opened: a manifest that names just that, and no other files
// of ours. A crash may have left some, and a dropped part has its own. Whole says that nothing was dropped.
func (ix *Index) settle(m manifest, whole bool) error {
	ix.next = max(m.Next, 1)
	entries, err := os.ReadDir(ix.dir)
	if err != nil {
		return fmt.Errorf("read the index's folder: %w", err)
	}
	inUse := make(map[string]bool)
	for _, p := range ix.current.files() {
		inUse[filepath.Base(p.file.path)] = true
		inUse[filepath.Base(tombstonePath(ix.dir, p.tombstones))] = true
	}
	var stray []string
	for _, e := range entries {
		number, ours := fileNumber(e.Name())
		ix.next = max(ix.next, number+1)
		if ours && !inUse[e.Name()] {
			stray = append(stray, e.Name())
		}
	}
	if !whole {
		// Not vital: as long as this fails, the old manifest names files that are not there.
		if err := ix.change(func(*draft) error { return nil }); err != nil {
			ix.log.Warn("record what the search index has lost", "error", err)
		}
	}
	for _, name := range stray {
		if err := ix.fs.Remove(filepath.Join(ix.dir, name)); err != nil {
			ix.log.Warn("remove a stray file of the search index", "name", name, "error", err)
		}
	}
	return nil
}

// fileNumber returns the number of a file and whether the name is one that an index gives. Others in the folder are
// somebody else's.
func fileNumber(name string) (number uint64, ours bool) {
	if name == manifestDraft {
		return 0, true
	}
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok {
		if digits, ok = strings.CutSuffix(name, tombstoneSuffix); !ok {
			return 0, false
		}
	}
	number, err := strconv.ParseUint(digits, 10, 63)
	return number, err == nil
}

// Close lets go of the files. Searches that are under way end as they would have; the caller ends Fill and Merge
// first.
func (ix *Index) Close() error {
	ix.commit.Lock()
	defer ix.commit.Unlock()
	ix.mu.Lock()
	current, serving := ix.current, ix.serving
	closed := ix.closed
	ix.closed, ix.serving = true, nil
	ix.mu.Unlock()
	if closed {
		return nil
	}
	current.release()
	if serving != nil {
		serving.release()
	}
	return nil
}

// acquire returns the snapshot that searches read. The caller releases it.
func (ix *Index) acquire() (*snapshot, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return nil, search.ErrClosed
	}
	s := ix.current
	if ix.serving != nil {
		s = ix.serving
	}
	s.holders.Add(1)
	return s, nil
}

// acquireCurrent returns the snapshot that the manifest describes. The caller releases it.
func (ix *Index) acquireCurrent() (*snapshot, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return nil, search.ErrClosed
	}
	ix.current.holders.Add(1)
	return ix.current, nil
}

// number returns a number for a new file.
func (ix *Index) number() uint64 {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	n := ix.next
	ix.next++
	return n
}

// Missing returns the first span up to head that the index does not hold, and whether there is one.
func (ix *Index) Missing(head uint64) (search.Span, bool) {
	s, err := ix.acquireCurrent()
	if err != nil {
		return search.Span{}, false
	}
	defer s.release()
	return firstGap(s.parts, head)
}

// gaps returns all spans up to head that the index does not hold.
func (ix *Index) gaps(head uint64) []search.Span {
	s, err := ix.acquireCurrent()
	if err != nil {
		return nil
	}
	defer s.release()
	var out []search.Span
	at := uint64(0)
	for _, held := range append(covered(s.parts), search.Span{After: head, Through: head}) {
		if through := min(held.After, head); at < through {
			out = append(out, search.Span{After: at, Through: through})
		}
		at = held.Through
	}
	return out
}

// reach returns the number up to which the index holds everything, and the highest number it knows of.
func (ix *Index) reach() (whole, last uint64) {
	s, err := ix.acquireCurrent()
	if err != nil {
		return 0, 0
	}
	defer s.release()
	if n := len(s.parts); n > 0 {
		last = s.parts[n-1].span.Through
	}
	return reach(s.parts), last
}

// compared is how many of the latest changes in an index are compared with the log.
const compared = 16

// agrees reports whether the index can be of this log: the latest changes that both know are of the same documents. A
// database that was restored and then written to uses numbers again that the index has seen for others.
func (ix *Index) agrees(ctx context.Context, log search.Log) (bool, error) {
	s, err := ix.acquireCurrent()
	if err != nil {
		return false, err
	}
	defer s.release()
	if len(s.parts) == 0 {
		return true, nil
	}
	last := s.parts[len(s.parts)-1]
	through := last.span.Through
	changes, err := log.Changes(ctx, max(last.span.After, through-min(through, compared)), through, compared)
	if err != nil {
		return false, err
	}
	agrees := true
	err = guard(func() error {
		for _, c := range changes {
			if c.Op != search.Put {
				continue
			}
			// What the log has under this number nobody has changed since, and so the index must hold it.
			held, err := last.holds(c)
			if err != nil {
				return err
			}
			agrees = agrees && held
		}
		return nil
	})
	if isDamage(err) {
		ix.dropDamaged(ctx, s) // what is read again will be of this log
		return true, nil
	}
	return agrees, err
}

// holds reports whether the part has the document as this change left it.
func (p *part) holds(c search.Change) (bool, error) {
	if p.file == nil {
		return false, nil
	}
	doc, ok, err := p.file.FindID(c.ID)
	return ok && !p.deleted.Get(doc) && p.file.Seq(doc) == c.Seq, err
}

// Status describes the content of the index.
func (ix *Index) Status() search.Status {
	served, err := ix.acquire()
	if err != nil {
		return search.Status{}
	}
	defer served.release()
	current, err := ix.acquireCurrent()
	if err != nil {
		return search.Status{}
	}
	defer current.release()
	c := served.count()
	return search.Status{
		Documents: c.documents, Deleted: c.deleted, Passages: c.units, Segments: c.segments, Bytes: c.bytes,
		Sources: c.sources, Covered: covered(current.parts), Rebuilding: served != current,
	}
}
