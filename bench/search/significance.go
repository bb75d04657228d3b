package main

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
)

const (
	// resamples is the number of random samples of a significance test.
	resamples = 10_000
	// resampleSeed makes runs reproducible.
	resampleSeed = 7
)

// paired compares two engines over the same queries.
type paired struct {
	difference    float64 // mean of the second minus mean of the first
	low, high     float64 // 95 % interval of the difference, by a paired bootstrap
	p             float64 // two-sided, by a paired randomization test
	better, worse int     // queries
}

// compare compares the values of two engines by query.
func compare(before, after []float64) paired {
	differences := make([]float64, len(before))
	var out paired
	for i := range before {
		differences[i] = after[i] - before[i]
		switch {
		case differences[i] > 0:
			out.better++
		case differences[i] < 0:
			out.worse++
		}
	}
	out.difference = mean(differences)
	out.p = randomization(differences)
	out.low, out.high = bootstrap(differences)
	return out
}

// randomization returns how probable a mean difference of at least this size is if the two engines were exchanged for
// every query at random.
func randomization(differences []float64) float64 {
	random := rand.New(rand.NewSource(resampleSeed))
	observed := math.Abs(mean(differences))
	extreme := 0
	for range resamples {
		sum := 0.0
		for _, d := range differences {
			if random.Int63()&1 == 0 {
				d = -d
			}
			sum += d
		}
		// The small number covers rounding: the observed order itself must count.
		if math.Abs(sum)/float64(len(differences)) >= observed-1e-12 {
			extreme++
		}
	}
	return float64(extreme+1) / float64(resamples+1)
}

// bootstrap returns the middle 95 % of the mean differences of samples drawn with replacement.
func bootstrap(differences []float64) (low, high float64) {
	random := rand.New(rand.NewSource(resampleSeed))
	means := make([]float64, resamples)
	for i := range means {
		sum := 0.0
		for range differences {
			sum += differences[random.Intn(len(differences))]
		}
		means[i] = sum / float64(len(differences))
	}
	slices.Sort(means)
	return percentile(means, 2.5), percentile(means, 97.5)
}

// significanceTable compares each engine with the first one, by collection.
func (q quality) significanceTable() table {
	t := table{
		title: fmt.Sprintf("nDCG@%d compared with %s", q.depth, q.engines[0].title),
		head:  []string{"collection", "engine", "difference", "95 % interval", "p", "better", "worse"},
	}
	for at, c := range q.collections {
		first := values(q.answers[at][0], byNDCG)
		for i, k := range q.engines[1:] {
			x := compare(first, values(q.answers[at][i+1], byNDCG))
			t.rows = append(t.rows, []string{
				c.name, k.title, fmt.Sprintf("%+.4f", x.difference), fmt.Sprintf("%+.4f to %+.4f", x.low, x.high),
				fmt.Sprintf("%.4f", x.p), count(x.better), count(x.worse),
			})
		}
	}
	return t
}

func values(judgments []judgment, of func(judgment) float64) []float64 {
	out := make([]float64, len(judgments))
	for i, j := range judgments {
		out[i] = of(j)
	}
	return out
}
