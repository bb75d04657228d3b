package config_test

import (
	"maps"
	"strings"
	"testing"

	"carrel/internal/config"
)

func TestSearchPricesOverrideTheDefaults(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]map[string]int64{
		"":                       {"brave": 5000, "exa": 5000, "tavily": 8000},
		"exa=0.007":              {"brave": 5000, "exa": 7000, "tavily": 8000},
		"tavily=0, brave=0.0031": {"brave": 3100, "exa": 5000, "tavily": 0},
	} {
		if got := load(t, env(t, "CARREL_SEARCH_PRICES", set)).SearchPrices; !maps.Equal(got, want) {
			t.Errorf("%q: %v, want %v", set, got, want)
		}
	}
	for _, set := range []string{"brave", "brave=", "brave=-1", "brave=1001", "brave=free", "bing=0.005", "exa=1,exa=1"} {
		if _, err := config.Load(env(t, "CARREL_SEARCH_PRICES", set)); err == nil ||
			!strings.Contains(err.Error(), "CARREL_SEARCH_PRICES must be paid services") {
			t.Errorf("%q: %v", set, err)
		}
	}
}
