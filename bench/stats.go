package main

import (
	"cmp"
	"slices"
	"time"
)

// median returns the middle value, or the mean of the two middle values. A disturbed round does not move it.
func median[T ~int64 | ~float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// percentile returns the nearest-rank percentile of sorted values.
func percentile[T cmp.Ordered](sorted []T, p float64) T {
	if len(sorted) == 0 {
		var zero T
		return zero
	}
	rank := int(p / 100 * float64(len(sorted)))
	if float64(rank) < p/100*float64(len(sorted)) {
		rank++
	}
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// summary aggregates all rounds of one scenario on one server.
type summary struct {
	requests  int
	perSecond float64 // median over the rounds
	p50, p99  time.Duration
	// cpu is the server's CPU time per request, which does not include the load generator.
	cpu time.Duration
	// clientCPU is the load generator's CPU time per request. If it is not small compared with cpu, the measurement
	// is not reliable.
	clientCPU time.Duration
	// databaseCPU is the CPU time of the database server per request.
	databaseCPU time.Duration
	// allocations is the number of heap objects per request.
	allocations float64
}

// summarise aggregates the rounds of one server. Percentiles are over all requests of all rounds, so a slow round is
// visible in the tail.
func summarise(rounds []sample, used spent) summary {
	var all []time.Duration
	rates := make([]float64, 0, len(rounds))
	for _, r := range rounds {
		all = append(all, r.latencies...)
		rates = append(rates, r.perSecond())
	}
	slices.Sort(all)
	s := summary{
		requests:  len(all),
		perSecond: median(rates),
		p50:       percentile(all, 50),
		p99:       percentile(all, 99),
	}
	if len(all) > 0 {
		n := time.Duration(len(all))
		s.cpu, s.clientCPU, s.databaseCPU = used.server/n, used.client/n, used.database/n
	}
	return s
}

// ratios divides round by round. Adjacent rounds run under the same conditions; overall means do not.
func ratios(ours, theirs []sample) []float64 {
	out := make([]float64, 0, len(ours))
	for i := range min(len(ours), len(theirs)) {
		if peer := theirs[i].perSecond(); peer > 0 {
			out = append(out, ours[i].perSecond()/peer)
		}
	}
	return out
}
