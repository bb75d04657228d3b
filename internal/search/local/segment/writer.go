package segment

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"carrel/internal/search/local/disk"
)

// fileWriter writes a file whose section lengths are known in advance, except for the last one. Every section therefore
// has a fixed offset, sections can be written in any order or concurrently, and at most one page of each is in memory.
type fileWriter struct {
	file     disk.File
	sections [numSections]sectionWriter
	err      error // first error; later writes do nothing
}

// sectionWriter appends to one section.
type sectionWriter struct {
	file    *fileWriter
	at      uint64 // offset of the section in the file
	length  uint64 // final length, unknown for secForward
	flushed uint64 // bytes written
	page    []byte
	sums    []uint32
}

// newFileWriter lays out the sections. The lengths of texts are added to those that follow from m.
func newFileWriter(file disk.File, m *meta, texts map[sectionID]uint64) (*fileWriter, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	layout := m.fixed()
	for id, n := range texts {
		if n > math.MaxUint32 {
			return nil, fmt.Errorf("%w: %d bytes of %v", errTooBig, n, id)
		}
		layout[id] = n
	}
	w := &fileWriter{file: file}
	at := uint64(headerSize)
	for id := range w.sections {
		w.sections[id] = sectionWriter{file: w, at: at, length: layout[id]}
		at = align(at + layout[id])
	}
	return w, nil
}

func (w *fileWriter) section(id sectionID) *sectionWriter { return &w.sections[id] }

func (w *fileWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *fileWriter) writeAt(b []byte, at uint64) {
	if w.err != nil {
		return
	}
	if _, err := w.file.WriteAt(b, int64(at)); err != nil {
		w.fail(fmt.Errorf("write segment: %w", err))
	}
}

// finish flushes the buffers, writes the header and the footer, and syncs the file.
func (w *fileWriter) finish() error {
	var table, sums []byte
	for id := range w.sections {
		s := &w.sections[id]
		s.flush()
		if s.flushed != s.length && sectionID(id) != secForward {
			w.fail(fmt.Errorf("segment: wrote %d bytes of %v, meant to write %d", s.flushed, sectionID(id), s.length))
		}
		table = binary.NativeEndian.AppendUint64(table, uint64(id))
		table = binary.NativeEndian.AppendUint64(table, s.at)
		table = binary.NativeEndian.AppendUint64(table, s.flushed)
		for _, sum := range s.sums {
			sums = binary.NativeEndian.AppendUint32(sums, sum)
		}
	}
	footer := append(table, sums...)
	length := uint64(len(footer))
	footer = binary.NativeEndian.AppendUint64(footer, length)
	footer = binary.NativeEndian.AppendUint32(footer, uint32(numSections))
	footer = binary.NativeEndian.AppendUint32(footer, crc32.Checksum(footer, castagnoli))
	footer = append(footer, trailerMagic...)
	last := &w.sections[secForward]
	w.writeAt(footer, align(last.at+last.flushed))
	w.writeAt(header(), 0)
	if w.err != nil {
		return w.err
	}
	if err := w.file.Sync(); err != nil {
		return fmt.Errorf("sync segment: %w", err)
	}
	return nil
}

// flush writes the buffered page, and frees the buffer when the section is complete.
func (s *sectionWriter) flush() {
	if len(s.page) > 0 {
		s.sums = append(s.sums, crc32.Checksum(s.page, castagnoli))
		s.file.writeAt(s.page, s.at+s.flushed)
		s.flushed += uint64(len(s.page))
	}
	s.page = s.page[:0]
	if s.flushed == s.length {
		s.page = nil
	}
}

// write appends bytes. Errors are returned by finish.
func (s *sectionWriter) write(b []byte) {
	for len(b) > 0 {
		n := min(len(b), pageSize-len(s.page))
		s.page = append(s.page, b[:n]...)
		b = b[n:]
		if len(s.page) == pageSize {
			s.flush()
		}
	}
}

// All numbers of a section have the same size, which divides the page size, so no number straddles two pages.

func (s *sectionWriter) uint8(v uint8) {
	s.page = append(s.page, v)
	if len(s.page) == pageSize {
		s.flush()
	}
}

func (s *sectionWriter) uint16(v uint16) {
	s.page = binary.NativeEndian.AppendUint16(s.page, v)
	if len(s.page) == pageSize {
		s.flush()
	}
}

func (s *sectionWriter) uint32(v uint32) {
	s.page = binary.NativeEndian.AppendUint32(s.page, v)
	if len(s.page) == pageSize {
		s.flush()
	}
}

func (s *sectionWriter) uint64(v uint64) {
	s.page = binary.NativeEndian.AppendUint64(s.page, v)
	if len(s.page) == pageSize {
		s.flush()
	}
}

// textWriter writes strings and their offsets.
type textWriter struct {
	offsets, text *sectionWriter
	at            uint32
}

func newTextWriter(w *fileWriter, offsets, text sectionID) *textWriter {
	t := &textWriter{offsets: w.section(offsets), text: w.section(text)}
	t.offsets.uint32(0)
	return t
}

func (t *textWriter) add(b []byte) {
	t.text.write(b)
	t.at += uint32(len(b)) // the sum was checked when the file was laid out
	t.offsets.uint32(t.at)
}

// writeFile creates a file, calls write and closes the file in any case.
func writeFile(fs disk.FS, path string, write func(disk.File) error) error {
	file, err := fs.Create(path)
	if err != nil {
		return fmt.Errorf("create segment: %w", err)
	}
	if err := write(file); err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("close segment: %w", err)
	}
	return nil
}
