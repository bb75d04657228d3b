package format

import (
	"bytes"
	"encoding/binary"

	"carrel/internal/format/budget"
)

// cfbFile is a file in the Compound File Binary format ([MS-CFB]): storages, which are like folders, and streams
// in chains of sectors. All chains are bounded by the size of the file, so cycles end.
type cfbFile struct {
	b    *budget.Budget
	data []byte
	// size is the size of a sector, mini that of a sector of short streams, which are in the stream of the root.
	size, mini int
	// cutoff is the length from which a stream is not short.
	cutoff  int
	fat     []byte
	miniFAT []byte
	short   []byte
	entries []byte
}

// Kinds of directory entries, and the end of a chain ([MS-CFB], sections 2.6.1 and 2.1).
const (
	cfbStorage, cfbStream, cfbRoot = 1, 2, 5
	cfbEntry                       = 128
	cfbNone                        = 0xffffffff
	cfbMaxSector                   = 0xfffffffa
	cfbHeader                      = 512
	// cfbMaxEntries limits the directory.
	cfbMaxEntries = 100_000
	workCFBEntry  = 300
)

// openCompound reads the allocation tables and the directory. It returns nil if the file has another format.
func openCompound(b *budget.Budget, data []byte) *cfbFile {
	if len(data) < cfbHeader || !bytes.HasPrefix(data, compoundFile) {
		return nil
	}
	shift, miniShift := u16(data[30:]), u16(data[32:])
	if shift != 9 && shift != 12 || miniShift != 6 {
		return nil
	}
	f := &cfbFile{b: b, data: data, size: 1 << shift, mini: 1 << miniShift, cutoff: int(u32(data[56:]))}
	f.readFAT()
	f.miniFAT = f.chain(u32(data[60:]), len(data))
	f.entries = f.chain(u32(data[48:]), cfbMaxEntries*cfbEntry)
	if len(f.entries) < cfbEntry || f.entries[66] != cfbRoot {
		return nil
	}
	f.short = f.chain(u32(f.entries[116:]), int(u32(f.entries[120:])))
	return f
}

func u16(b []byte) int { return int(binary.LittleEndian.Uint16(b)) }

func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// sector returns the content of a sector, which is shorter at the end of a truncated file.
func (f *cfbFile) sector(n uint32) []byte {
	from := (int(n) + 1) * f.size
	if n > cfbMaxSector || from >= len(f.data) {
		return nil
	}
	return f.data[from:min(len(f.data), from+f.size)]
}

// readFAT joins the sectors of the allocation table. The header has the numbers of the first 109; the others are in a
// chain of sectors, each of which ends with the number of the next.
func (f *cfbFile) readFAT() {
	add := func(numbers []byte) {
		for ; len(numbers) >= 4 && len(f.fat) < len(f.data); numbers = numbers[4:] {
			part := f.sector(u32(numbers))
			f.b.Work(len(part))
			f.b.Hold(len(part))
			f.fat = append(f.fat, part...)
		}
	}
	add(f.data[76:cfbHeader])
	next := u32(f.data[68:])
	for range len(f.data) / f.size {
		part := f.sector(next)
		if len(part) < f.size {
			return
		}
		add(part[:f.size-4])
		next = u32(part[f.size-4:])
	}
}

// chain returns the content of a chain of sectors, up to length bytes.
func (f *cfbFile) chain(start uint32, length int) []byte {
	return f.follow(start, length, f.fat, len(f.data)/f.size, f.sector)
}

// shortChain is chain for a short stream.
func (f *cfbFile) shortChain(start uint32, length int) []byte {
	return f.follow(start, length, f.miniFAT, len(f.short)/f.mini+1, func(n uint32) []byte {
		from := int(n) * f.mini
		if n > cfbMaxSector || from >= len(f.short) {
			return nil
		}
		return f.short[from:min(len(f.short), from+f.mini)]
	})
}

// follow joins at most limit sectors of a chain.
func (f *cfbFile) follow(
	start uint32, length int, table []byte, limit int, sector func(uint32) []byte,
) []byte {
	var out []byte
	for n, at := start, 0; at <= limit && len(out) < length; at++ {
		part := sector(n)
		if len(part) == 0 {
			break
		}
		f.b.Work(workToken + len(part))
		f.b.Hold(len(part))
		out = append(out, part...)
		if 4*int(n)+4 > len(table) {
			break
		}
		n = u32(table[4*n:])
	}
	return out[:min(len(out), length)]
}

// cfbNode is an entry of the directory.
type cfbNode struct {
	f     *cfbFile
	name  string
	kind  byte
	child uint32
	start uint32
	size  int
}

// root returns the root storage.
func (f *cfbFile) root() cfbNode { return f.node(0) }

func (f *cfbFile) node(n uint32) cfbNode {
	e := f.entries[int(n)*cfbEntry:][:cfbEntry]
	length := min(max(u16(e[64:])-2, 0), 64)
	return cfbNode{
		f: f, name: decodeUTF16(e[:length], binary.LittleEndian), kind: e[66], child: u32(e[76:]),
		start: u32(e[116:]), size: int(u32(e[120:])),
	}
}

// children returns the entries of a storage, which form a binary tree.
func (n cfbNode) children() []cfbNode {
	f := n.f
	var out []cfbNode
	seen := map[uint32]bool{}
	for open := []uint32{n.child}; len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		if at == cfbNone || seen[at] || int(at) >= len(f.entries)/cfbEntry {
			continue
		}
		seen[at] = true
		f.b.Work(workCFBEntry)
		e := f.entries[int(at)*cfbEntry:]
		open = append(open, u32(e[68:]), u32(e[72:]))
		if child := f.node(at); child.kind == cfbStorage || child.kind == cfbStream {
			out = append(out, child)
		}
	}
	return out
}

// content returns the content of a stream.
func (n cfbNode) content() []byte {
	switch {
	case n.kind != cfbStream || n.size <= 0:
		return nil
	case n.size < n.f.cutoff:
		return n.f.shortChain(n.start, n.size)
	}
	return n.f.chain(n.start, n.size)
}
