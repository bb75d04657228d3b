package oauth_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"carrel/internal/store"
)

// BenchmarkBearer measures the authentication of a request by access token, on SQLite.
func BenchmarkBearer(b *testing.B) {
	srv := newServerOn(b, store.Options{Path: filepath.Join(b.TempDir(), "db")})
	token := srv.connect(srv.register("none")).Access
	times := make([]time.Duration, 0, 1<<16)
	for b.Loop() {
		began := time.Now()
		if _, err := srv.credentials.Authenticate(b.Context(), token); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1000, "µs-p50")
}
