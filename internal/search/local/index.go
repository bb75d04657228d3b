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
	"carrel/internal/search/local/disk"
)

// Options configure an Index. The zero value is usable.
type Options struct {
	// FS writes to the disk; default disk.OS.
	FS disk.FS
	// Log receives messages about damage; default slog.Default().
	Log *slog.Logger
	// Identity names the database whose documents the index holds. An index with another identity is discarded.
	Identity string
	// Encoder computes embeddings of documents that have none, or is nil. An index that was written with another encoder
	// is rebuilt by its Follower.
	Encoder *search.Encoder
}

// Index is a search engine in a folder: segments that cover spans of the change log. Its methods may be called
// concurrently. It starts no goroutines; a Follower calls Merge.
type Index struct {
	dir      string
	fs       disk.FS
	log      *slog.Logger
	identity string
	encoder  *search.Encoder
	policy   policy
	// cellsFrom is the constant, unless a test changes it.
	cellsFrom int
	indexers  indexers

	// commit serialises changes of the manifest. Readers never wait for it.
	commit sync.Mutex
	// repair serialises the search for damage, so that concurrent searches do it once.
	repair sync.Mutex

	mu          sync.Mutex // guards the fields below; never held during disk access
	current     *snapshot  // described by the manifest
	serving     *snapshot  // old content that serves searches during a rebuild, or nil
	next        uint64     // number of the next file
	merging     map[uint64]bool
	hasManifest bool   // there is a manifest on disk, unless it was deleted
	writtenBy   string // model of the encoder that the current content was written with, "" for none
	closed      bool
}

var _ search.Engine = (*Index)(nil)

// Open opens the index in the folder, and creates the folder if necessary. Files that are damaged, of another version
// or of another database are dropped and logged, and their spans are missing.
func Open(dir string, o Options) (*Index, error) {
	ix := &Index{
		dir: dir, fs: o.FS, log: o.Log, identity: o.Identity, encoder: o.Encoder, policy: defaultPolicy(),
		indexers: indexers{encoder: o.Encoder}, cellsFrom: cellsFrom, merging: make(map[uint64]bool),
	}
	if ix.fs == nil {
		ix.fs = disk.OS
	}
	if ix.log == nil {
		ix.log = slog.Default()
	}
	if err := ix.fs.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("create the index folder: %w", err)
	}
	m, usable, err := ix.readManifest()
	if err != nil {
		return nil, err
	}
	parts, err := ix.openParts(m)
	if err != nil {
		return nil, err
	}
	if ix.writtenBy = m.Encoder; len(parts) == 0 {
		ix.writtenBy = ix.encoderModel()
	}
	ix.current = newSnapshot(parts, m.Deletions)
	releaseParts(parts) // the snapshot holds them now
	if err := ix.reconcile(m, usable && len(parts) == len(m.Parts)); err != nil {
		ix.current.release()
		return nil, err
	}
	return ix, nil
}

// encoderModel returns the name of the encoder's model, "" without an encoder.
func (ix *Index) encoderModel() string {
	if ix.encoder == nil {
		return ""
	}
	return ix.encoder.Model
}

// lacksVectors reports whether the content was written with another encoder, so that it must be rebuilt.
func (ix *Index) lacksVectors() bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.writtenBy != ix.encoderModel()
}

// readManifest returns the manifest, or an empty one if there is none that can be used.
func (ix *Index) readManifest() (m manifest, usable bool, err error) {
	m, err = readManifest(ix.dir)
	ix.hasManifest = !errors.Is(err, fs.ErrNotExist)
	switch {
	case !ix.hasManifest:
		return manifest{}, true, nil
	case errors.Is(err, errUntrusted):
		ix.log.Warn("search index has no usable manifest; rebuilding", "path", ix.dir, "error", err)
		return manifest{}, false, nil
	case err != nil:
		return manifest{}, false, err
	case m.Identity != ix.identity:
		ix.log.Warn("search index belongs to another database; rebuilding", "path", ix.dir)
		return manifest{Next: m.Next}, false, nil
	}
	return m, true, nil
}

// openParts opens the parts that the manifest names, and leaves out those that cannot be trusted.
func (ix *Index) openParts(m manifest) ([]*part, error) {
	var parts []*part
	for _, named := range m.Parts {
		p, err := openPart(ix.dir, named, ix.fs, ix.log)
		if err != nil && !isLost(err) {
			releaseParts(parts)
			return nil, fmt.Errorf("open the search index: %w", err)
		}
		if err != nil {
			ix.log.Warn("part of the search index is lost; rebuilding it",
				"path", segmentPath(ix.dir, named.Segment), "after", named.After, "through", named.Through, "error", err)
			continue
		}
		p.purge = p.purge || !m.Purges && p.deleted.Count() > 0
		parts = append(parts, p)
	}
	return parts, nil
}

// reconcile makes the folder match what was opened: it rewrites the manifest if parts were dropped (whole is false),
// and deletes files of the index that the manifest does not name, which a crash or a dropped part leaves behind.
func (ix *Index) reconcile(m manifest, whole bool) error {
	ix.next = max(m.Next, 1)
	entries, err := os.ReadDir(ix.dir)
	if err != nil {
		return fmt.Errorf("read the index folder: %w", err)
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
		// Not fatal: until it succeeds the old manifest names files that are gone.
		if err := ix.change(func(*draft) error { return nil }); err != nil {
			ix.log.Warn("record the lost parts of the search index", "error", err)
		}
	}
	for _, name := range stray {
		if err := ix.fs.Remove(filepath.Join(ix.dir, name)); err != nil {
			ix.log.Warn("remove a stray file of the search index", "name", name, "error", err)
		}
	}
	return nil
}

// fileNumber returns the number in a file name, and whether the name is one of the index's. Other files in the folder
// are left alone.
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

// Close releases the files. Running searches complete; the caller ends Apply and Merge first.
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

// number returns the number of a new file.
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

// coveredThrough returns the number up to which the index holds everything, and the highest number it holds.
func (ix *Index) coveredThrough() (whole, last uint64) {
	s, err := ix.acquireCurrent()
	if err != nil {
		return 0, 0
	}
	defer s.release()
	if n := len(s.parts); n > 0 {
		last = s.parts[n-1].span.Through
	}
	return coveredThrough(s.parts), last
}

// compared is how many of the latest changes are compared with the log.
const compared = 16

// matchesLog reports whether the index belongs to this log: the latest changes in both are of the same documents. A
// database that was restored and then written to reuses numbers that the index has seen for other documents.
func (ix *Index) matchesLog(ctx context.Context, log search.Log) (bool, error) {
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
	matchesLog := true
	err = catchFaults(func() error {
		for _, c := range changes {
			if c.Op != search.Put {
				continue
			}
			// The log holds only the latest change of a document, so the index must hold this version.
			held, err := last.holds(c)
			if err != nil {
				return err
			}
			matchesLog = matchesLog && held
		}
		return nil
	})
	if isDamage(err) {
		ix.dropDamaged(ctx, s) // the changes are read again from this log
		return true, nil
	}
	return matchesLog, err
}

// holds reports whether the part has the version of the document that this change stored.
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
