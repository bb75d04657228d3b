package source

import (
	"fmt"
	"strconv"
)

// The states of a source: all its documents are indexed, or some are not indexed yet.
const (
	StatusReady    = "ready"
	StatusIndexing = "indexing"
)

// Progress returns how many of a source's documents are indexed on this node, and the resulting state.
func (s *Service) Progress(sourceID string, documents int) (indexed int, status string) {
	indexed, known := s.engine.Indexed(sourceID)
	if !known || indexed >= documents { // the index may still hold deleted documents
		return documents, StatusReady
	}
	return indexed, StatusIndexing
}

// indexWarning returns a warning if some documents of a source are not indexed yet, and otherwise nothing.
func (s *Service) indexWarning(src Source) []Warning {
	indexed, status := s.Progress(src.ID, src.Documents)
	if status == StatusReady {
		return nil
	}
	return []Warning{{
		SourceID: src.ID, Code: WarnIndexIncomplete,
		Detail: fmt.Sprintf("%s of %s documents are indexed so far; results are partial.",
			groupThousands(indexed), groupThousands(src.Documents)),
	}}
}

// groupThousands formats a number with commas between thousands.
func groupThousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
