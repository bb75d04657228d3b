package opensearch

import (
	"crypto/rand"
	"strings"
	"testing"

	"carrel/internal/search"
	"carrel/internal/search/searchtest"
	"carrel/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// open returns a new engine on its own index.
func open(t *testing.T, url string, o Options) *Engine {
	t.Helper()
	o.URLs, o.Identity = []string{url}, strings.ToLower(rand.Text())
	return reopen(t, o)
}

func reopen(t *testing.T, o Options) *Engine {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestOpenSearchPassesTheAcceptanceSuite(t *testing.T) {
	t.Parallel()
	url := testkit.OpenSearch(t)
	searchtest.Run(t, func(t *testing.T) search.Engine {
		t.Helper()
		return open(t, url, Options{Shards: 1})
	})
}
