// Command traincells makes cells.bin, the fixed division of the space of built-in vectors into cells. It reads texts,
// one per line, and writes the file:
//
//	go run ./internal/search/local/rank/traincells < texts > internal/search/local/rank/cells.bin
//
// The committed file was made of 20,000 titles with abstracts of the ACL Anthology and 9,700 sentences of WikiSplit
// (tune and validation). Another file changes which documents are found by meaning in large sources, so the name of the
// model of the vectors must change with it.
package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"

	"carrel/internal/builtin"
	"carrel/internal/search/local/rank"
)

// rounds is the number of rounds of k-means.
const rounds = 12

func main() {
	log.SetFlags(0)
	if err := run(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(in io.Reader, out io.Writer) error {
	vectors, err := readVectors(in)
	if err != nil {
		return err
	}
	if len(vectors) < 10*rank.NumCells {
		return fmt.Errorf("%d texts are not enough for %d cells", len(vectors), rank.NumCells)
	}
	random := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // the file is the same each time
	centres := means(random, vectors, rank.NumCells)
	groups := means(random, centres, rank.NumCellGroups)
	members := make([][][]float32, len(groups))
	for _, c := range centres {
		g := nearest(groups, c)
		members[g] = append(members[g], c)
	}
	highest := float32(0)
	for _, c := range slices.Concat(centres, groups) {
		for _, v := range c {
			highest = max(highest, v, -v)
		}
	}
	w := bufio.NewWriter(out)
	for i, g := range groups {
		_ = binary.Write(w, binary.LittleEndian, uint16(len(members[i])))
		_, _ = w.Write(quantise(g, highest))
	}
	for _, m := range members {
		for _, c := range m {
			_, _ = w.Write(quantise(c, highest))
		}
	}
	return w.Flush()
}

func readVectors(in io.Reader) ([][]float32, error) {
	var vectors [][]float32
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if v := builtin.Embed(lines.Text())[0]; v != nil {
			vectors = append(vectors, v)
		}
	}
	return vectors, lines.Err()
}

// means divides vectors by k-means over cosines and returns the centres, with length 1.
func means(random *rand.Rand, vectors [][]float32, k int) [][]float32 {
	centres := make([][]float32, k)
	for i, at := range random.Perm(len(vectors))[:k] {
		centres[i] = vectors[at]
	}
	for range rounds {
		sums := make([][]float32, k)
		for i, n := range assign(centres, vectors) {
			if sums[n] == nil {
				sums[n] = make([]float32, len(vectors[i]))
			}
			for j, v := range vectors[i] {
				sums[n][j] += v
			}
		}
		for i, s := range sums {
			if s == nil {
				s = slices.Clone(vectors[random.IntN(len(vectors))])
			}
			centres[i] = normalise(s)
		}
	}
	return centres
}

// assign returns the nearest centre of each vector.
func assign(centres, vectors [][]float32) []int {
	out := make([]int, len(vectors))
	var wg sync.WaitGroup
	const block = 1000
	for from := 0; from < len(vectors); from += block {
		wg.Go(func() {
			for i := from; i < min(from+block, len(vectors)); i++ {
				out[i] = nearest(centres, vectors[i])
			}
		})
	}
	wg.Wait()
	return out
}

func nearest(centres [][]float32, vector []float32) int {
	best, highest := 0, float32(math.Inf(-1))
	for i, c := range centres {
		var sum float32
		for j, v := range vector {
			sum += v * c[j]
		}
		if cmp.Compare(sum, highest) > 0 {
			best, highest = i, sum
		}
	}
	return best
}

func normalise(v []float32) []float32 {
	length := 0.0
	for _, x := range v {
		length += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(length))
	}
	return v
}

func quantise(v []float32, highest float32) []byte {
	out := make([]byte, len(v))
	for i, x := range v {
		out[i] = byte(int8(math.Round(float64(x) / float64(highest) * math.MaxInt8)))
	}
	return out
}
