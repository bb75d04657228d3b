package config

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// countedSearches is what searches count as unless the operator says otherwise. The services' prices differ by contract and
// change: these are for keeping count, and the operator has to hold them against the bill.
const countedSearches = "brave=0.005,exa=0.005,tavily=0.008"

// searchPrices are prices by service. What is set goes before what is counted with otherwise, service by service.
type searchPrices map[string]int64

func (v *searchPrices) String() string {
	out := make([]string, 0, len(*v))
	for _, name := range slices.Sorted(maps.Keys(*v)) {
		out = append(out, name+"="+formatMoney((*v)[name]))
	}
	return strings.Join(out, ",")
}

func (v *searchPrices) Set(s string) error {
	wrong := errors.New("must be paid services with dollars for a search, such as " + countedSearches + ", each service once")
	all, ok := parseSearchPrices(countedSearches)
	if !ok {
		return wrong
	}
	set, ok := parseSearchPrices(s)
	if !ok {
		return wrong
	}
	for name, micros := range set {
		if _, known := all[name]; !known {
			return wrong
		}
		all[name] = micros
	}
	*v = all
	return nil
}

func parseSearchPrices(s string) (searchPrices, bool) {
	out := searchPrices{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, dollars, _ := strings.Cut(part, "=")
		micros, ok := parseMoney(dollars)
		if _, twice := out[name]; !ok || twice {
			return nil, false
		}
		out[name] = micros
	}
	return out, true
}
