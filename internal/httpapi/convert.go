package httpapi

import (
	"time"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

// The generated types tell "not given" from "empty"; these carry the difference over.

func optional(s string) oas.OptString { return oas.OptString{Value: s, Set: s != ""} }

// link is an address that clients show as a link. The one of a row from before links were checked is left out if it is
// not a web address.
func link(s string) oas.OptString { return optional(core.WebLink(s)) }

// positive is a number of which 0 means that there is none.
func positive(n int) oas.OptInt { return oas.OptInt{Value: n, Set: n > 0} }

func pointer(o oas.OptString) *string {
	if !o.Set {
		return nil
	}
	return &o.Value
}

func page(limit oas.OptInt, cursor oas.OptString) core.Page {
	return core.Page{Limit: limit.Value, Cursor: cursor.Value}
}

// deleted is the reply to every DELETE.
func deleted(err error) (*oas.Deleted, error) {
	if err != nil {
		return nil, err
	}
	return &oas.Deleted{Deleted: true}, nil
}

// optionalTime is a time that may be absent.
func optionalTime(t *time.Time) oas.OptString {
	if t == nil {
		return oas.OptString{}
	}
	return oas.NewOptString(timestamp(*t))
}
