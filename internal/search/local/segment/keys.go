package segment

import (
	"cmp"

	"github.com/cespare/xxhash/v2"
)

// key is a hash under which a document is found.
type key struct {
	hash uint64
	doc  uint32
}

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.hash, other.hash), cmp.Compare(k.doc, other.doc))
}

// keyTable finds documents by hash: two parallel columns sorted by hash and document.
type keyTable struct {
	hashes column[uint64]
	docs   column[uint32]
}

func newKeyTable(hashes, docs *section, n uint64) keyTable {
	docs.valid = below(n)
	return keyTable{newColumn[uint64](hashes), newColumn[uint32](docs)}
}

// lower returns the index of the first key that is not less than hash.
func (t *keyTable) lower(hash uint64) (uint64, error) {
	low, high := uint64(0), t.hashes.len()
	for low < high {
		mid := (low + high) / 2
		h, err := t.hashes.at(mid)
		if err != nil {
			return 0, err
		}
		if h < hash {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, nil
}

// find returns the documents with a hash in ascending order, as a view of the file.
func (t *keyTable) find(hash uint64) ([]uint32, error) {
	first, err := t.lower(hash)
	if err != nil {
		return nil, err
	}
	end := first
	for ; end < t.hashes.len(); end++ {
		h, err := t.hashes.at(end)
		if err != nil {
			return nil, err
		}
		if h != hash {
			break
		}
	}
	return t.docs.slice(first, end)
}

// ID returns the id of a document.
func (s *Segment) ID(doc uint32) (string, error) {
	id, err := s.ids.at(uint64(doc))
	if err != nil {
		return "", err
	}
	return string(id), nil
}

// FindID returns the document with an id.
func (s *Segment) FindID(id string) (doc uint32, ok bool, err error) {
	docs, err := s.idKeys.find(xxhash.Sum64String(id))
	if err != nil {
		return 0, false, err
	}
	for _, doc := range docs {
		b, err := s.ids.at(uint64(doc))
		if err != nil {
			return 0, false, err
		}
		if string(b) == id {
			return doc, true, nil
		}
	}
	return 0, false, nil
}

// FindTitle returns the documents whose title has this key in ascending order, none for 0. The slice is a view of the
// file.
func (s *Segment) FindTitle(key uint64) ([]uint32, error) { return s.titleKeys.find(key) }

// FindDOI returns the documents whose DOI has this key in ascending order, none for 0. The slice is a view of the file.
func (s *Segment) FindDOI(key uint64) ([]uint32, error) { return s.doiKeys.find(key) }
