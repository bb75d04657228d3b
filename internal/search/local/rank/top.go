package rank

import (
	"cmp"
	"slices"
)

// candidate is a document that may be listed, with its best unit.
type candidate struct {
	score     points
	part      int
	unit, doc uint32
	named     bool // the query is its title or DOI, so that it comes first
	wordless  bool // it holds no word of the query and was found by its embedding
}

// compare sorts candidates: named ones first, then by descending score, then by position.
func compare(x, y candidate) int {
	switch {
	case x.named != y.named:
		if x.named {
			return -1
		}
		return 1
	case x.score != y.score:
		return cmp.Compare(y.score, x.score)
	case x.part != y.part:
		return cmp.Compare(x.part, y.part)
	}
	return cmp.Compare(x.unit, y.unit)
}

// top collects the best k candidates, one per document, in a heap with the worst in front.
type top struct {
	k     int
	heap  []candidate
	least points // score that a candidate must reach
}

// add adds a candidate if it is among the best so far. If its document has several units, only the best one is kept.
func (t *top) add(c candidate, several bool) {
	if several {
		if i := slices.IndexFunc(t.heap, func(h candidate) bool { return h.part == c.part && h.doc == c.doc }); i >= 0 {
			if compare(c, t.heap[i]) < 0 {
				t.heap[i] = c
				t.down(i) // better candidates are further down
				t.bound()
			}
			return
		}
	}
	switch {
	case len(t.heap) < t.k:
		if t.heap == nil {
			t.heap = make([]candidate, 0, min(t.k, 256))
		}
		t.heap = append(t.heap, c)
		t.up(len(t.heap) - 1)
	case compare(c, t.heap[0]) < 0:
		t.heap[0] = c
		t.down(0)
	default:
		return
	}
	t.bound()
}

func (t *top) bound() {
	if len(t.heap) == t.k {
		t.least = t.heap[0].score
	}
}

func (t *top) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if compare(t.heap[parent], t.heap[i]) > 0 {
			return
		}
		t.heap[i], t.heap[parent] = t.heap[parent], t.heap[i]
		i = parent
	}
}

func (t *top) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(t.heap) {
			return
		}
		if child+1 < len(t.heap) && compare(t.heap[child+1], t.heap[child]) > 0 {
			child++
		}
		if compare(t.heap[i], t.heap[child]) > 0 {
			return
		}
		t.heap[i], t.heap[child] = t.heap[child], t.heap[i]
		i = child
	}
}

// sorted returns the candidates, best first. Nothing can be added afterwards.
func (t *top) sorted() []candidate {
	slices.SortFunc(t.heap, compare)
	return t.heap
}
