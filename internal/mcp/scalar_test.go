package mcp

import (
	"encoding/json"
	"testing"
)

func TestAnIntegerOfAnArgumentIsPlainInAQuery(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{`10`: "10", `10.0`: "10", `1e1`: "10", `10.5`: "10.5", `"10.0"`: "10.0", `true`: "true"} {
		if got := scalar(json.RawMessage(value)); got != want {
			t.Errorf("%s is %q in a query, want %q", value, got, want)
		}
	}
}
