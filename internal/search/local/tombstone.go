package local

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"carrel/internal/search/local/segment"
)

// A tombstone file lists the deleted documents of one segment: the segment's number, its number of documents, and the
// numbers of the deleted documents in ascending order, each as the difference from the one before. All are uvarints.
// The manifest holds the checksum of the file.

func encodeTombstones(number uint64, deleted *segment.Bits) (data []byte, sum uint32) {
	data = binary.AppendUvarint(data, number)
	data = binary.AppendUvarint(data, uint64(deleted.Len()))
	last := uint32(0)
	for doc := range deleted.All() {
		data = binary.AppendUvarint(data, uint64(doc-last))
		last = doc
	}
	return data, crc32.Checksum(data, castagnoli)
}

// readTombstones returns the deleted documents of a segment.
func readTombstones(path string, sum uint32, number uint64, documents int) (*segment.Bits, error) {
	data, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	wrong := fmt.Errorf("tombstones of segment %d: %w", number, errUntrusted)
	if crc32.Checksum(data, castagnoli) != sum {
		return nil, wrong
	}
	next := func() (uint64, bool) {
		n, size := binary.Uvarint(data)
		if size <= 0 {
			return 0, false
		}
		data = data[size:]
		return n, true
	}
	if n, ok := next(); !ok || n != number {
		return nil, wrong
	}
	if n, ok := next(); !ok || documents < 0 || n != uint64(documents) {
		return nil, wrong
	}
	deleted := segment.NewBits(documents)
	doc := uint64(0)
	for len(data) > 0 {
		distance, ok := next()
		if doc += distance; !ok || doc >= uint64(documents) {
			return nil, wrong
		}
		deleted.Set(uint32(doc))
	}
	return deleted, nil
}
