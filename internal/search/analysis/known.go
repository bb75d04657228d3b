package analysis

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// entry is the cached result for a word.
type entry struct {
	term, plain string
	stop        bool
}

// knownWords is a cache of words. Indexing looks up every word of every document, mostly the same few thousand, so that
// the misses of the processor's cache decide its speed: a slot with a word of up to 16 bytes is one cache line, where a
// map reads three. Other words, a few per cent, are in a map.
type knownWords struct {
	slots []knownWord // a power of two, at most 3/4 in use
	used  int
	shift int              // 64 less the logarithm of len(slots)
	seed  [2]uint64        // so that nobody can choose words that collide
	other map[string]entry // words that are longer, or empty
}

// knownWord is a slot. Its size is 64 bytes.
type knownWord struct {
	low, high uint64 // the word; see pack
	entry     entry
	size      uint8 // of the word, 0 in a free slot
}

const (
	shortWord     = 16
	firstSlots    = 32
	firstSlotBits = 5
)

func (k *knownWords) len() int { return k.used + len(k.other) }

// find returns the entry of a word, or nil. It is valid until the next call of add.
func (k *knownWords) find(word []byte) *entry {
	if len(word) > shortWord || len(word) == 0 {
		if e, ok := k.other[string(word)]; ok {
			return &e
		}
		return nil
	}
	if len(k.slots) == 0 {
		return nil
	}
	low, high := pack(word)
	if s := k.slot(low, high, uint8(len(word))); s.size != 0 {
		return &s.entry
	}
	return nil
}

// slot returns the slot of a word, or the free one where it belongs.
func (k *knownWords) slot(low, high uint64, size uint8) *knownWord {
	at := k.place(low, high, size)
	for {
		s := &k.slots[at&(len(k.slots)-1)]
		if s.size == 0 || s.low == low && s.high == high && s.size == size {
			return s
		}
		at++
	}
}

func (k *knownWords) place(low, high uint64, size uint8) int {
	h, l := bits.Mul64(low^k.seed[0], high^k.seed[1]^uint64(size))
	return int((h ^ l) >> k.shift)
}

// add adds a word that is not in the cache.
func (k *knownWords) add(word string, e entry) {
	if len(word) > shortWord || len(word) == 0 {
		if k.other == nil {
			k.other = make(map[string]entry)
		}
		k.other[word] = e
		return
	}
	if k.used >= len(k.slots)/4*3 {
		k.grow()
	}
	low, high := pack([]byte(word))
	*k.slot(low, high, uint8(len(word))) = knownWord{low: low, high: high, entry: e, size: uint8(len(word))}
	k.used++
}

func (k *knownWords) grow() {
	old := k.slots
	if old == nil {
		k.slots, k.shift = make([]knownWord, firstSlots), 64-firstSlotBits
		k.seed = [2]uint64{rand.Uint64(), rand.Uint64()} //nolint:gosec // unpredictable enough: the runtime seeds it
		return
	}
	k.slots = make([]knownWord, 2*len(old))
	k.shift--
	for i := range old {
		if s := &old[i]; s.size != 0 {
			*k.slot(s.low, s.high, s.size) = *s
		}
	}
}

// clear forgets all words.
func (k *knownWords) clear() {
	clear(k.slots)
	clear(k.other)
	k.used = 0
}

// pack returns a word of 1 to 16 bytes as two numbers. Words of the same size have the same numbers only if they are
// equal.
func pack(word []byte) (low, high uint64) {
	switch n := len(word); {
	case n >= 8:
		return binary.LittleEndian.Uint64(word), binary.LittleEndian.Uint64(word[n-8:])
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(word)), uint64(binary.LittleEndian.Uint32(word[n-4:]))
	default:
		return uint64(word[0]) | uint64(word[n/2])<<8, uint64(word[n-1])
	}
}
