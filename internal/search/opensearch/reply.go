package opensearch

import (
	"encoding/json"
	"strconv"
)

// bucket is a value of an aggregation and its number of documents.
type bucket struct {
	Key   json.RawMessage `json:"key"`
	Count int             `json:"doc_count"`
}

// name returns the key of a bucket of texts.
func (b bucket) name() string {
	var out string
	_ = json.Unmarshal(b.Key, &out) // keys of keyword fields are texts
	return out
}

// number returns the key of a bucket of numbers.
func (b bucket) number() int {
	n, _ := strconv.Atoi(string(b.Key)) // keys of integer fields are numbers
	return n
}

type buckets struct {
	Buckets []bucket `json:"buckets"`
}

type bucketCount struct {
	Count int `json:"doc_count"`
}

// reply is the reply to a search for documents.
type reply struct {
	Hits struct {
		Hits []hit `json:"hits"`
	} `json:"hits"`
	Aggregations struct {
		Strong struct {
			Within struct {
				Count   int     `json:"doc_count"`
				Years   buckets `json:"years"`
				Sources buckets `json:"sources"`
			} `json:"within"`
			Undated bucketCount `json:"undated"`
		} `json:"strong"`
	} `json:"aggregations"`
	Status int         `json:"status"` // in the reply to several searches
	Error  errorDetail `json:"error"`
}

// hit is a document with its best passage.
type hit struct {
	ID      string   `json:"_id"`
	Matched []string `json:"matched_queries"`
	Fields  struct {
		Year    []int    `json:"year"`
		Source  []string `json:"src"`
		Seq     []uint64 `json:"seq"`
		Title   []string `json:"title"`
		Authors []string `json:"author"`
		Vectors []string `json:"vec"`
	} `json:"fields"`
	Inner struct {
		Passages struct {
			Hits struct {
				Hits []struct {
					Fields struct {
						Number []int    `json:"p.n"`
						Length []uint32 `json:"p.len"`
						Text   []string `json:"p.text"`
					} `json:"fields"`
				} `json:"hits"`
			} `json:"hits"`
		} `json:"p"`
	} `json:"inner_hits"`
}

func first[T any](values []T) T {
	var none T
	if len(values) == 0 {
		return none
	}
	return values[0]
}
