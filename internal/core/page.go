package core

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"
)

// DefaultLimit and MaxLimit are the default and maximum number of rows per page. Messages have a larger default.
const (
	DefaultLimit = 50
	MaxLimit     = 200
)

// Page selects a page of a list. Cursor comes from the page before, and is empty for the first page.
type Page struct {
	Limit  int
	Cursor string
}

// Rows returns the number of rows per page: the limit, or def if there is none.
func (p Page) Rows(def int) (int, error) {
	switch {
	case p.Limit == 0:
		return def, nil
	case p.Limit < 0 || p.Limit > MaxLimit:
		return 0, InvalidField("limit", "Must be a whole number from 1 to 200.")
	}
	return p.Limit, nil
}

// maxCursor limits the length of a cursor. Cursors hold a few ids at most, of which a card's may have 800 bytes.
const maxCursor = 2048

// EncodeCursor encodes the sort key of a page's last row. It includes the name of the list, so that another list
// refuses the cursor instead of silently skipping rows.
func EncodeCursor(list string, key ...string) string {
	b, _ := json.Marshal(append([]string{list}, key...)) // strings always marshal
	return base64.RawURLEncoding.EncodeToString(b)
}

// DecodeCursor returns the n parts of the sort key in a cursor of this list. For an empty cursor, the first page, it
// returns nil.
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
	// Only the canonical encoding is accepted. This also refuses invalid UTF-8, which JSON decoding replaces.
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

// BadCursor is the error for an invalid cursor.
func BadCursor() *Error {
	return InvalidField("cursor",
		"Not a cursor of this list. Use nextCursor of the previous page unchanged, or leave it out.")
}

// DecodeIDCursor decodes the cursor of a list that is paged by id. For the first page it returns an empty id.
func DecodeIDCursor(list, cursor string) (string, error) {
	key, err := DecodeCursor(list, cursor, 1)
	if key == nil || err != nil {
		return "", err
	}
	return key[0], nil
}

// CursorTime parses a part of a cursor as a time in Unix milliseconds.
func CursorTime(part string) (time.Time, error) {
	ms, err := strconv.ParseInt(part, 10, 64)
	if err != nil {
		return time.Time{}, BadCursor()
	}
	return time.UnixMilli(ms).UTC(), nil
}
