package core_test

import (
	"testing"

	"carrel/internal/core"
)

func TestGzipIsAcceptedUnlessItsWeightIsZero(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"gzip": true, "GZIP": true, "x-gzip": true, "deflate, gzip;q=0.5": true, "br, *": true, "br, *;q=0.1": true,
		"": false, "br": false, "gzip;q=0": false, "gzip; q=0.0": false, "gzip;q=0, *": false, "*;q=0": false,
		"gzip;q=x": false, "gzipped": false,
	} {
		if got := core.AcceptsGzip([]string{header}); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
	if !core.AcceptsGzip([]string{"br", "gzip"}) {
		t.Error("the second line was not read")
	}
}

func TestPreferredEncodingIsNegotiated(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"": "", "br": "", "gzip": "gzip", "zstd": "zstd", "gzip, deflate, br, zstd": "zstd", "ZSTD;q=0.5, gzip;q=0.5": "zstd",
		"zstd;q=0.4, gzip;q=0.5": "gzip", "zstd;q=0, gzip": "gzip", "zstd;q=0": "", "*": "gzip", "zstd;q=0.1, *": "gzip",
		"gzip;q=0, zstd": "zstd", "zstd;q=x": "",
	} {
		if got := core.NegotiateEncoding([]string{header}); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}
