package segment

import (
	"slices"
)

// planDocs numbers the surviving documents in the order of the new file.
func (m *merger) planDocs() {
	var names []string
	for _, in := range m.inputs {
		s := in.Segment
		for _, r := range s.sources {
			names = append(names, r.Source)
		}
		m.docs = append(m.docs, filled(s.Documents()))
		m.units = append(m.units, filled(s.Units()))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		m.planSource(name)
	}
}

func filled(n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = gone
	}
	return out
}

// planSource merges the documents of one source by seq. Segments cover consecutive spans of the log, so this gives few,
// long runs.
func (m *merger) planSource(name string) {
	source := Range{
		Source: name, FirstDoc: uint32(m.out.docs), FirstUnit: uint32(m.out.units),
	}
	rest := make([]run, 0, len(m.inputs))
	for i, in := range m.inputs {
		if r, ok := in.Segment.Source(name); ok {
			rest = append(rest, run{input: i, first: r.FirstDoc, end: r.EndDoc})
		}
	}
	for len(rest) > 0 {
		least := 0
		for i := range rest {
			if m.seq(rest[i]) < m.seq(rest[least]) {
				least = i
			}
		}
		r := &rest[least]
		m.place(r.input, r.first, &source)
		r.first++
		if r.first == r.end {
			rest = slices.Delete(rest, least, least+1)
		}
	}
	source.EndDoc, source.EndUnit = uint32(m.out.docs), uint32(m.out.units)
	if source.EndDoc > source.FirstDoc {
		m.sources = append(m.sources, source)
	}
}

func (m *merger) seq(r run) uint64 { return m.inputs[r.input].Segment.seqs[r.first] }

// place assigns the next numbers to a document and its units, unless it is deleted.
func (m *merger) place(input int, doc uint32, source *Range) {
	in := &m.inputs[input]
	if in.Deleted.Get(doc) {
		return
	}
	m.docs[input][doc] = uint32(m.out.docs)
	m.out.docs++
	for u := in.Segment.firstUnits[doc]; u < in.Segment.firstUnits[doc+1]; u++ {
		m.units[input][u] = uint32(m.out.units)
		m.out.units++
		source.Length += uint64(in.Segment.lengths[u])
	}
	if last := len(m.runs) - 1; last >= 0 && m.runs[last].input == input && m.runs[last].end == doc {
		m.runs[last].end++
		return
	}
	m.runs = append(m.runs, run{input: input, first: doc, end: doc + 1})
}

// planIDs sums up the lengths of the ids.
func (m *merger) planIDs() error {
	for _, r := range m.runs {
		offsets, err := m.inputs[r.input].Segment.ids.offsets.slice(uint64(r.first), uint64(r.end)+1)
		if err != nil {
			return err
		}
		first, end := offsets[0], offsets[len(offsets)-1]
		if first > end {
			return damaged("id offsets")
		}
		m.idBytes += uint64(end - first)
	}
	return nil
}

func (m *merger) writeDocs(w *fileWriter) error {
	lengths := w.section(secLengths)
	docs := newDocWriter(w)
	return m.allRuns(func(s *Segment, _ int, doc uint32) error {
		first, end := s.firstUnits[doc], s.firstUnits[doc+1]
		lengths.write(bytesOf(s.lengths[first:end]))
		id, err := s.ids.at(uint64(doc))
		if err != nil {
			return err
		}
		docs.add(id, s.seqs[doc], s.years[doc], end-first)
		return nil
	})
}

// newNorms returns the norms of the units by their new numbers and averages.
func (m *merger) newNorms() []float32 {
	lengths := make([]uint32, 0, m.out.units)
	for _, r := range m.runs {
		s := m.inputs[r.input].Segment
		lengths = append(lengths, s.lengths[s.firstUnits[r.first]:s.firstUnits[r.end]]...)
	}
	return norms(m.sources, lengths)
}

// planVectors chooses the model of the newest input with a surviving vector.
func (m *merger) planVectors() error {
	m.vectors = make([]bool, len(m.inputs))
	for i := len(m.inputs) - 1; i >= 0; i-- {
		s := m.inputs[i].Segment
		name, dims := s.Model()
		if dims == 0 || m.out.dims > 0 && (name != m.out.model || s.meta.shape() != m.out.shape()) {
			continue
		}
		scales, err := s.scales.slice(0, s.scales.len())
		if err != nil {
			return err
		}
		for unit, scale := range scales {
			if scale != 0 && m.units[i][unit] != gone {
				m.vectors[i] = true
				m.out.model, m.out.dims, m.out.bits = name, s.meta.dims, s.meta.bits
				break
			}
		}
	}
	return nil
}

func (m *merger) writeVectors(w *fileWriter) error {
	if m.out.dims == 0 {
		return nil
	}
	out := newVectorWriter(w, &m.out)
	size, words := m.out.valueBytes(), m.out.words()
	return m.allRuns(func(s *Segment, input int, doc uint32) error {
		for u := uint64(s.firstUnits[doc]); u < uint64(s.firstUnits[doc+1]); u++ {
			if !m.vectors[input] {
				out.none()
				continue
			}
			codes, err := s.codes.slice(u*words, (u+1)*words)
			if err != nil {
				return err
			}
			bytes, err := s.bytes.slice(u*size, (u+1)*size)
			if err != nil {
				return err
			}
			out.add(codes, bytes, s.scales.values[u]) // planVectors has verified the scales
		}
		return nil
	})
}

// writeForward translates the forward records to the new dictionary.
func (m *merger) writeForward(w *fileWriter) error {
	out := newForwardWriter(w)
	var record Forward
	return m.allRuns(func(s *Segment, input int, doc uint32) error {
		for u := s.firstUnits[doc]; u < s.firstUnits[doc+1]; u++ {
			if err := s.Forward(u, &record); err != nil {
				return err
			}
			for _, field := range [][]uint32{record.Title, record.Authors, record.Text} {
				if !translate(field, m.terms[input]) {
					return damaged("forward record %d holds a term without postings", u)
				}
			}
			out.add(record.Title, record.Authors, record.Text)
		}
		return nil
	})
}

// translate replaces old values of ord+1 by new ones, and reports whether all of them have one.
func translate(field, terms []uint32) bool {
	for i, n := range field {
		if n == 0 {
			continue
		}
		to := terms[n-1]
		if to == gone {
			return false
		}
		field[i] = to + 1
	}
	return true
}
