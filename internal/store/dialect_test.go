package store

import (
	"testing"
)

func TestParametersMeanTheSameOnBothEngines(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, b.options)
			for query, want := range map[string]string{
				"SELECT CAST($1 AS TEXT) || CAST($2 AS TEXT)":                       "AB",
				"SELECT CAST($2 AS TEXT) || CAST($1 AS TEXT)":                       "BA",
				"SELECT CAST($1 AS TEXT) || CAST($1 AS TEXT) || CAST($2 AS TEXT)":   "AAB",
				"SELECT CAST($1 AS TEXT) || '$2' || CAST($2 AS TEXT) || ' ?1 $1 ?'": "A$2B ?1 $1 ?",
			} {
				var read, written string
				if err := get(t.Context(), db.read, query, args{"A", "B"}, &read); err != nil {
					t.Fatal(err)
				}
				if err := db.execReturning(t.Context(), query, args{"A", "B"}, []any{&written}); err != nil {
					t.Fatal(err)
				}
				if read != want || written != want {
					t.Errorf("%s is %q and %q, want %q", query, read, written, want)
				}
			}
		})
	}
}
