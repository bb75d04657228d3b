package server

import (
	"math/rand/v2"
	"net/http"
)

// maxRequestID bounds the ids that are taken over from clients.
const maxRequestID = 64

// requestID returns the id that the client gave the request, if it is a sane one, else a new one.
func requestID(h http.Header) string {
	if given := h["X-Request-Id"]; len(given) == 1 && saneID(given[0]) {
		return given[0]
	}
	return newRequestID()
}

func saneID(s string) bool {
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

// newRequestID makes an id of 80 random bits. It is a name, not a secret, so the fast generator is enough.
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
