package local

import (
	"testing"

	"carrel/internal/search"
	"carrel/internal/search/searchtest"
)

func TestLocalEnginePassesTheAcceptanceSuite(t *testing.T) {
	t.Parallel()
	searchtest.Run(t, func(t *testing.T) search.Engine {
		t.Helper()
		ix, err := Open(t.TempDir(), Options{FS: quick()})
		if err != nil {
			t.Fatal(err)
		}
		return ix
	})
}
