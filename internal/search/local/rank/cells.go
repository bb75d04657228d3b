package rank

import (
	"cmp"
	_ "embed"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"sync"

	"carrel/internal/search/analysis"
	"carrel/internal/search/local/segment"
)

// Cells divide the space of the built-in vectors, so that a search of a large source compares only the units in the
// cells nearest to the query. The cell of a unit depends on nothing but its vector, so the result does not depend on
// how units are spread over segments. The units of a cell are the postings of a term that no query can contain.
const (
	// NumCells is the number of cells. They are in groups, which makes it faster to find the cell of a unit: only the
	// centres in the nearest groups are compared.
	NumCells       = 1024
	NumCellGroups  = 32
	searchedGroups = 3
	// CellDims is the length of the vectors that have cells.
	CellDims = 256
)

// probes returns the number of cells that are searched. In a larger source the nearest units are nearer to the query, so
// fewer cells hold them: measured over 8,000 to 127,000 units, 16 times as many units need 0.4 times as many cells for
// the same share of the ten nearest.
func probes(units, from int) int {
	n := probesAtFirst * math.Pow(float64(units)/float64(from), -0.33)
	return max(1, min(NumCells, int(n)))
}

// probesAtFirst is the number of cells that are searched in the smallest source that is searched by cells.
const probesAtFirst = 128

// cellFile holds the number of centres and the centre of each group, and then the centres of the cells in the order of
// groups. Centres have 8 bits a value and one scale. The program traincells makes it.
//
//go:embed cells.bin
var cellFile []byte

// centre is the centre of a cell or of a group of cells.
type centre struct {
	values [CellDims]int8
	sum    int32
}

type cellSpace struct {
	groups [NumCellGroups]struct {
		centre
		first, end int // of its cells
	}
	cells [NumCells]centre
	terms [NumCells]string
}

var cellsOnce = sync.OnceValue(func() *cellSpace {
	var s cellSpace
	rest := cellFile
	read := func(c *centre) {
		for i, b := range rest[:CellDims] {
			c.values[i] = int8(b)
			c.sum += int32(int8(b))
		}
		rest = rest[CellDims:]
	}
	end := 0
	for i := range s.groups {
		g := &s.groups[i]
		g.first, end = end, end+int(binary.LittleEndian.Uint16(rest))
		g.end = end
		rest = rest[2:]
		read(&g.centre)
	}
	for i := range s.cells {
		read(&s.cells[i])
		// A second mark keeps it apart from stop words.
		s.terms[i] = analysis.StopMark + analysis.StopMark + strconv.Itoa(i)
	}
	return &s
})

// product returns the product of a vector with four bits a value and the centre.
func (c *centre) product(x []byte) int32 {
	if hasDotFour {
		return dotFourFast(&x[0], &c.values[0], CellDims/2) - 8*c.sum
	}
	return dotFourPlain(x, c.values[:])
}

// CellTerm returns the term of the cell of a vector with CellDims values.
func CellTerm(vector []float32) string {
	s := cellsOnce()
	return s.terms[s.cellOf(fourBits(vector))]
}

// fourBits returns a vector in the form that products are computed of.
func fourBits(vector []float32) []byte {
	var codes [CellDims / 64]uint64
	var bytes [CellDims / 2]byte
	_, x, _ := segment.Quantise(vector, segment.FourBits, codes[:0], bytes[:0])
	return x
}

// cellOf returns the cell with the highest product in the nearest groups, the first of several.
func (s *cellSpace) cellOf(x []byte) int {
	var products [NumCellGroups]int32
	for i := range s.groups {
		products[i] = s.groups[i].product(x)
	}
	best, highest := 0, int32(math.MinInt32)
	for range searchedGroups {
		nearest := 0
		for i, p := range products {
			if p > products[nearest] {
				nearest = i
			}
		}
		products[nearest] = math.MinInt32
		for i := s.groups[nearest].first; i < s.groups[nearest].end; i++ {
			if p := s.cells[i].product(x); p > highest || p == highest && i < best {
				best, highest = i, p
			}
		}
	}
	return best
}

// nearestCells returns the terms of the n cells nearest to the query.
func nearestCells(query []float32, n int) []string {
	s := cellsOnce()
	x := fourBits(query)
	type cell struct {
		number  int
		product int32
	}
	cells := make([]cell, NumCells)
	for i := range cells {
		cells[i] = cell{i, s.cells[i].product(x)}
	}
	slices.SortFunc(cells, func(x, y cell) int {
		return cmp.Or(cmp.Compare(y.product, x.product), cmp.Compare(x.number, y.number))
	})
	terms := make([]string, n)
	for i := range terms {
		terms[i] = s.terms[cells[i].number]
	}
	return terms
}

// readCells scans the units of a part that are in the cells.
func (s *scan) readCells(part int, v segment.Vectors, terms []string) error {
	at := &s.plan.parts[part]
	const words = CellDims / 64
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
			if d := distance(v.Codes[int(unit)*words:][:words], s.code); d <= s.limit {
				s.add(part, v, unit, d)
			}
		}
	}
	return nil
}
