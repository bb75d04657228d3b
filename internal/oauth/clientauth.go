package oauth

import (
	"crypto/hmac"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/credential"
)

// errInvalidClient is returned for every failed client authentication, so that it does not reveal which clients exist.
var errInvalidClient = &protocolError{
	status: http.StatusUnauthorized, code: "invalid_client",
	description: "The client is unknown or its secret is wrong. Register again.",
	challenge:   `Basic realm="oauth", charset="UTF-8"`,
}

// parseBasic reads an HTTP Basic header. Both parts are form-encoded inside it (RFC 6749, 2.3.1): some clients send an
// underscore as %5F.
func parseBasic(header string) (id, secret string, ok bool) {
	scheme, encoded, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return "", "", false
	}
	id, secret, ok = strings.Cut(string(decoded), ":")
	if !ok {
		return "", "", false
	}
	id, errID := url.QueryUnescape(id)
	secret, errSecret := url.QueryUnescape(secret)
	ok = errID == nil && errSecret == nil && id != "" && utf8.ValidString(id) && !strings.ContainsRune(id, 0)
	if !ok {
		return "", "", false
	}
	return id, secret, true
}

// clientForm reads the form of a client's request and authenticates the client.
func (s *Service) clientForm(w http.ResponseWriter, r *http.Request) (Client, params, error) {
	form, err := readForm(w, r)
	if err != nil {
		return Client{}, form, err
	}
	c, err := s.authenticateClient(r, form)
	return c, form, err
}

// authenticateClient authenticates the client of a request. A public client only sends its id; a confidential one sends
// its secret, in the header or in the form but not in both. On a wrong secret the client is returned with the error, so
// that the failed attempt can be recorded.
func (s *Service) authenticateClient(r *http.Request, form params) (Client, error) {
	id, secret := form.Get("client_id"), form.Get("client_secret")
	if headers := r.Header.Values("Authorization"); len(headers) > 0 {
		basicID, basicSecret, ok := parseBasic(headers[0])
		switch {
		case !ok || len(headers) > 1:
			return Client{}, errInvalidClient
		case secret != "" || id != "" && id != basicID:
			return Client{}, invalidRequest("Send the client credentials in the header or in the form, not in both.")
		}
		id, secret = basicID, basicSecret
	}
	if id == "" {
		return Client{}, errInvalidClient
	}
	c, err := s.client(r.Context(), id)
	if core.IsKind(err, core.KindNotFound) {
		return Client{}, errInvalidClient
	}
	if err != nil {
		return Client{}, err
	}
	if c.public() {
		if secret != "" {
			return c, errInvalidClient
		}
		return c, nil
	}
	if !credential.IsSecret(s.prefixes.Client, secret) ||
		!hmac.Equal(credential.Hash(s.hashKey, secret), c.SecretHash) {
		return c, errInvalidClient
	}
	return c, nil
}
