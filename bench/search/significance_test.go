package main

import (
	"math"
	"testing"
)

func TestOnlyARealDifferenceIsSignificant(t *testing.T) {
	t.Parallel()
	before, same, noisy, better := make([]float64, 60), make([]float64, 60), make([]float64, 60), make([]float64, 60)
	for i := range before {
		before[i] = 0.5
		same[i] = 0.5
		noisy[i] = 0.5 + 0.2*math.Pow(-1, float64(i))
		better[i] = 0.55 + 0.02*float64(i%3)
	}
	if x := compare(before, same); x.difference != 0 || x.p < 0.99 || x.better+x.worse != 0 || x.low != 0 || x.high != 0 {
		t.Errorf("no difference: %+v", x)
	}
	if x := compare(before, noisy); x.p < 0.5 || x.better != 30 || x.worse != 30 || x.low > 0 || x.high < 0 {
		t.Errorf("noise: %+v", x)
	}
	x := compare(before, better)
	if x.p > 0.001 || x.low <= 0 || x.low > x.difference || x.high < x.difference || x.better != 60 {
		t.Errorf("better: %+v", x)
	}
	if y := compare(better, before); y.p != x.p || y.difference != -x.difference {
		t.Errorf("exchanged: %+v", y)
	}
}
