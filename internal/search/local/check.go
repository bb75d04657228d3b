package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"carrel/internal/search"
	"carrel/internal/search/local/disk"
)

// Report is the result of Check.
type Report struct {
	Identity  string
	Segments  []SegmentReport
	Documents int
	// Sources is the number of documents of each source.
	Sources map[string]int
	// Covered are the spans of the change log that the index claims to hold.
	Covered []search.Span
	// Problems describe the damage; there are none in a sound index.
	Problems []string
}

// SegmentReport describes one segment.
type SegmentReport struct {
	Number    uint64
	Span      search.Span
	Documents int // excluding deleted ones
	Deleted   int
	Units     int
	Bytes     int64
	// Problem is the damage found, or nil.
	Problem error
}

// Check reads the whole index in a folder and reports damage. It changes nothing and needs no lock: a server may have
// the index open and write to it. An error means that the index could not be read, not that it is damaged.
func Check(ctx context.Context, dir string) (Report, error) {
	m, parts, err := openUnchanged(ctx, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Report{}, nil // nothing has been indexed yet
	case errors.Is(err, errUntrusted):
		return Report{Problems: []string{err.Error()}}, nil
	case err != nil:
		return Report{}, fmt.Errorf("check the search index: %w", err)
	}
	// All files are open now, and stay readable even if the server deletes them.
	defer func() {
		for _, p := range parts {
			releaseParts(p.opened())
		}
	}()
	r := Report{Identity: m.Identity}
	var sound []*part
	for _, p := range parts {
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		if p.err == nil {
			p.err = p.verify()
		}
		r.add(p)
		if p.err == nil {
			sound = append(sound, p.part)
		}
	}
	c := countParts(sound)
	r.Documents, r.Sources, r.Covered = c.documents, c.sources, covered(sound)
	return r, r.findDuplicates(ctx, sound)
}

// checkedPart is a part that the manifest names, or the error of opening it.
type checkedPart struct {
	*part
	named manifestPart
	err   error
}

func (p checkedPart) opened() []*part {
	if p.part == nil {
		return nil
	}
	return []*part{p.part}
}

// openUnchanged opens every part that the manifest names. A missing file may mean that the server has just replaced it,
// so the manifest is read again if it has changed.
func openUnchanged(ctx context.Context, dir string) (manifest, []*checkedPart, error) {
	for {
		data, err := os.ReadFile(filepath.Join(dir, manifestName))
		if err != nil {
			return manifest{}, nil, err
		}
		m, err := decodeManifest(data)
		if err != nil {
			return manifest{}, nil, err
		}
		var parts []*checkedPart
		whole := true
		for _, named := range m.Parts {
			p, err := openPart(dir, named, disk.OS, slog.Default())
			parts = append(parts, &checkedPart{part: p, named: named, err: err})
			whole = whole && err == nil
		}
		if whole {
			return m, parts, nil
		}
		if now, err := os.ReadFile(filepath.Join(dir, manifestName)); err == nil && bytes.Equal(now, data) {
			return m, parts, nil
		}
		for _, p := range parts {
			releaseParts(p.opened())
		}
		if err := ctx.Err(); err != nil {
			return manifest{}, nil, err
		}
	}
}

// verify checks every byte of the part, and that it holds only documents of its span.
func (p *part) verify() error {
	if p.file == nil {
		return nil
	}
	if err := p.file.Verify(); err != nil {
		return err
	}
	for doc := range p.file.Documents() {
		if seq := p.file.Seq(uint32(doc)); !p.span.Contains(seq) {
			return fmt.Errorf("document %d has number %d, which is not in the segment's span: %w", doc, seq, errUntrusted)
		}
	}
	return nil
}

func (r *Report) add(p *checkedPart) {
	span := search.Span{After: p.named.After, Through: p.named.Through}
	if p.err != nil {
		r.Problems = append(r.Problems,
			fmt.Sprintf("segment %d, changes %d to %d: %v", p.named.Segment, span.After+1, span.Through, p.err))
	}
	if p.named.Segment == 0 {
		return
	}
	s := SegmentReport{Number: p.named.Segment, Span: span, Problem: p.err}
	if p.part != nil {
		s.Documents, s.Deleted = p.liveDocuments(), p.deleted.Count()
		s.Units, s.Bytes = p.file.Units(), p.file.Size()
	}
	r.Segments = append(r.Segments, s)
}

// findDuplicates finds documents that are in two segments, which searches would return twice.
func (r *Report) findDuplicates(ctx context.Context, parts []*part) error {
	for i, p := range parts {
		if p.file == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for doc := range uint32(p.file.Documents()) {
			if p.deleted.Get(doc) {
				continue
			}
			if err := r.findDuplicate(p, doc, parts[i+1:]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Report) findDuplicate(p *part, doc uint32, others []*part) error {
	id, err := p.file.ID(doc)
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.file == nil {
			continue
		}
		twin, ok, err := other.file.FindID(id)
		if err != nil {
			return err
		}
		if ok && !other.deleted.Get(twin) {
			r.Problems = append(r.Problems,
				fmt.Sprintf("segments %d and %d both hold document %s", p.file.number, other.file.number, id))
		}
	}
	return nil
}
