package source

import (
	"fmt"
	"strconv"
)

// The states of a source: all its documents can be found, or the index is still reading them.
const (
	StatusReady    = "ready"
	StatusIndexing = "indexing"
)

// Progress returns how many of a source's documents can be found on this node, and what that makes its state.
func (s *Service) Progress(sourceID string, documents int) (indexed int, status string) {
	indexed, known := s.engine.Indexed(sourceID)
	if !known || indexed >= documents { // what was deleted may still be in the index for a moment
		return documents, StatusReady
	}
	return indexed, StatusIndexing
}

// partial warns of documents that a search can't find yet.
func (s *Service) partial(src Source) []Warning {
	indexed, status := s.Progress(src.ID, src.Documents)
	if status == StatusReady {
		return nil
	}
	return []Warning{{
		SourceID: src.ID, Code: WarnIndexIncomplete,
		Detail: fmt.Sprintf("%s of %s documents are indexed so far; results are partial.", groupThousands(indexed), groupThousands(src.Documents)),
	}}
}

// grouped writes a number with commas between thousands.
func groupThousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
