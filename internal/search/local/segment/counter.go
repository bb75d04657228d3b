package segment

import "iter"

// counter sums up the weighted frequencies of one unit.
type counter struct {
	freqs []uint32 // by ord, 0 for terms the unit does not hold
	held  []uint32 // ords of the terms it holds
}

func (c *counter) init(terms int) { c.freqs = make([]uint32, terms) }

func (c *counter) add(ord, weight uint32) {
	if c.freqs[ord] == 0 {
		c.held = append(c.held, ord)
	}
	// Capped at every step, so that it cannot overflow.
	c.freqs[ord] = min(c.freqs[ord]+weight, maxFreq)
}

// all yields the added terms with their frequencies and resets the counter. The loop over it must run to the end.
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
