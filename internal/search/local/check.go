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
	"carrel/internal/search/disk"
)

// Report is what Check found.
type Report struct {
	Identity  string
	Segments  []SegmentReport
	Documents int
	// Sources is how many documents each source has.
	Sources map[string]int
	// Covered are the spans of the change log that the index claims to hold.
	Covered []search.Span
	// Problems are what is wrong, in words; none when all is well.
	Problems []string
}

// SegmentReport is what Check found of one segment.
type SegmentReport struct {
	Number    uint64
	Span      search.Span
	Documents int // without the deleted ones
	Deleted   int
	Units     int
	Bytes     int64
	// Problem is what is wrong with it, nil when nothing is.
	Problem error
}

// Check reads the whole index in a folder and reports what is wrong with it. It changes nothing and needs no lock:
// a server may have the index open and change it meanwhile. An error means that Check could not look, not that the
// index is wrong.
func Check(ctx context.Context, dir string) (Report, error) {
	m, parts, err := openUnchanged(ctx, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Report{}, nil // an index that holds nothing yet
	case errors.Is(err, errForeign):
		return Report{Problems: []string{err.Error()}}, nil
	case err != nil:
		return Report{}, fmt.Errorf("check the search index: %w", err)
	}
	// From here on all files are open, and stay readable even if the server has no more use for them.
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
	return r, r.findTwins(ctx, sound)
}

// checkedPart is a part that the manifest names, or why it is not one.
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

// openUnchanged opens all that the manifest names. Where something is not there, the server may just have replaced
// it: the manifest is then another one, and read again.
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

// verify checks every byte of the part, and that it holds documents of its span alone.
func (p *part) verify() error {
	if p.file == nil {
		return nil
	}
	if err := p.file.Verify(); err != nil {
		return err
	}
	for doc := range p.file.Documents() {
		if seq := p.file.Seq(uint32(doc)); !p.span.Contains(seq) {
			return fmt.Errorf("document %d has number %d, which is not in the segment's span: %w", doc, seq, errForeign)
		}
	}
	return nil
}

func (r *Report) add(p *checkedPart) {
	span := search.Span{After: p.named.After, Through: p.named.Through}
	if p.err != nil {
		r.Problems = append(r.Problems, fmt.Sprintf("segment %d, changes %d to %d: %v", p.named.Segment, span.After+1, span.Through, p.err))
	}
	if p.named.Segment == 0 {
		return
	}
	s := SegmentReport{Number: p.named.Segment, Span: span, Problem: p.err}
	if p.part != nil {
		s.Documents, s.Deleted = p.alive(), p.deleted.Count()
		s.Units, s.Bytes = p.file.Units(), p.file.Size()
	}
	r.Segments = append(r.Segments, s)
}

// findTwins looks for documents that two segments hold: searches would find them twice.
func (r *Report) findTwins(ctx context.Context, parts []*part) error {
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
			if err := r.findTwin(p, doc, parts[i+1:]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Report) findTwin(p *part, doc uint32, others []*part) error {
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
			r.Problems = append(r.Problems, fmt.Sprintf("segments %d and %d both hold document %s", p.file.number, other.file.number, id))
		}
	}
	return nil
}
