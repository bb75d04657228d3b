package segment

import (
	"context"
	"fmt"
	"math"

	"carrel/internal/processor"
	"carrel/internal/search/local/disk"
)

// Input is a segment to merge, without its deleted documents.
type Input struct {
	Segment *Segment
	Deleted *Bits // by document, or nil
}

// gone is the new number of a document, unit or term that is not in the merged segment.
const gone = math.MaxUint32

// Merge writes the surviving documents of the inputs as one segment. The result is the same file that a Builder would
// write, except for surfaces if inputs have several for a term: the shortest wins, then the smallest. Merge holds a few
// numbers per document and term in memory, but no postings and no text. Inputs are ordered from the oldest to the
// newest; if they have vectors of different models, only vectors of the newest model are kept.
//
// An error that wraps ErrDamaged is about an input, which Segment.Verify identifies. If Merge fails, also because ctx
// ended, a partial file may exist, which the caller removes.
func Merge(ctx context.Context, fs disk.FS, path string, inputs []Input) error {
	m := &merger{ctx: ctx, inputs: inputs}
	if err := m.compute(m.plan); err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	if err := writeFile(fs, path, m.write); err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	return nil
}

// merger first numbers the surviving documents, units and terms, which determines the length of every section, and then
// copies.
type merger struct {
	ctx    context.Context //nolint:containedctx // a merger lives as long as one call
	inputs []Input
	out    meta
	file   *fileWriter // nil while planning

	sources  []Range
	runs     []run
	docs     [][]uint32 // new numbers by input and old number
	units    [][]uint32
	terms    [][]uint32
	vectors  []bool // inputs whose vectors are kept
	idBytes  uint64
	termText uint64
	surfaces uint64

	steps int
}

// run is a range of documents of one input that stay consecutive.
type run struct {
	input      int
	first, end uint32
}

// compute calls f with a slot of a processor, which step yields.
func (m *merger) compute(f func() error) error {
	if err := processor.Acquire(m.ctx); err != nil {
		return err
	}
	defer processor.Release()
	return f()
}

func (m *merger) plan() error {
	m.planDocs()
	if err := m.out.check(); err != nil {
		return err
	}
	for _, step := range []func() error{m.ctx.Err, m.planIDs, m.planKeys, m.planVectors, m.planTerms} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) write(file disk.File) error {
	sources := encodeSources(m.sources)
	var err error
	m.file, err = newFileWriter(file, &m.out, map[sectionID]uint64{
		secSources:     uint64(len(sources)),
		secTermText:    m.termText,
		secSurfaceText: m.surfaces,
		secIDText:      m.idBytes,
	})
	if err != nil {
		return err
	}
	w := m.file
	w.section(secMeta).write(m.out.encode())
	w.section(secSources).write(sources)
	for _, step := range []func(*fileWriter) error{
		m.writeDocs, m.writeKeys, m.writeTerms, m.writeVectors, m.writeForward,
	} {
		if err := m.compute(func() error { return step(w) }); err != nil {
			return err
		}
	}
	return w.finish()
}

// step is called in every loop over documents or terms. It lets other computations take turns, and returns an error
// when the context has ended or a write has failed.
func (m *merger) step() error {
	m.steps++
	if m.steps%1024 != 0 {
		return nil
	}
	if m.file != nil && m.file.err != nil {
		return m.file.err
	}
	processor.Yield()
	return m.ctx.Err()
}

// allRuns calls f for every surviving document in its new order.
func (m *merger) allRuns(f func(s *Segment, input int, doc uint32) error) error {
	for _, r := range m.runs {
		s := m.inputs[r.input].Segment
		for doc := r.first; doc < r.end; doc++ {
			if err := m.step(); err != nil {
				return err
			}
			if err := f(s, r.input, doc); err != nil {
				return err
			}
		}
	}
	return nil
}
