package config

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// defaultSearchPrices are estimates in dollars. Actual prices depend on the contract with the service.
const defaultSearchPrices = "brave=0.005,exa=0.005,tavily=0.008"

// searchPrices are prices by service. Configured prices override the defaults of single services.
type searchPrices map[string]int64

func (v *searchPrices) String() string {
	out := make([]string, 0, len(*v))
	for _, name := range slices.Sorted(maps.Keys(*v)) {
		out = append(out, name+"="+formatMoney((*v)[name]))
	}
	return strings.Join(out, ",")
}

func (v *searchPrices) Set(s string) error {
	invalid := errors.New(
		"must be paid services with dollars per search, such as " + defaultSearchPrices + ", each service once")
	all, ok := parseSearchPrices(defaultSearchPrices)
	if !ok {
		return invalid
	}
	set, ok := parseSearchPrices(s)
	if !ok {
		return invalid
	}
	for name, micros := range set {
		if _, known := all[name]; !known {
			return invalid
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
