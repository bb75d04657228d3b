package segment

import "iter"

// counter adds up one unit's weighted frequencies.
type counter struct {
	freqs []uint32 // by ord, 0 for those that the unit does not hold
	held  []uint32 // ords
}

func (c *counter) init(terms int) { c.freqs = make([]uint32, terms) }

func (c *counter) add(ord, weight uint32) {
	if c.freqs[ord] == 0 {
		c.held = append(c.held, ord)
	}
	// Capped at each step, so that it cannot overflow.
	c.freqs[ord] = min(c.freqs[ord]+weight, maxFreq)
}

// all yields the terms that were added, with their frequencies, and forgets them. The
// loop over it must not be left early.
func (c *counter) all() iter.Seq2[uint32, uint8] {
	return func(yield func(uint32, uint8) bool) {
		for _, ord := range c.held {
			freq := uint8(c.freqs[ord])
			c.freqs[ord] = 0
			if !yield(ord, freq) {
				return
			}
		}
		c.held = c.held[:0]
	}
}
