package server

import (
	"math/rand/v2"
	"net/http"
)

// maxRequestID is the longest id that is accepted from clients.
const maxRequestID = 64

// requestID returns the X-Request-Id header if it is valid, else a new id.
func requestID(h http.Header) string {
	if given := h["X-Request-Id"]; len(given) == 1 && validID(given[0]) {
		return given[0]
	}
	return newRequestID()
}

func validID(s string) bool {
	if s == "" || len(s) > maxRequestID {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// newRequestID returns an id of 80 random bits. It is not a secret, so math/rand is sufficient.
func newRequestID() string {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	id := [20]byte{'r', 'e', 'q', '_'}
	hi, lo := rand.Uint64(), rand.Uint64() //nolint:gosec // not a secret
	for i := range 8 {
		id[4+i] = alphabet[hi>>(5*i)&31]
		id[12+i] = alphabet[lo>>(5*i)&31]
	}
	return string(id[:])
}
