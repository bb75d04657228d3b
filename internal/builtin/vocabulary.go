package builtin

import (
	"fmt"
	"strings"
)

const (
	vocabularySize = 30522
	// maxEntry is the length in bytes of the longest entry that a vocabulary may have.
	maxEntry = 32

	slotBits = 16
	slotMask = 1<<slotBits - 1

	// Hashes are FNV-1a. Entries that continue a word ("##ing") are stored without their mark and with another seed.
	hashPrime    = 16777619
	wordSeed     = 2166136261
	continueSeed = 2166136261 ^ 0x5bd1e995
)

// vocabulary is a hash table of WordPiece entries with open addressing. Compared with a map it takes a quarter of the
// memory, and one pass over a word gives the hashes of all its prefixes.
type vocabulary struct {
	text    string
	starts  []uint32 // where an entry starts in text, after the mark of a continuation
	ends    []uint32
	longest int
	// slots hold an entry's identifier plus one in the low half and a part of its hash in the high half; 0 is free.
	slots []uint32
}

func newVocabulary(text string) (*vocabulary, error) {
	v := &vocabulary{text: text, slots: make([]uint32, 1<<slotBits)}
	start := 0
	for line := range strings.Lines(text) {
		entry := strings.TrimSuffix(line, "\n")
		seed, at := uint32(wordSeed), start
		if rest, ok := strings.CutPrefix(entry, "##"); ok && rest != "" {
			entry, seed, at = rest, continueSeed, at+len("##")
		}
		if entry == "" || len(entry) > maxEntry || len(v.starts) == vocabularySize {
			return nil, fmt.Errorf("%w: unexpected entry %q of the vocabulary", errDamaged, entry)
		}
		v.starts, v.ends = append(v.starts, uint32(at)), append(v.ends, uint32(at+len(entry)))
		v.insert(seed, entry)
		v.longest = max(v.longest, len(entry))
		start += len(line)
	}
	if len(v.starts) != vocabularySize {
		return nil, fmt.Errorf("%w: the vocabulary has %d entries", errDamaged, len(v.starts))
	}
	return v, nil
}

// insert adds the entry that was appended last.
func (v *vocabulary) insert(seed uint32, entry string) {
	hash := seed
	for i := range len(entry) {
		hash = (hash ^ uint32(entry[i])) * hashPrime
	}
	slot := hash >> slotBits
	for v.slots[slot] != 0 {
		slot = (slot + 1) & slotMask
	}
	v.slots[slot] = hash<<slotBits | uint32(len(v.starts))
}

// longestPrefix returns the longest entry that word starts with, and its length; the length is 0 if there is none.
func (v *vocabulary) longestPrefix(word []byte, seed uint32) (id uint16, length int) {
	var hashes [maxEntry]uint32
	n := min(len(word), v.longest)
	hash := seed
	for i, c := range word[:n] {
		hash = (hash ^ uint32(c)) * hashPrime
		hashes[i&(maxEntry-1)] = hash
	}
	for ; n > 0; n-- {
		if id, ok := v.find(hashes[(n-1)&(maxEntry-1)], word[:n], seed == continueSeed); ok {
			return id, n
		}
	}
	return 0, 0
}

func (v *vocabulary) find(hash uint32, entry []byte, continued bool) (uint16, bool) {
	for slot := hash >> slotBits; v.slots[slot] != 0; slot = (slot + 1) & slotMask {
		if (v.slots[slot]^hash<<slotBits)>>slotBits != 0 {
			continue
		}
		id := v.slots[slot]&slotMask - 1
		if v.text[v.starts[id]:v.ends[id]] == string(entry) && v.continues(id) == continued {
			return uint16(id), true
		}
	}
	return 0, false
}

// continues reports whether an entry continues a word. Entries are separated by one byte, and "##" is two more.
func (v *vocabulary) continues(id uint32) bool {
	return id > 0 && v.starts[id] != v.ends[id-1]+1
}
