package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"carrel/internal/search"
	"carrel/internal/search/local/segment"
)

// errRemoved means that the folder or the manifest was deleted while the index was open.
var errRemoved = errors.New("search index was deleted from the disk")

// deletion records a deletion while an earlier span is missing. The changes of that span may have been read before the
// deletion, and would bring the document back.
type deletion struct {
	ID     string `json:"id"`
	Seq    uint64 `json:"seq"`
	Source bool   `json:"source,omitempty"` // ID is a source, whose documents were all deleted
}

// draft is the next state of the index, before it is written as a manifest.
type draft struct {
	ix        *Index
	parts     []*part
	deletions []deletion
	encoder   string                  // model of the encoder of the content
	added     []*file                 // files that the current manifest does not name
	bits      map[*part]*segment.Bits // deleted documents, including those this draft adds
	broken    map[*part]error         // parts found damaged
	purge     map[*part]bool          // parts that lose a whole source
	next      func() (number uint64)
}

// change applies edit to the index and makes the result durable and then visible, atomically. If it fails, added files
// are deleted, unless the new manifest may have taken effect.
func (ix *Index) change(edit func(*draft) error) error {
	return ix.replace(edit, false)
}

// replace is change, optionally leaving searches on the previous snapshot.
func (ix *Index) replace(edit func(*draft) error, keepServing bool) error {
	ix.commit.Lock()
	defer ix.commit.Unlock()
	before, err := ix.acquireCurrent()
	if err != nil {
		return err
	}
	defer before.release()
	d := &draft{
		ix: ix, parts: slices.Clone(before.parts), deletions: slices.Clone(before.deletions), encoder: ix.writtenBy,
		bits: make(map[*part]*segment.Bits), broken: make(map[*part]error), purge: make(map[*part]bool), next: ix.number,
	}
	tombstones, inForce, err := d.finish(edit)
	if err != nil {
		if !inForce {
			for _, f := range d.added {
				f.obsolete.Store(true)
			}
			ix.removeTombstones(tombstones)
		}
		return err
	}
	ix.publish(d, keepServing)
	ix.retire(before.parts, d)
	return nil
}

// finish makes the edited draft durable. It returns the numbers of the tombstone files it wrote, and whether the draft
// may be in force: after an error of the manifest's rename a restart may find either manifest, so the files of both
// must stay.
func (d *draft) finish(edit func(*draft) error) (tombstones []uint64, inForce bool, err error) {
	if err := catchFaults(func() error { return edit(d) }); err != nil {
		return nil, false, err
	}
	d.applyDeletions()
	d.joinEmptySpans()
	if tombstones, err = d.writeTombstones(); err != nil {
		return tombstones, false, err
	}
	if err := draftManifest(d.ix.fs, d.ix.dir, d.manifest()); err != nil {
		return tombstones, false, err
	}
	return tombstones, true, swapManifest(d.ix.fs, d.ix.dir)
}

// publish makes the draft the current snapshot.
func (ix *Index) publish(d *draft, keepServing bool) {
	after := newSnapshot(d.parts, d.deletions)
	ix.mu.Lock()
	before := ix.current
	ix.current, ix.hasManifest, ix.writtenBy = after, true, d.encoder
	if keepServing && ix.serving == nil {
		ix.serving, before = before, nil
	}
	ix.mu.Unlock()
	if before != nil {
		before.release()
	}
}

// retire marks the files for deletion that the draft no longer uses.
func (ix *Index) retire(before []*part, d *draft) {
	segments, tombstones := make(map[*file]bool), make(map[uint64]bool)
	for _, p := range d.parts {
		segments[p.file], tombstones[p.tombstones] = true, true
	}
	var gone []uint64
	for _, p := range before {
		if p.file != nil && !segments[p.file] {
			p.file.obsolete.Store(true)
		}
		if p.tombstones != 0 && !tombstones[p.tombstones] {
			gone = append(gone, p.tombstones)
		}
	}
	for _, f := range d.added {
		if !segments[f] {
			f.obsolete.Store(true)
		}
	}
	ix.removeTombstones(gone)
}

func (ix *Index) removeTombstones(numbers []uint64) {
	for _, n := range numbers {
		if err := ix.fs.Remove(tombstonePath(ix.dir, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			ix.log.Warn("remove an obsolete tombstone file", "number", n, "error", err)
		}
	}
}

// checkPresent returns errRemoved if the folder or the manifest is gone.
func (ix *Index) checkPresent() error {
	ix.mu.Lock()
	path := ix.dir
	if ix.hasManifest {
		path = filepath.Join(path, manifestName)
	}
	ix.mu.Unlock()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return errRemoved
	}
	return nil
}

// find returns the document of a part with this id. A part that is found to be damaged has none, and is dropped when
// the draft is finished.
func (d *draft) find(p *part, id string) (uint32, bool, error) {
	if _, broken := d.broken[p]; broken || p.file == nil {
		return 0, false, nil
	}
	doc, ok, err := p.file.FindID(id)
	if isDamage(err) {
		d.broken[p] = err
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("find a document in segment %d: %w", p.file.number, err)
	}
	return doc, ok, nil
}

// delete marks a document of the part as deleted.
func (d *draft) delete(p *part, doc uint32) {
	bits := d.bits[p]
	if bits == nil {
		if p.deleted.Get(doc) {
			return
		}
		if bits = p.deleted.Clone(); bits == nil {
			bits = segment.NewBits(p.file.Documents())
		}
		d.bits[p] = bits
	}
	bits.Set(doc)
}

// applyDeletions drops damaged parts and applies the new deletions to the others.
func (d *draft) applyDeletions() {
	kept := d.parts[:0]
	for _, p := range d.parts {
		if err := d.broken[p]; err != nil {
			d.ix.log.Warn("part of the search index is damaged; rebuilding it",
				"path", p.file.path, "after", p.span.After, "through", p.span.Through, "error", err)
			continue
		}
		if bits := d.bits[p]; bits != nil && bits.Count() > p.deleted.Count() {
			purge := d.purge[p]
			p = p.without(bits)
			p.purge = p.purge || purge
		}
		if p.file != nil && p.liveDocuments() == 0 {
			p = newPart(p.span, nil, nil)
		}
		kept = append(kept, p)
	}
	d.parts = kept
}

// joinEmptySpans joins spans without documents to a neighbouring part, so that deletions do not pile up empty parts,
// and forgets deletions that are no longer needed.
func (d *draft) joinEmptySpans() {
	var parts []*part
	for _, p := range d.parts {
		n := len(parts)
		if n == 0 || !parts[n-1].span.Touches(p.span) || p.file != nil && parts[n-1].file != nil {
			parts = append(parts, p)
			continue
		}
		both := search.Span{After: parts[n-1].span.After, Through: p.span.Through}
		if p.file != nil {
			parts[n-1] = p.resized(both)
		} else {
			parts[n-1] = parts[n-1].resized(both)
		}
	}
	d.parts = parts
	whole := coveredThrough(parts)
	d.deletions = slices.DeleteFunc(d.deletions, func(g deletion) bool { return g.Seq <= whole })
}

// writeTombstones writes a tombstone file for every part with new deletions.
func (d *draft) writeTombstones() ([]uint64, error) {
	var written []uint64
	for i, p := range d.parts {
		if p.deleted.Count() == 0 || p.tombstones != 0 {
			continue
		}
		number := d.next()
		data, sum := encodeTombstones(p.file.number, p.deleted)
		written = append(written, number)
		if err := writeFile(d.ix.fs, tombstonePath(d.ix.dir, number), data); err != nil {
			return written, fmt.Errorf("write tombstones: %w", err)
		}
		named := *p
		named.tombstones, named.sum = number, sum
		d.parts[i] = &named
	}
	return written, nil
}

func (d *draft) manifest() manifest {
	m := manifest{
		Identity: d.ix.identity, Encoder: d.encoder, Deletions: d.deletions, Next: d.next(), Purges: true,
	}
	for _, p := range d.parts {
		named := manifestPart{After: p.span.After, Through: p.span.Through, Tombstones: p.tombstones, Sum: p.sum}
		if p.file != nil {
			named.Segment, named.Print, named.Purge = p.file.number, p.file.print, p.purge
		}
		m.Parts = append(m.Parts, named)
	}
	return m
}
