package rank

import (
	"cmp"
	_ "embed"
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"sync"

	"carrel/internal/search/analysis"
	"carrel/internal/search/local/segment"
)

// Cells divide the space of the built-in vectors, so that a search of a large source compares only the units in the
// cells nearest to the query. The cell of a unit depends on nothing but its vector, so the result does not depend on
// how units are spread over segments. The units of a cell are the postings of a term that no query can contain.
//
// The centres were found by k-means over the sign bits of 31,000 abstracts and groups of words.
const (
	numCells  = 256
	cellWords = 4
	// CellDims is the length of the vectors that have cells.
	CellDims = 64 * cellWords
	// cellProbes is how many cells are searched.
	cellProbes = 64
)

//go:embed cells.bin
var cellFile []byte

// cellCentres holds the sign bits of the centres.
var cellCentres = sync.OnceValue(func() *[numCells][cellWords]uint64 {
	var centres [numCells][cellWords]uint64
	for i := range centres {
		for j := range centres[i] {
			centres[i][j] = binary.LittleEndian.Uint64(cellFile[8*(i*cellWords+j):])
		}
	}
	return &centres
})

var cellTerms = sync.OnceValue(func() *[numCells]string {
	var terms [numCells]string
	for i := range terms {
		// A second mark keeps it apart from stop words.
		terms[i] = analysis.StopMark + analysis.StopMark + strconv.Itoa(i)
	}
	return &terms
})

// CellTerm returns the term of the cell of a vector with CellDims values: the cell with the nearest centre by sign
// bits, the first of several.
func CellTerm(vector []float32) string {
	var code [cellWords]uint64
	for i, v := range vector {
		if v > 0 {
			code[i/64] |= 1 << (i % 64)
		}
	}
	nearest, least := 0, CellDims+1
	for i := range cellCentres() {
		c := &cellCentres()[i]
		d := bits.OnesCount64(code[0]^c[0]) + bits.OnesCount64(code[1]^c[1]) +
			bits.OnesCount64(code[2]^c[2]) + bits.OnesCount64(code[3]^c[3])
		if d < least {
			nearest, least = i, d
		}
	}
	return cellTerms()[nearest]
}

// nearestCells returns the terms of the cells nearest to the query.
func nearestCells(q quantised) []string {
	type cell struct{ number, product int }
	cells := make([]cell, numCells)
	for i := range cells {
		c := &cellCentres()[i]
		product := 0
		for j, v := range q.bytes {
			if c[j/64]>>(j%64)&1 == 1 {
				product += int(v)
			} else {
				product -= int(v)
			}
		}
		cells[i] = cell{i, product}
	}
	slices.SortFunc(cells, func(x, y cell) int {
		return cmp.Or(cmp.Compare(y.product, x.product), cmp.Compare(x.number, y.number))
	})
	terms := make([]string, cellProbes)
	for i := range terms {
		terms[i] = cellTerms()[cells[i].number]
	}
	return terms
}

// readCells scans the units of a part that are in the cells.
func (s *scan) readCells(part int, v segment.Vectors, terms []string) error {
	at := &s.plan.parts[part]
	for _, term := range terms {
		t, ok, err := at.s.Lookup(term)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		postings, err := at.s.Postings(t)
		if err != nil {
			return err
		}
		first, _ := slices.BinarySearch(postings.Units, at.r.FirstUnit)
		end, _ := slices.BinarySearch(postings.Units, at.r.EndUnit)
		for _, unit := range postings.Units[first:end] {
			if d := distance(v.Codes[int(unit)*cellWords:][:cellWords], s.code); d <= s.limit {
				s.add(part, v, unit, d)
			}
		}
	}
	return nil
}
