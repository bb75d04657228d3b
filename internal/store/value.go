package store

import (
	"database/sql"
	"encoding/json"
	"math"
	"strings"
	"time"
)

// lastID sorts after every id, and lastTime after every time: where a list without a cursor starts.
const (
	lastID   = "\x7f"
	lastTime = math.MaxInt64
)

// millis is how a time is stored.
func millis(t time.Time) int64 { return t.UnixMilli() }

// at is the time that was stored.
func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// optMillis stores a time that may be absent.
func optMillis(t *time.Time) any {
	if t == nil {
		return nil
	}
	return millis(*t)
}

// optAt is the time that may have been stored.
func optAt(ms sql.NullInt64) *time.Time {
	if !ms.Valid {
		return nil
	}
	t := at(ms.Int64)
	return &t
}

// optText stores an empty text as NULL: for references, where empty means none.
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

// flag stores a truth value as a number, which both engines compare alike.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// listOf is how a list of words is stored.
func listOf[T ~string](words []T) string {
	if len(words) == 0 {
		return "[]"
	}
	b, _ := json.Marshal(words) // strings always marshal
	return string(b)
}

// wordsOf is the list that was stored; an empty one is nil.
func wordsOf[T ~string](list string) ([]T, error) {
	if list == "[]" {
		return nil, nil
	}
	if words, ok := plainWords[T](list); ok {
		return words, nil
	}
	var words []T
	err := json.Unmarshal([]byte(list), &words)
	return words, err
}

// plainWords reads a list without escapes and white space, which most are, many times faster than a parser of JSON.
func plainWords[T ~string](list string) ([]T, bool) {
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
	// Each word has its two quotes and no others.
	return words, strings.Count(list, `"`) == 2*len(words)
}

// firstPage is the id that a list starts before: the cursor's, or one after all of them.
func firstPage(before string) string {
	if before == "" {
		return lastID
	}
	return before
}

// room is the capacity to set aside for a list of up to n rows.
func room(n int) int { return max(0, min(n, 256)) }

// optInt stores a number that may be absent.
func optInt[T int | int64](n *T) any {
	if n == nil {
		return nil
	}
	return int64(*n)
}
