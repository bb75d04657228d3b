package model_test

import (
	"testing"

	"carrel/internal/model"
)

func TestCostIsRoundedUp(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		price model.Price
		usage model.Usage
		want  model.Micros
	}{
		{model.Price{In: 2_500_000, Out: 10_000_000}, model.Usage{In: 1000, Out: 100}, 3500},
		{model.Price{In: 2_500_000, Out: 10_000_000}, model.Usage{In: 1000, Out: 100, Cached: 900}, 3500},
		{model.Price{In: 75_000, Out: 300_000}, model.Usage{In: 1}, 1},
		{model.Price{In: 75_000, Out: 300_000}, model.Usage{In: 40}, 3},
		{model.Price{In: 75_000, Out: 300_000}, model.Usage{In: 41}, 4},
		{model.Price{}, model.Usage{In: 1e6, Out: 1e6}, 0},
		{model.Price{In: 1}, model.Usage{}, 0},
		{model.Price{In: 1_000_000_000, Out: 1_000_000_000}, model.Usage{In: 1 << 60, Out: -5}, (1 << 31) * 1000},
	} {
		if got := tc.price.Cost(tc.usage); got != tc.want {
			t.Errorf("%+v at %+v costs %d, want %d", tc.usage, tc.price, got, tc.want)
		}
	}
}

func TestModelWithoutAPriceUsesTheUnpricedDefault(t *testing.T) {
	t.Parallel()
	prices := model.Prices{Each: map[string]model.Price{"free": {}}}
	usage := model.Usage{In: 1_000_000, Out: 1_000_000}
	if got := prices.Cost("free", usage); got != 0 {
		t.Errorf("free model costs %d", got)
	}
	if _, known := prices.Of("other"); known || prices.Cost("other", usage) != 40_000_000 {
		t.Errorf("unpriced model: %v, %d", known, prices.Cost("other", usage))
	}
	prices.Default = &model.Price{In: 1, Out: 2}
	if price, known := prices.Of("other"); !known || price != *prices.Default {
		t.Errorf("with a default: %+v, %v", price, known)
	}
}
