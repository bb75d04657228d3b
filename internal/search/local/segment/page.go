package segment

import (
	"hash/crc32"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"
)

// section is a part of the file whose pages are verified before their first use.
type section struct {
	id   sectionID
	data []byte
	sums []uint32        // one checksum per page
	good []atomic.Uint64 // one bit per verified page
	// valid checks the values of a page that are used as indexes. It may be nil.
	valid func(page []byte) bool
}

func newSection(id sectionID, data []byte, sums []uint32) section {
	return section{id: id, data: data, sums: sums, good: make([]atomic.Uint64, (len(sums)+63)/64)}
}

// need verifies the pages of a byte range that have not been verified yet.
func (s *section) need(first, end uint64) error {
	if first >= end {
		return nil
	}
	for p := first / pageSize; p <= (end-1)/pageSize; p++ {
		if s.good[p/64].Load()&(1<<(p%64)) != 0 {
			continue
		}
		if err := s.check(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *section) check(p uint64) error {
	page := s.data[p*pageSize : min((p+1)*pageSize, uint64(len(s.data)))]
	err := catchFaults(func() error {
		if crc32.Checksum(page, castagnoli) != s.sums[p] {
			return damaged("checksum of %v, page %d", s.id, p)
		}
		if s.valid != nil && !s.valid(page) {
			return damaged("%v out of range, page %d", s.id, p)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.good[p/64].Or(1 << (p % 64))
	return nil
}

// catchFaults runs f, which reads mapped pages for the first time, and turns a page fault into an error. Otherwise a
// bad sector or a file truncated by another process would crash the process.
func catchFaults(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		fault, ok := r.(interface {
			runtime.Error
			Addr() uintptr
		})
		if !ok {
			panic(r)
		}
		err = damaged("unreadable: %v", fault)
	}()
	return f()
}

// column is a section as an array of numbers.
type column[T number] struct {
	section *section
	values  []T
}

func newColumn[T number](s *section) column[T] {
	return column[T]{section: s, values: view[T](s.data)}
}

func (c *column[T]) len() uint64 { return uint64(len(c.values)) }

// slice returns the numbers from first to end.
func (c *column[T]) slice(first, end uint64) ([]T, error) {
	if first > end || end > c.len() {
		return nil, damaged("%d to %d of %d %v", first, end, c.len(), c.section.id)
	}
	var zero T
	size := uint64(unsafe.Sizeof(zero))
	if err := c.section.need(first*size, end*size); err != nil {
		return nil, err
	}
	return c.values[first:end:end], nil
}

func (c *column[T]) at(i uint64) (T, error) {
	v, err := c.slice(i, i+1)
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// text is a column of byte strings: their offsets and their bytes.
type text[O uint32 | uint64] struct {
	offsets column[O]
	bytes   column[byte]
}

func newText[O uint32 | uint64](offsets, bytes *section) text[O] {
	return text[O]{newColumn[O](offsets), newColumn[byte](bytes)}
}

// at returns the bytes of a string, as a view of the file.
func (t *text[O]) at(i uint64) ([]byte, error) {
	o, err := t.offsets.slice(i, i+2)
	if err != nil {
		return nil, err
	}
	return t.bytes.slice(uint64(o[0]), uint64(o[1]))
}
