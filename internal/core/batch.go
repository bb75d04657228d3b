package core

import "strings"

// MaxBatch is the maximum number of objects of one request.
const MaxBatch = 500

// CheckBatch returns an error unless a request names 1 to MaxBatch objects.
func CheckBatch(ids []string) error {
	if len(ids) == 0 || len(ids) > MaxBatch {
		return InvalidField("/ids", "Must have 1 to 500 ids.")
	}
	return nil
}

// Deletion is the result of deleting several objects by id.
type Deletion struct{ Deleted, NotFound []string }

// NewDeletion divides the requested ids into the deleted ones and the others, in the order of the request. An id that
// was requested twice is listed once.
func NewDeletion(requested, deleted []string) Deletion {
	d := Deletion{Deleted: []string{}, NotFound: []string{}}
	found := make(map[string]bool, len(deleted))
	for _, id := range deleted {
		found[id] = true
	}
	listed := make(map[string]bool, len(requested))
	for _, id := range requested {
		switch {
		case listed[id]:
		case found[id]:
			d.Deleted = append(d.Deleted, id)
		default:
			d.NotFound = append(d.NotFound, id)
		}
		listed[id] = true
	}
	return d
}

// maxQueryWords limits the words of the query of a list, because each is a condition of the database query.
const maxQueryWords = 20

// QueryWords returns the words of the parameter q of a list.
func QueryWords(q string) ([]string, error) {
	if detail := (TextRule{Max: 500}).Check(q); detail != "" {
		return nil, InvalidField("q", detail)
	}
	words := strings.Fields(q)
	if len(words) > maxQueryWords {
		return nil, InvalidField("q", "Must be at most 20 words.")
	}
	return words, nil
}
