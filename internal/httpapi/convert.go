package httpapi

import (
	"time"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

// These convert optional values from and to the generated types, which distinguish absent from empty.

func optional(s string) oas.OptString { return oas.OptString{Value: s, Set: s != ""} }

// link returns a URL that clients may show as a link. An unsafe URL, from a row older than the check, is omitted.
func link(s string) oas.OptString { return optional(core.WebLink(s)) }

// positive returns n, or nothing if n is 0.
func positive(n int) oas.OptInt { return oas.OptInt{Value: n, Set: n > 0} }

func pointer(o oas.OptString) *string {
	if !o.Set {
		return nil
	}
	return &o.Value
}

func optBool(o oas.OptBool) *bool {
	if !o.Set {
		return nil
	}
	return &o.Value
}

func page(limit oas.OptInt, cursor oas.OptString) core.Page {
	return core.Page{Limit: limit.Value, Cursor: cursor.Value}
}

// deleted returns the reply to a DELETE.
func deleted(err error) (*oas.Deleted, error) {
	if err != nil {
		return nil, err
	}
	return &oas.Deleted{Deleted: true}, nil
}

// deletedItems returns the reply to a request that deletes several objects.
func deletedItems(d core.Deletion, err error) (*oas.DeletedItems, error) {
	if err != nil {
		return nil, err
	}
	return &oas.DeletedItems{
		Deleted: int64(len(d.Deleted)), DeletedIds: d.Deleted, NotFoundIds: d.NotFound,
	}, nil
}

// optionalTime formats a time that may be absent.
func optionalTime(t *time.Time) oas.OptString {
	if t == nil {
		return oas.OptString{}
	}
	return oas.NewOptString(timestamp(*t))
}
