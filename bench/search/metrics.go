package main

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// ndcg returns the normalized discounted cumulative gain of the first k results: the gain of a grade is 2^grade-1,
// discounted by the logarithm of its rank; 1 is the best possible order.
func ndcg(results []string, grades map[string]int, k int) float64 {
	ideal := slices.SortedFunc(maps.Values(grades), func(a, b int) int { return cmp.Compare(b, a) })
	best := 0.0
	for place, grade := range ideal[:min(k, len(ideal))] {
		best += gain(grade, place)
	}
	if best == 0 {
		return 0
	}
	got := 0.0
	for place, id := range results[:min(k, len(results))] {
		got += gain(grades[id], place)
	}
	return got / best
}

func gain(grade, place int) float64 {
	if grade <= 0 {
		return 0
	}
	return (math.Exp2(float64(grade)) - 1) / math.Log2(float64(place)+2)
}

// recall returns the share of relevant documents among the first k results.
func recall(results []string, grades map[string]int, k int) float64 {
	relevant, found := 0, 0
	for _, grade := range grades {
		if grade > 0 {
			relevant++
		}
	}
	if relevant == 0 {
		return 0
	}
	for _, id := range results[:min(k, len(results))] {
		if grades[id] > 0 {
			found++
		}
	}
	return float64(found) / float64(relevant)
}

// percentile returns the nearest-rank percentile of sorted values.
func percentile[T cmp.Ordered](sorted []T, p float64) T {
	if len(sorted) == 0 {
		var zero T
		return zero
	}
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
