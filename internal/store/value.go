package store

import (
	"database/sql"
	"encoding/json"
	"math"
	"strings"
	"time"
)

// lastID sorts after every id and lastTime after every time. A list without a cursor starts there.
const (
	lastID   = "\x7f"
	lastTime = math.MaxInt64
)

// millis returns the stored form of a time.
func millis(t time.Time) int64 { return t.UnixMilli() }

// at converts a stored time.
func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// optMillis returns the stored form of an optional time.
func optMillis(t *time.Time) any {
	if t == nil {
		return nil
	}
	return millis(*t)
}

// optAt converts an optional stored time.
func optAt(ms sql.NullInt64) *time.Time {
	if !ms.Valid {
		return nil
	}
	t := at(ms.Int64)
	return &t
}

// optText stores an empty string as NULL, for references.
func optText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// optNumber stores zero as NULL.
func optNumber(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// flag stores a bool as an integer, because the engines compare booleans differently.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// encodeList returns the stored form of a list of strings.
func encodeList[T ~string](words []T) string {
	if len(words) == 0 {
		return "[]"
	}
	b, _ := json.Marshal(words) // strings always marshal
	return string(b)
}

// decodeList converts a stored list. An empty list is nil.
func decodeList[T ~string](list string) ([]T, error) {
	if list == "[]" {
		return nil, nil
	}
	if words, ok := decodePlainList[T](list); ok {
		return words, nil
	}
	var words []T
	err := json.Unmarshal([]byte(list), &words)
	return words, err
}

// decodePlainList decodes a list without escapes and white space, the common case, many times faster than a JSON
// parser.
func decodePlainList[T ~string](list string) ([]T, bool) {
	inner, ok := strings.CutPrefix(list, `["`)
	if !ok || strings.IndexByte(list, '\\') >= 0 {
		return nil, false
	}
	if inner, ok = strings.CutSuffix(inner, `"]`); !ok {
		return nil, false
	}
	const between = `","`
	words := make([]T, 0, strings.Count(inner, between)+1)
	for word := range strings.SplitSeq(inner, between) {
		words = append(words, T(word))
	}
	// Every word must have its two quotes and no others.
	return words, strings.Count(list, `"`) == 2*len(words)
}

// beforeOrLast returns the id of a cursor, or lastID if there is none.
func beforeOrLast(before string) string {
	if before == "" {
		return lastID
	}
	return before
}

// capacityFor returns the initial capacity of a list of up to n rows.
func capacityFor(n int) int { return max(0, min(n, 256)) }

// optInt stores an optional number.
func optInt[T int | int64](n *T) any {
	if n == nil {
		return nil
	}
	return int64(*n)
}
