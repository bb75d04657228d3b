package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// dictionary numbers terms in the order of their first appearance. It is a hash table without pointers, because the
// garbage collector would have to scan the half a million strings of a map again and again.
type dictionary struct {
	seed  maphash.Seed
	slots []slot // a power of two, at most 3/4 in use
	terms []builtTerm
	text  []byte
}

// slot holds part of the hash and the term's number plus one, 0 if it is free.
type slot struct{ hash, number uint32 }

type builtTerm struct {
	at    uint64 // offset in dictionary.text
	size  uint32
	units uint32 // number of units that hold it
	last  uint32 // the last of these, plus one
}

func newDictionary() dictionary {
	return dictionary{seed: maphash.MakeSeed(), slots: make([]slot, 1024)}
}

// bytes returns the text of a term.
func (d *dictionary) bytes(t *builtTerm) []byte { return d.text[t.at:][:t.size] }

// number returns the number plus one of a term, adding it if it is new.
func (d *dictionary) number(term string) uint32 {
	hash := uint32(maphash.String(d.seed, term))
	mask := uint32(len(d.slots) - 1)
	at := hash & mask
	for ; d.slots[at].number != 0; at = (at + 1) & mask {
		if d.slots[at].hash != hash {
			continue
		}
		if number := d.slots[at].number; string(d.bytes(&d.terms[number-1])) == term {
			return number
		}
	}
	d.terms = append(d.terms, builtTerm{at: uint64(len(d.text)), size: uint32(len(term))})
	d.text = append(d.text, term...)
	number := uint32(len(d.terms))
	d.slots[at] = slot{hash, number}
	if len(d.terms) > len(d.slots)/4*3 {
		d.grow()
	}
	return number
}

// grow doubles the table, using the stored hashes.
func (d *dictionary) grow() {
	old := d.slots
	d.slots = make([]slot, 2*len(old))
	mask := uint32(len(d.slots) - 1)
	for _, s := range old {
		if s.number == 0 {
			continue
		}
		at := s.hash & mask
		for d.slots[at].number != 0 {
			at = (at + 1) & mask
		}
		d.slots[at] = s
	}
}

// sorted returns the term numbers in the order of their texts.
func (d *dictionary) sorted() []uint32 {
	// Most terms differ in their first eight bytes, so these are compared first.
	type entry struct {
		prefix uint64
		number uint32
	}
	entries := make([]entry, len(d.terms))
	for i := range d.terms {
		var first [8]byte
		copy(first[:], d.bytes(&d.terms[i]))
		entries[i] = entry{binary.BigEndian.Uint64(first[:]), uint32(i)}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return bytes.Compare(d.bytes(&d.terms[a.number]), d.bytes(&d.terms[b.number]))
	})
	out := make([]uint32, len(entries))
	for i, e := range entries {
		out[i] = e.number
	}
	return out
}

func (d *dictionary) size() int { return len(d.terms)*32 + len(d.text) + len(d.slots)*8 }
