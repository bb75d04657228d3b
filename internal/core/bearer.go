package core

import (
	"errors"
	"strings"
)

// Errors of BearerToken.
var (
	// ErrNoAuthorization means that the request has no Authorization header.
	ErrNoAuthorization = errors.New("no Authorization header")
	// ErrOtherScheme means that the header uses another scheme than Bearer. RFC 6750, 3.1 treats such a request like one
	// without a credential: its challenge has no error attribute.
	ErrOtherScheme = errors.New("the Authorization header is not a bearer token")
	// ErrMalformedBearer means that the header is not exactly one bearer token.
	ErrMalformedBearer = errors.New("the Authorization header is not one bearer token")
)

// BearerToken returns the token of the Authorization header (RFC 6750, 2.1), of which all values are given. The scheme
// is case-insensitive (RFC 9110, 11.1). Several headers are an error, because parts of a system could each read another
// one.
func BearerToken(authorization []string) (string, error) {
	switch len(authorization) {
	case 0:
		return "", ErrNoAuthorization
	case 1:
	default:
		return "", ErrMalformedBearer
	}
	scheme, rest, _ := strings.Cut(authorization[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", ErrOtherScheme
	}
	token := strings.Trim(rest, " \t")
	if token == "" || strings.ContainsAny(token, " \t") {
		return "", ErrMalformedBearer
	}
	return token, nil
}
