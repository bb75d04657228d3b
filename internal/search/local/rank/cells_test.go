package rank

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"carrel/internal/builtin"
)

func TestCellFileIsComplete(t *testing.T) {
	t.Parallel()
	if want := NumCellGroups*(2+CellDims) + NumCells*CellDims; len(cellFile) != want {
		t.Fatalf("cells.bin has %d bytes, want %d", len(cellFile), want)
	}
	s := cellsOnce()
	if end := s.ends[NumCellGroups-1]; end != NumCells {
		t.Errorf("the groups hold %d cells, want %d", end, NumCells)
	}
}

// The plain product and the one with vector instructions put a unit into the same cell.
func TestCellsDoNotDependOnTheProcessor(t *testing.T) {
	t.Parallel()
	s := cellsOnce()
	for _, text := range []string{"A bridge over the river", "Neural networks translate sentences.", "x"} {
		x := fourBits(builtin.Embed(text)[0])
		var products [NumCells]int32
		s.cells.products(x, 0, products[:])
		for i, p := range products {
			if plain := dotFourPlain(x, s.cells.values[i*CellDims:][:CellDims]); p != plain {
				t.Fatalf("%s: product with cell %d is %d, and %d without vector instructions", text, i, p, plain)
			}
		}
	}
}

func TestFewerCellsAreSearchedInLargerSources(t *testing.T) {
	t.Parallel()
	before := NumCells
	for units := 500_000; units < 1_000_000_000; units *= 2 {
		n := probes(units, 500_000)
		if n >= before || n < 1 {
			t.Errorf("%d cells for %d units, and %d for half as many", n, units, before)
		}
		if before = n; n < 10 {
			break
		}
	}
}

// Recall is measured with texts at hand: CARREL_TEST_CELLS is a folder with the texts of an index in *.txt and queries
// in *_q.txt, one per line.
func TestCellsHoldTheNearestTexts(t *testing.T) {
	dir := os.Getenv("CARREL_TEST_CELLS")
	if dir == "" {
		t.Skip("CARREL_TEST_CELLS is not set to a folder of texts")
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var index []embedded
	queries := make(map[string][]embedded)
	for _, name := range names {
		if base := filepath.Base(name); len(base) > 6 && base[len(base)-6:] == "_q.txt" {
			queries[base] = embedLines(t, name, 300)
		} else {
			index = append(index, embedLines(t, name, 1<<30)...)
		}
	}
	n := probes(len(index), 500_000)
	for name, set := range queries {
		held, looked := 0, 0
		for _, q := range set {
			near := make([]bool, NumCells)
			for _, term := range nearestCells(q.vector, n) {
				near[slices.Index(cellsOnce().terms[:], term)] = true
			}
			for _, u := range nearestUnits(index, q, 10) {
				if near[index[u].cell] {
					held++
				}
			}
			for _, u := range index {
				if near[u.cell] {
					looked++
				}
			}
		}
		recall := float64(held) / float64(10*len(set))
		t.Logf("%s: %d queries, recall of the ten nearest of %d units %.3f, compared %.3f of them", name, len(set),
			len(index), recall, float64(looked)/float64(len(set)*len(index)))
		if recall < 0.95 {
			t.Errorf("%s: recall %.3f", name, recall)
		}
	}
}

type embedded struct {
	vector []float32
	cell   int
}

func embedLines(t *testing.T, name string, most int) []embedded {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	var out []embedded
	for len(out) < most && lines.Scan() {
		if v := builtin.Embed(lines.Text())[0]; v != nil {
			out = append(out, embedded{v, cellsOnce().cellOf(fourBits(v))})
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func nearestUnits(index []embedded, q embedded, k int) []int {
	products := make([]float32, len(index))
	units := make([]int, len(index))
	for i := range index {
		units[i] = i
		for j, v := range q.vector {
			products[i] += v * index[i].vector[j]
		}
	}
	slices.SortFunc(units, func(x, y int) int { return cmp.Compare(products[y], products[x]) })
	return units[:k]
}
