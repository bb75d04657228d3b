package client

import (
	"iter"
	"net/url"
	"strconv"
)

// pages iterates over the entries of all pages, which next returns with the cursor of the following page.
func pages[T any](next func(cursor string) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			entries, following, err := next(cursor)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, entry := range entries {
				if !yield(entry, nil) {
					return
				}
			}
			if cursor = following; cursor == "" {
				return
			}
		}
	}
}

func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func setInt(q url.Values, name string, value int64) {
	if value != 0 {
		q.Set(name, strconv.FormatInt(value, 10))
	}
}

func setBool(q url.Values, name string, value bool) {
	if value {
		q.Set(name, "true")
	}
}
