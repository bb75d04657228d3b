package segment

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"carrel/internal/search/local/disk"
)

// Write writes the documents to a file and syncs it. The file's name is durable after a sync of its folder. A builder
// without documents writes a valid empty segment. If Write fails, a partial file may exist, which the caller removes;
// Write can be called again.
func (b *Builder) Write(fs disk.FS, path string) error {
	if b.err != nil {
		return b.err
	}
	p := b.plan()
	return writeFile(fs, path, func(file disk.File) error {
		w, err := newFileWriter(file, &p.meta, map[sectionID]uint64{
			secSources:     uint64(len(p.sourceTable)),
			secTermText:    uint64(len(b.dictionary.text)),
			secSurfaceText: p.surfaceBytes,
			secIDText:      uint64(len(b.docIDs)),
		})
		if err != nil {
			return err
		}
		w.section(secMeta).write(p.meta.encode())
		w.section(secSources).write(p.sourceTable)
		p.writeDocs(w)
		p.writeKeys(w)
		p.writeTerms(w)
		p.writePostings(w)
		p.writeVectors(w)
		p.writeForward(w)
		return w.finish()
	})
}

// plan is the content of a builder in the order of the file.
type plan struct {
	*Builder
	meta         meta
	order        []uint32 // documents in the order of adding
	sources      []Range
	sourceTable  []byte
	sorted       []uint32 // term numbers by ord
	ords         []uint32 // ord+1 by number+1; [0] is 0
	starts       []uint64 // first postings by ord, and the end
	lengths      []uint32 // by unit
	surfaces     []string // by ord, nil without Options.Surface
	surfaceBytes uint64
	titles, dois []key
}

func (b *Builder) plan() *plan {
	p := &plan{Builder: b}
	p.orderDocs()
	p.orderTerms()
	p.meta = meta{
		docs: uint64(len(b.docs)), units: uint64(len(b.units)),
		terms: uint64(len(b.dictionary.terms)), postings: p.starts[len(b.dictionary.terms)],
		titles: uint64(len(p.titles)), dois: uint64(len(p.dois)),
	}
	// A model without any vector is not recorded, so that equal content gives equal files.
	if len(b.scales) > 0 {
		p.meta.dims, p.meta.bits, p.meta.model = uint64(b.options.Dims), uint64(b.options.Bits), b.options.Model
	}
	return p
}

// orderDocs sorts the documents and computes their ranges.
func (p *plan) orderDocs() {
	p.order = make([]uint32, len(p.docs))
	for i := range p.order {
		p.order[i] = uint32(i)
	}
	slices.SortFunc(p.order, func(x, y uint32) int {
		a, b := &p.docs[x], &p.docs[y]
		if a.source != b.source {
			return cmp.Compare(p.names[a.source], p.names[b.source])
		}
		if c := cmp.Compare(a.seq, b.seq); c != 0 {
			return c
		}
		return cmp.Compare(string(p.docIDs[a.id:a.idEnd]), string(p.docIDs[b.id:b.idEnd]))
	})
	p.lengths = make([]uint32, 0, len(p.units))
	for i, n := range p.order {
		d := &p.docs[n]
		if last := len(p.sources) - 1; last < 0 || p.sources[last].Source != p.names[d.source] {
			at := uint32(len(p.lengths))
			p.sources = append(p.sources, Range{
				Source: p.names[d.source], FirstDoc: uint32(i), EndDoc: uint32(i), FirstUnit: at, EndUnit: at,
			})
		}
		source := &p.sources[len(p.sources)-1]
		for _, u := range p.units[d.unit:d.unitsEnd] {
			p.lengths = append(p.lengths, u.length)
			source.Length += uint64(u.length)
		}
		source.EndDoc, source.EndUnit = uint32(i+1), uint32(len(p.lengths))
		if d.title != 0 {
			p.titles = append(p.titles, key{d.title, uint32(i)})
		}
		if d.doi != 0 {
			p.dois = append(p.dois, key{d.doi, uint32(i)})
		}
	}
	p.sourceTable = encodeSources(p.sources)
}

// orderTerms sorts the dictionary and assigns each term the range of its postings.
func (p *plan) orderTerms() {
	p.sorted = p.dictionary.sorted()
	p.ords = make([]uint32, len(p.dictionary.terms)+1)
	p.starts = make([]uint64, len(p.dictionary.terms)+1)
	for ord, n := range p.sorted {
		p.ords[n+1] = uint32(ord + 1)
		p.starts[ord+1] = p.starts[ord] + uint64(p.dictionary.terms[n].units)
	}
	if p.options.Surface == nil {
		return
	}
	p.surfaces = make([]string, len(p.dictionary.terms))
	for ord, n := range p.sorted {
		p.surfaces[ord] = p.options.Surface(string(p.dictionary.bytes(&p.dictionary.terms[n])))
		p.surfaceBytes += uint64(len(p.surfaces[ord]))
	}
}

func (p *plan) writeDocs(w *fileWriter) {
	w.section(secLengths).write(bytesOf(p.lengths))
	docs := newDocWriter(w)
	for _, n := range p.order {
		d := &p.docs[n]
		docs.add(p.docIDs[d.id:d.idEnd], d.seq, d.year, d.unitsEnd-d.unit)
	}
}

func (p *plan) writeKeys(w *fileWriter) {
	ids := make([]key, len(p.order))
	for i, n := range p.order {
		ids[i] = key{xxhash.Sum64(p.docIDs[p.docs[n].id:p.docs[n].idEnd]), uint32(i)}
	}
	for _, table := range []struct {
		keys         []key
		hashes, docs sectionID
	}{
		{ids, secIDHashes, secIDDocs},
		{p.titles, secTitleHashes, secTitleDocs},
		{p.dois, secDOIHashes, secDOIDocs},
	} {
		slices.SortFunc(table.keys, key.compare)
		hashes, docs := w.section(table.hashes), w.section(table.docs)
		for _, k := range table.keys {
			hashes.uint64(k.hash)
			docs.uint32(k.doc)
		}
	}
}

func (p *plan) writeTerms(w *fileWriter) {
	terms := newTextWriter(w, secTermOffsets, secTermText)
	surfaces := newTextWriter(w, secSurfaceOffsets, secSurfaceText)
	for ord, n := range p.sorted {
		terms.add(p.dictionary.bytes(&p.dictionary.terms[n]))
		if p.surfaces != nil {
			surfaces.add([]byte(p.surfaces[ord]))
		} else {
			surfaces.add(nil)
		}
	}
}

// writePostings distributes the terms of each unit, in the order of units, to the ranges of the terms, so that postings
// need no sorting.
func (p *plan) writePostings(w *fileWriter) {
	units := make([]uint32, p.meta.postings)
	freqs := make([]uint8, p.meta.postings)
	next := slices.Clone(p.starts)
	var count counter
	count.init(len(p.dictionary.terms))
	unit := uint32(0)
	for _, n := range p.order {
		for _, u := range p.units[p.docs[n].unit:p.docs[n].unitsEnd] {
			words := p.words[u.words:][:u.title+u.authors+u.text]
			for i, n := range words {
				if n == 0 {
					continue
				}
				weight := uint32(1)
				if uint32(i) < u.title {
					weight = TitleWeight
				}
				count.add(p.ords[n]-1, weight)
			}
			for ord, freq := range count.all() {
				place := next[ord]
				next[ord]++
				units[place], freqs[place] = unit, freq
			}
			unit++
		}
	}
	out := newPostingWriter(w, norms(p.sources, p.lengths))
	for ord := range p.sorted {
		for place := p.starts[ord]; place < p.starts[ord+1]; place++ {
			out.add(units[place], freqs[place])
		}
		out.endTerm()
	}
	out.finish()
}

func (p *plan) writeVectors(w *fileWriter) {
	if p.meta.dims == 0 {
		return
	}
	out := newVectorWriter(w, &p.meta)
	size, words := p.meta.valueBytes(), p.meta.words()
	for _, n := range p.order {
		for _, u := range p.units[p.docs[n].unit:p.docs[n].unitsEnd] {
			if u.vector == 0 {
				out.none()
				continue
			}
			v := uint64(u.vector - 1)
			out.add(p.codes[v*words:][:words], p.bytes[v*size:][:size], p.scales[v])
		}
	}
}

func (p *plan) writeForward(w *fileWriter) {
	out := newForwardWriter(w)
	var ords []uint32
	for _, n := range p.order {
		for _, u := range p.units[p.docs[n].unit:p.docs[n].unitsEnd] {
			ords = ords[:0]
			for _, n := range p.words[u.words:][:u.title+u.authors+u.text] {
				ords = append(ords, p.ords[n])
			}
			out.add(ords[:u.title], ords[u.title:][:u.authors], ords[u.title+u.authors:])
		}
	}
}

// docWriter writes the values of documents in order.
type docWriter struct {
	ids                            *textWriter
	seqs, years, docOf, firstUnits *sectionWriter
	doc, unit                      uint32
}

func newDocWriter(w *fileWriter) *docWriter {
	d := &docWriter{
		ids:  newTextWriter(w, secIDOffsets, secIDText),
		seqs: w.section(secSeqs), years: w.section(secYears),
		docOf: w.section(secDocOf), firstUnits: w.section(secFirstUnits),
	}
	d.firstUnits.uint32(0)
	return d
}

func (d *docWriter) add(id []byte, seq uint64, year uint16, units uint32) {
	d.ids.add(id)
	d.seqs.uint64(seq)
	d.years.uint16(year)
	for range units {
		d.docOf.uint32(d.doc)
	}
	d.unit += units
	d.firstUnits.uint32(d.unit)
	d.doc++
}

// forwardWriter writes the forward records of units in order: the sizes of the three fields and then their terms, as
// varints.
type forwardWriter struct {
	offsets, records *sectionWriter
	at               uint64
	record           []byte
}

func newForwardWriter(w *fileWriter) *forwardWriter {
	f := &forwardWriter{offsets: w.section(secForwardOffsets), records: w.section(secForward)}
	f.offsets.uint64(0)
	return f
}

func (f *forwardWriter) add(title, authors, text []uint32) {
	b := f.record[:0]
	for _, field := range [][]uint32{title, authors, text} {
		b = binary.AppendUvarint(b, uint64(len(field)))
	}
	for _, field := range [][]uint32{title, authors, text} {
		for _, n := range field {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	f.record = b
	f.records.write(b)
	f.at += uint64(len(b))
	f.offsets.uint64(f.at)
}

// encodeSources encodes the table of sources: the name and the numbers of documents, units and terms of each.
func encodeSources(sources []Range) []byte {
	var b []byte
	for _, s := range sources {
		b = binary.AppendUvarint(b, uint64(len(s.Source)))
		b = append(b, s.Source...)
		b = binary.AppendUvarint(b, uint64(s.EndDoc-s.FirstDoc))
		b = binary.AppendUvarint(b, uint64(s.EndUnit-s.FirstUnit))
		b = binary.AppendUvarint(b, s.Length)
	}
	return b
}
