package core

import (
	"strconv"
	"strings"
)

// Encodings of replies.
const (
	EncodingGzip = "gzip"
	EncodingZstd = "zstd"
)

// AcceptsGzip reports whether an Accept-Encoding header allows gzip (RFC 9110, 12.5.3).
func AcceptsGzip(lines []string) bool {
	gzip, _ := encodingWeights(lines)
	return gzip > 0
}

// NegotiateEncoding returns the encoding that an Accept-Encoding header prefers, or "" if it allows none. With equal
// weights it is zstd. A wildcard stands for gzip only, which every client that sends one can decode.
func NegotiateEncoding(lines []string) string {
	gzip, zstd := encodingWeights(lines)
	switch {
	case zstd > 0 && zstd >= gzip:
		return EncodingZstd
	case gzip > 0:
		return EncodingGzip
	}
	return ""
}

// encodingWeights returns the weights of the encodings in an Accept-Encoding header.
func encodingWeights(lines []string) (gzip, zstd float64) {
	named, wildcard := false, 0.0
	for part := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		name, params, _ := strings.Cut(part, ";")
		weight := 1.0
		if key, q, ok := strings.Cut(strings.TrimSpace(params), "="); ok && strings.EqualFold(strings.TrimSpace(key), "q") {
			parsed, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			if weight = parsed; err != nil {
				weight = 0
			}
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case EncodingGzip, "x-gzip":
			if !named {
				gzip, named = weight, true
			}
		case EncodingZstd:
			zstd = weight
		case "*":
			wildcard = weight
		}
	}
	if !named {
		gzip = wildcard
	}
	return gzip, zstd
}
