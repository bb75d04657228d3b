package builtin

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"unsafe"
)

// errDamaged is returned if the weights fail a checksum or do not have the expected form.
var errDamaged = errors.New("the built-in models are damaged")

// The layout of weights.bin is described in recipe/convert.py.
const (
	weightsMagic  = "CARRELW1"
	weightsHeader = len(weightsMagic) + 8
	sectionEntry  = 40
	sectionName   = 24
)

type section struct {
	data     string
	checksum uint32
}

// weights gives access to the sections of a weights file. The first error is kept in err, and later reads return zeros
// of the right length, so that a constructor checks err once.
type weights struct {
	sections map[string]section
	err      error
}

// openWeights reads the section table. A section's checksum is verified when the section is read.
func openWeights(file string) (*weights, error) {
	if len(file) < weightsHeader || !strings.HasPrefix(file, weightsMagic) {
		return nil, fmt.Errorf("%w: no header", errDamaged)
	}
	head := []byte(file[len(weightsMagic):weightsHeader])
	count := int(binary.LittleEndian.Uint32(head))
	if count > (len(file)-weightsHeader)/sectionEntry {
		return nil, fmt.Errorf("%w: the section table is cut off", errDamaged)
	}
	table := []byte(file[weightsHeader : weightsHeader+count*sectionEntry])
	if checksum(table) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, fmt.Errorf("%w: wrong checksum of the section table", errDamaged)
	}
	w := &weights{sections: make(map[string]section, count)}
	for ; len(table) > 0; table = table[sectionEntry:] {
		name := strings.TrimRight(string(table[:sectionName]), "\x00")
		numbers := table[sectionName:]
		start := uint64(binary.LittleEndian.Uint32(numbers))
		end := start + uint64(binary.LittleEndian.Uint32(numbers[4:]))
		if end > uint64(len(file)) {
			return nil, fmt.Errorf("%w: section %s is cut off", errDamaged, name)
		}
		w.sections[name] = section{file[start:end], binary.LittleEndian.Uint32(numbers[8:])}
	}
	return w, nil
}

// checksum makes the table when it is needed, so that starting the program costs nothing.
func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// text returns a section that must have size bytes; a negative size allows any.
func (w *weights) text(name string, size int) string {
	s, ok := w.sections[name]
	switch {
	case w.err != nil:
	case !ok:
		w.err = fmt.Errorf("%w: no section %s", errDamaged, name)
	case size >= 0 && len(s.data) != size:
		w.err = fmt.Errorf("%w: section %s has %d bytes instead of %d", errDamaged, name, len(s.data), size)
	case checksum(bytesOf(s.data)) != s.checksum:
		w.err = fmt.Errorf("%w: wrong checksum of section %s", errDamaged, name)
	}
	if w.err != nil {
		return strings.Repeat("\x00", max(size, 0))
	}
	return s.data
}

// int8s returns a section without copying it. It must not be written to.
func (w *weights) int8s(name string, n int) []int8 {
	data := bytesOf(w.text(name, n))
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(data))), len(data)) //nolint:gosec // same size
}

func (w *weights) int16s(name string, n int) []int16 {
	data := bytesOf(w.text(name, 2*n))
	list := make([]int16, n)
	for i := range list {
		list[i] = int16(binary.LittleEndian.Uint16(data[2*i:]))
	}
	return list
}

func (w *weights) float32s(name string, n int) []float32 {
	data := bytesOf(w.text(name, 4*n))
	list := make([]float32, n)
	for i := range list {
		list[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return list
}

// bytesOf returns the bytes of a string without copying them. They must not be written to.
func bytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // only read
}
