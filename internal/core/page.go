package core

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"
)

// DefaultLimit and MaxLimit bound the rows of a page; messages have a larger default of their own.
const (
	DefaultLimit = 50
	MaxLimit     = 200
)

// Page is a request for one page of a list. Cursor is what the page before it ended with, or empty.
type Page struct {
	Limit  int
	Cursor string
}

// Rows returns the number of rows wanted, with the default filled in, or an error that names the parameter.
func (p Page) Rows(def int) (int, error) {
	switch {
	case p.Limit == 0:
		return def, nil
	case p.Limit < 0 || p.Limit > MaxLimit:
		return 0, InvalidField("limit", "Must be a whole number from 1 to 200.")
	}
	return p.Limit, nil
}

// maxCursor bounds what is decoded; a cursor of ours holds a few ids at most.
const maxCursor = 1024

// EncodeCursor packs the sort key of a page's last row. The list's name is part of it, so that a cursor of one
// list is refused by another instead of quietly skipping rows.
func EncodeCursor(list string, key ...string) string {
	b, _ := json.Marshal(append([]string{list}, key...)) // strings always marshal
	return base64.RawURLEncoding.EncodeToString(b)
}

// DecodeCursor unpacks a cursor of this list into its n key parts. An empty cursor is the first page: nil.
func DecodeCursor(list, cursor string, n int) ([]string, error) {
	if cursor == "" {
		return nil, nil
	}
	bad := BadCursor()
	if len(cursor) > maxCursor {
		return nil, bad
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return nil, bad
	}
	var key []string
	if err := json.Unmarshal(b, &key); err != nil || len(key) != n+1 || key[0] != list {
		return nil, bad
	}
	// Only the very text we would write is ours; this also turns away invalid UTF-8, which JSON decoding mends.
	if EncodeCursor(list, key[1:]...) != cursor {
		return nil, bad
	}
	for _, part := range key[1:] {
		if HasNUL(part) {
			return nil, bad
		}
	}
	return key[1:], nil
}

// BadCursor is the answer to a cursor that is not ours.
func BadCursor() *Error {
	return InvalidField("cursor", "Not a cursor of this list. Use nextCursor of the page before as it is, or leave it out.")
}

// DecodeIDCursor unpacks the cursor of a list that is paged by id alone; the first page is the empty id.
func DecodeIDCursor(list, cursor string) (string, error) {
	key, err := DecodeCursor(list, cursor, 1)
	if key == nil || err != nil {
		return "", err
	}
	return key[0], nil
}

// CursorTime reads a time, in milliseconds, from a part of a cursor.
func CursorTime(part string) (time.Time, error) {
	ms, err := strconv.ParseInt(part, 10, 64)
	if err != nil {
		return time.Time{}, BadCursor()
	}
	return time.UnixMilli(ms).UTC(), nil
}
