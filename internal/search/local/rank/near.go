package rank

import (
	"math/bits"

	"carrel/internal/search/local/segment"
)

// nearChunk is the number of codes that are compared at once.
const nearChunk = 1024

// everyUnit is the set of all units of a chunk.
var everyUnit = func() (all [nearChunk / 64]uint64) {
	for i := range all {
		all[i] = ^uint64(0)
	}
	return all
}()

// readFour is read for vectors of 193 to 256 values.
func (s *scan) readFour(part int, v segment.Vectors, codes []uint64) {
	const words = 4
	var near [nearChunk]uint16
	at := &s.plan.parts[part]
	years := at.inYears
	for first := at.r.FirstUnit; len(codes) > 0; first += nearChunk {
		n := min(len(codes)/words, nearChunk)
		within := everyUnit[:]
		if years != nil {
			within = years[:min(len(years), nearChunk/64)]
			years = years[len(within):]
		}
		for _, i := range near[:nearCodes(codes[:n*words], s.code, s.limit, within, &near)] {
			// The limit may have decreased since.
			if d := distance(codes[int(i)*words:][:words], s.code); d <= s.limit {
				s.add(part, v, first+uint32(i), d)
			}
		}
		codes = codes[n*words:]
	}
}

// nearCodes sets near to the numbers of the codes of four words that are set in within and differ from code in at most
// limit bits, and returns how many there are. Without vector instructions it may include codes that are not set.
func nearCodes(codes, code []uint64, limit int, within []uint64, near *[nearChunk]uint16) int {
	n := len(codes) / 4
	set := 0
	for _, word := range within {
		set += bits.OnesCount64(word)
	}
	const sparse = 8 // of so many units one is set, and comparing only those is faster
	switch {
	case set == 0:
		return 0
	case set*sparse < n:
		return nearCodesPlain(codes, code, limit, within, 0, near)
	case hasNearEight && n >= 8:
		found := nearCodesAVX512(&codes[0], n/8, &code[0], limit, &within[0], &near[0])
		if n%8 == 0 {
			return found
		}
		var rest [nearChunk]uint16
		more := nearCodesPlain(codes, code, limit, within, n&^7, &rest)
		return found + copy(near[found:], rest[:more])
	case hasNearCodes:
		return nearCodesFast(&codes[0], n, &code[0], limit, &near[0])
	}
	return nearCodesPlain(codes, code, limit, within, 0, near)
}

// nearCodesPlain is nearCodes from the code first on.
func nearCodesPlain(codes, code []uint64, limit int, within []uint64, first int, near *[nearChunk]uint16) int {
	n, c := 0, (*[4]uint64)(code)
	for w := first / 64; w < (len(codes)/4+63)/64; w++ {
		word := within[w]
		if w == first/64 {
			word &= ^uint64(0) << (first % 64)
		}
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			if 4*i >= len(codes) {
				break
			}
			x := (*[4]uint64)(codes[4*i:])
			d := bits.OnesCount64(x[0]^c[0]) + bits.OnesCount64(x[1]^c[1]) +
				bits.OnesCount64(x[2]^c[2]) + bits.OnesCount64(x[3]^c[3])
			if d <= limit {
				near[n] = uint16(i)
				n++
			}
		}
	}
	return n
}
