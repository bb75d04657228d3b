package testkit

import (
	"testing"

	"carrel/internal/core"
)

// AllPages reads a list page by page and returns its items. A page with more items than limit fails the test.
func AllPages[T any](t testing.TB, limit int, list func(core.Page) (items []T, next string, err error)) []T {
	t.Helper()
	var all []T
	for page := (core.Page{Limit: limit}); ; {
		items, next, err := list(page)
		if err != nil {
			t.Fatal(err)
		}
		if len(items) > limit || len(items) == 0 && next != "" {
			t.Fatalf("a page of at most %d has %d items, the next cursor is %q", limit, len(items), next)
		}
		all = append(all, items...)
		if page.Cursor = next; next == "" {
			return all
		}
	}
}
