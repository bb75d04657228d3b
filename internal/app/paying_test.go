package app

import (
	"testing"

	"carrel/internal/live"
)

// TestEveryPaidKindHasAPrice keeps a kind that is new from being counted as the dearest.
func TestEveryPaidKindHasAPrice(t *testing.T) {
	t.Parallel()
	paid := 0
	for _, k := range live.New(live.Options{}).Kinds() {
		if !k.Paid {
			continue
		}
		paid++
		if searchPrices[k.Name] == 0 {
			t.Errorf("%s is paid for and has no price", k.Name)
		}
	}
	if paid != len(searchPrices) {
		t.Errorf("%d kinds are paid for, and %d have a price", paid, len(searchPrices))
	}
}
