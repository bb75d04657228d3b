package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// CompoundEntry is a storage or, if it has no children, a stream of a compound file.
type CompoundEntry struct {
	Name     string
	Content  string
	Children []CompoundEntry
	// Same makes a storage have the children of the root, which is a cycle.
	Same bool
	// Of makes a stream share the content of the stream with this name, which comes before it.
	Of string
}

// Sizes of compound files, and numbers of the ends of chains and of sectors of the allocation table.
const (
	sectorSize, miniSize, cutoff = 512, 64, 4096
	endOfChain, fatSector, none  = 0xfffffffe, 0xfffffffd, 0xffffffff
)

type compound struct {
	sectors   []byte
	fat       []uint32
	mini      []byte
	miniFAT   []uint32
	directory [][]byte
	places    map[string][]byte // starts and sizes of streams
}

// Compound writes a compound file ([MS-CFB]), such as an Outlook message.
func Compound(entries ...CompoundEntry) []byte {
	c := &compound{places: map[string][]byte{}}
	root := c.entry("Root Entry", 5)
	child := c.add(entries)
	put := binary.LittleEndian.PutUint32
	put(root[76:], child)
	for _, e := range c.directory { // storages that are cycles
		if e[66] == 1 && binary.LittleEndian.Uint32(e[76:]) == 0 {
			put(e[76:], child)
		}
	}
	put(root[116:], c.chain(c.mini))
	put(root[120:], uint32(len(c.mini)))
	miniFAT := c.chain(numbers(c.miniFAT))
	directory := c.chain(bytes.Join(c.directory, nil))
	tables := 0
	for 128*tables < len(c.fat)+tables {
		tables++
	}
	header := make([]byte, sectorSize)
	copy(header, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	for at, v := range map[int]uint16{24: 0x3e, 26: 3, 28: 0xfffe, 30: 9, 32: 6} {
		binary.LittleEndian.PutUint16(header[at:], v)
	}
	for at, v := range map[int]uint32{
		44: uint32(tables), 48: directory, 56: cutoff, 60: miniFAT, 64: 1, 68: endOfChain,
	} {
		put(header[at:], v)
	}
	for i := range 109 {
		number := uint32(none)
		if i < tables {
			number = uint32(len(c.fat))
			c.fat = append(c.fat, fatSector)
		}
		put(header[76+4*i:], number)
	}
	table := numbers(c.fat)
	for len(table) < tables*sectorSize {
		table = append(table, 0xff)
	}
	return bytes.Join([][]byte{header, c.sectors, table}, nil)
}

func numbers(list []uint32) []byte {
	var out []byte
	for _, n := range list {
		out = binary.LittleEndian.AppendUint32(out, n)
	}
	return out
}

// entry appends an entry to the directory.
func (c *compound) entry(name string, kind byte) []byte {
	e := make([]byte, 128)
	units := utf16.Encode([]rune(name))
	for i, u := range units {
		binary.LittleEndian.PutUint16(e[2*i:], u)
	}
	binary.LittleEndian.PutUint16(e[64:], uint16(2*len(units)+2))
	e[66] = kind
	for _, at := range []int{68, 72, 76} {
		binary.LittleEndian.PutUint32(e[at:], none)
	}
	c.directory = append(c.directory, e)
	return e
}

// add appends entries, each the right sibling of the one before, and returns the number of the first.
func (c *compound) add(entries []CompoundEntry) uint32 {
	first := uint32(none)
	var before []byte
	put := binary.LittleEndian.PutUint32
	for _, entry := range entries {
		number := uint32(len(c.directory))
		if before == nil {
			first = number
		} else {
			put(before[72:], number)
		}
		kind := byte(2)
		if entry.Same || entry.Children != nil {
			kind = 1
		}
		e := c.entry(entry.Name, kind)
		before = e
		switch {
		case entry.Same:
			put(e[76:], 0)
		case entry.Children != nil:
			put(e[76:], c.add(entry.Children))
		case entry.Of != "":
			copy(e[116:], c.places[entry.Of])
		default:
			put(e[116:], c.stream([]byte(entry.Content)))
			put(e[120:], uint32(len(entry.Content)))
			c.places[entry.Name] = e[116:124]
		}
	}
	return first
}

// stream stores a stream and returns its first sector.
func (c *compound) stream(content []byte) uint32 {
	if len(content) >= cutoff {
		return c.chain(content)
	}
	first := uint32(len(c.miniFAT))
	for at := 0; at < len(content); at += miniSize {
		c.miniFAT = append(c.miniFAT, uint32(len(c.miniFAT)+1))
		c.mini = append(c.mini, content[at:min(len(content), at+miniSize)]...)
		for len(c.mini)%miniSize != 0 {
			c.mini = append(c.mini, 0)
		}
	}
	if len(content) == 0 {
		return endOfChain
	}
	c.miniFAT[len(c.miniFAT)-1] = endOfChain
	return first
}

// chain stores content in sectors and returns the first.
func (c *compound) chain(content []byte) uint32 {
	if len(content) == 0 {
		return endOfChain
	}
	first := uint32(len(c.fat))
	for at := 0; at < len(content); at += sectorSize {
		c.fat = append(c.fat, uint32(len(c.fat)+1))
		c.sectors = append(c.sectors, content[at:min(len(content), at+sectorSize)]...)
		for len(c.sectors)%sectorSize != 0 {
			c.sectors = append(c.sectors, 0)
		}
	}
	c.fat[len(c.fat)-1] = endOfChain
	return first
}

// outlook returns hostile Outlook messages.
func outlook() []Case {
	const properties, data = "__properties_version1.0", "__substg1.0_37010102"
	attach := func(n int, children ...CompoundEntry) CompoundEntry {
		return CompoundEntry{Name: fmt.Sprintf("__attach_version1.0_#%08X", n), Children: children}
	}
	name := CompoundEntry{Name: "__substg1.0_3707001E", Content: "a.txt"}
	return []Case{
		{"an Outlook message that contains itself", "self.msg", func() []byte {
			list := []CompoundEntry{{Name: properties, Content: strings.Repeat("\x00", 32)}}
			for n := range 150 {
				list = append(list, attach(n, CompoundEntry{Name: "__substg1.0_3701000D", Same: true}))
			}
			return Compound(list...)
		}, "more than 200 parts"},
		{"an Outlook message whose attachments share a stream", "shared.msg", func() []byte {
			list := []CompoundEntry{{Name: properties, Content: strings.Repeat("\x00", 32)}}
			list = append(list, attach(0, name, CompoundEntry{Name: data, Content: strings.Repeat("word ", mib)}))
			for n := range 190 {
				list = append(list, attach(n+1, name, CompoundEntry{Name: data, Of: data}))
			}
			return Compound(list...)
		}, memory},
		{"an Outlook message of a chain without an end", "endless.msg", func() []byte {
			file := Compound(CompoundEntry{Name: properties, Content: strings.Repeat("\x00", 32)},
				CompoundEntry{Name: "__substg1.0_1000001E", Content: strings.Repeat("word ", mib)})
			// The allocation table is at the end; all sectors of the text follow themselves.
			for at := len(file) - 4*len(file)/sectorSize; at+4 <= len(file)-2*sectorSize; at += 4 {
				binary.LittleEndian.PutUint32(file[at:], uint32(len(file)/sectorSize/2))
			}
			return file
		}, ""},
		{"an Outlook message of much compressed RTF", "rtf.msg", func() []byte {
			packed := []byte("\x00\x00\x00\x00\xff\xff\xff\x7fLZFu\x00\x00\x00\x00\x00{\\rtf1 a")
			for n := range 2 * mib { // each reference repeats 17 bytes from the middle of the window
				if n%8 == 0 {
					packed = append(packed, 0xff)
				}
				packed = binary.BigEndian.AppendUint16(packed, uint16((17*n+2048)%4096<<4|15))
			}
			return Compound(CompoundEntry{Name: properties, Content: strings.Repeat("\x00", 32)},
				CompoundEntry{Name: "__substg1.0_10090102", Content: string(packed)})
		}, ""},
	}
}
