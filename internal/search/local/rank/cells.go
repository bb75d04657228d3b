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

// probes returns the number of cells that are searched. In a larger source the nearest units are nearer to the query,
// so fewer cells hold them: measured over 8,000 to 127,000 units, 16 times as many units need 0.4 times as many cells
// for the same share of the ten nearest.
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

// centres are the centres of cells or of groups of cells.
type centres struct {
	values []int8 // CellDims of each
	sums   []int32
}

// cellSpace is the content of cellFile. Group i has the cells ends[i-1] to ends[i].
type cellSpace struct {
	groups, cells centres
	ends          [NumCellGroups]int
	terms         [NumCells]string
}

var cellsOnce = sync.OnceValue(func() *cellSpace {
	var s cellSpace
	rest := cellFile
	end := 0
	for i := range s.ends {
		end += int(binary.LittleEndian.Uint16(rest))
		s.ends[i] = end
		rest = s.groups.read(rest[2:])
	}
	for i := range s.terms {
		rest = s.cells.read(rest)
		// A second mark keeps it apart from stop words.
		s.terms[i] = analysis.StopMark + analysis.StopMark + strconv.Itoa(i)
	}
	return &s
})

// read adds a centre and returns the rest of the file.
func (c *centres) read(file []byte) []byte {
	sum := int32(0)
	for _, b := range file[:CellDims] {
		c.values = append(c.values, int8(b))
		sum += int32(int8(b))
	}
	c.sums = append(c.sums, sum)
	return file[CellDims:]
}

// products sets products to those of a vector with four bits a value and the centres from first on.
func (c *centres) products(x []byte, first int, products []int32) {
	if len(products) == 0 {
		return
	}
	rows := c.values[first*CellDims:]
	if !hasDotFour {
		for i := range products {
			products[i] = dotFourPlain(x, rows[i*CellDims:][:CellDims])
		}
		return
	}
	dotsFourFast(&x[0], &rows[0], len(products), &products[0])
	for i := range products {
		products[i] -= 8 * c.sums[first+i]
	}
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
	var groups [NumCellGroups]int32
	var products [NumCells]int32
	s.groups.products(x, 0, groups[:])
	best, highest := 0, int32(math.MinInt32)
	for range searchedGroups {
		nearest := 0
		for i, p := range groups {
			if p > groups[nearest] {
				nearest = i
			}
		}
		groups[nearest] = math.MinInt32
		first := 0
		if nearest > 0 {
			first = s.ends[nearest-1]
		}
		cells := products[first:s.ends[nearest]]
		s.cells.products(x, first, cells)
		for i, p := range cells {
			if p > highest || p == highest && first+i < best {
				best, highest = first+i, p
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
	var products [NumCells]int32
	s.cells.products(x, 0, products[:])
	cells := make([]cell, NumCells)
	for i, p := range products {
		cells[i] = cell{i, p}
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
