package segment

import (
	"slices"
	"sync"
)

// yearCache keeps the units of the ranges of years that were searched last. Interfaces offer few ranges, and the next
// question usually has the same one.
type yearCache struct {
	mu      sync.Mutex
	entries []yearUnits // most recent first
}

// yearUnits are the units of a source whose documents are of a range of years.
type yearUnits struct {
	firstUnit uint32 // of the source
	from, to  uint16
	units     []uint64
}

const (
	// keptYears is the number of sets of units that are kept. All of them together take half a byte per unit.
	keptYears = 4
	// leastKeptUnits is the number of units from which a set is kept. Smaller ones take a few microseconds.
	leastKeptUnits = 2048
)

// UnitsOfYears returns the set of the units of a source whose documents are of the years from to to, both inclusive, as
// bits counted from the first unit of the source. Documents without a year are never included. The slice must not be
// changed.
func (s *Segment) UnitsOfYears(r Range, from, to uint16) []uint64 {
	from = max(1, from)
	if r.EndUnit-r.FirstUnit < leastKeptUnits {
		return s.computeYears(r, from, to)
	}
	wanted := yearUnits{firstUnit: r.FirstUnit, from: from, to: to}
	if units, ok := s.ofYears.find(wanted); ok {
		return units
	}
	wanted.units = s.computeYears(r, from, to)
	s.ofYears.keep(wanted)
	return wanted.units
}

func (s *Segment) computeYears(r Range, from, to uint16) []uint64 {
	docOf := s.docOf[r.FirstUnit:r.EndUnit]
	set := make([]uint64, (len(docOf)+63)/64)
	if from > to {
		return set
	}
	years, span := s.years, to-from
	for i := range set {
		docs := docOf[i*64 : min((i+1)*64, len(docOf))]
		word := uint64(0)
		for j, doc := range docs {
			within := uint64(0)
			if years[doc]-from <= span { // years before from wrap around
				within = 1
			}
			word |= within << j
		}
		set[i] = word
	}
	return set
}

func (c *yearCache) index(wanted yearUnits) int {
	return slices.IndexFunc(c.entries, func(e yearUnits) bool {
		return e.firstUnit == wanted.firstUnit && e.from == wanted.from && e.to == wanted.to
	})
}

// find returns a kept set and makes it the most recent.
func (c *yearCache) find(wanted yearUnits) ([]uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.index(wanted)
	if i < 0 {
		return nil, false
	}
	found := c.entries[i]
	copy(c.entries[1:i+1], c.entries[:i])
	c.entries[0] = found
	return found.units, true
}

// keep adds a set in place of the one that was not used for the longest time.
func (c *yearCache) keep(e yearUnits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.index(e) >= 0 { // another search was faster
		return
	}
	if len(c.entries) < keptYears {
		c.entries = append(c.entries, yearUnits{})
	}
	copy(c.entries[1:], c.entries)
	c.entries[0] = e
}
