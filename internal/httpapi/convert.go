package httpapi

import (
	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

// The generated types tell "not given" from "empty"; these carry the difference over.

func optional(s string) oas.OptString { return oas.OptString{Value: s, Set: s != ""} }

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
