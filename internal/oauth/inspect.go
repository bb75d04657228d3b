package oauth

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
)

// revoke answers RFC 7009. An unknown token, or another client's, is nothing to complain about: it does not work either
// way.
func (s *Service) revoke(w http.ResponseWriter, r *http.Request) error {
	c, form, err := s.clientForm(w, r)
	if err != nil {
		return err
	}
	token := form.Get("token")
	if token == "" {
		return invalidRequest("token is missing.")
	}
	if s.isToken(token) {
		hash := credential.Hash(s.hashKey, token)
		ended, err := s.store.RevokeToken(r.Context(), c.ID, hash, s.clock.Now())
		if err != nil {
			return err
		}
		if ended {
			s.noteEnd(r.Context(), audit.GrantRevoked, hash)
		}
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Service) isToken(token string) bool {
	return credential.IsSecret(s.prefixes.Access, token) || credential.IsSecret(s.prefixes.Refresh, token)
}

// introspect answers RFC 7662 to a client that proves itself, about its own tokens alone: of all others it is told what
// it would be told of junk.
func (s *Service) introspect(w http.ResponseWriter, r *http.Request) error {
	c, form, err := s.clientForm(w, r)
	if err != nil {
		return err
	}
	token := form.Get("token")
	switch {
	case c.public():
		return errInvalidClient // its id is no secret, so it has proved nothing
	case token == "":
		return invalidRequest("token is missing.")
	}
	t, err := s.find(r, token)
	now := s.clock.Now()
	switch {
	case core.IsKind(err, core.KindNotFound) || err == nil && (t.Grant.ClientID != c.ID || !t.Grant.Live(now) || !now.Before(t.ExpiresAt)):
		writeJSON(w, http.StatusOK, map[string]any{"active": false})
		return nil
	case err != nil:
		return err
	}
	reply := map[string]any{
		"active": true, "iss": s.issuer, "sub": t.User.ID, "client_id": t.Grant.ClientID, "scope": strings.Join(t.Scopes, " "),
		"aud": t.Resources, "iat": t.CreatedAt.Unix(), "exp": t.ExpiresAt.Unix(),
	}
	if credential.IsSecret(s.prefixes.Access, token) {
		reply["token_type"] = "Bearer"
	}
	writeJSON(w, http.StatusOK, reply)
	return nil
}

// find looks a token of either kind up.
func (s *Service) find(r *http.Request, token string) (Token, error) {
	hash := credential.Hash(s.hashKey, token)
	switch {
	case credential.IsSecret(s.prefixes.Access, token):
		return s.store.AccessToken(r.Context(), hash)
	case credential.IsSecret(s.prefixes.Refresh, token):
		return s.store.RefreshToken(r.Context(), hash)
	}
	return Token{}, core.NotFound("token")
}

// userinfo answers who the user is, to a token with the scope openid. Its challenges follow RFC 6750, 3.1: a request
// without a bearer token gets no error attribute.
func (s *Service) userinfo(w http.ResponseWriter, r *http.Request) error {
	metadata := `scope="` + ScopeOpenID + `", resource_metadata="` + s.issuer + `/.well-known/oauth-protected-resource"`
	invalid := &protocolError{
		status: http.StatusUnauthorized, code: "invalid_token", description: "Send an access token that works: Authorization: Bearer <token>.",
		challenge: `Bearer error="invalid_token", ` + metadata,
	}
	missing := *invalid
	missing.challenge = "Bearer " + metadata
	token, err := core.BearerToken(r.Header.Values("Authorization"))
	switch {
	case errors.Is(err, core.ErrNoAuthorization), errors.Is(err, core.ErrOtherScheme):
		return &missing
	case err != nil, !credential.IsSecret(s.prefixes.Access, token):
		return invalid
	}
	t, err := s.find(r, token)
	now := s.clock.Now()
	switch {
	case core.IsKind(err, core.KindNotFound) || err == nil && (!t.Grant.Live(now) || !now.Before(t.ExpiresAt)):
		return invalid
	case err != nil:
		return err
	case !slices.Contains(t.Scopes, ScopeOpenID):
		return &protocolError{
			status: http.StatusForbidden, code: "insufficient_scope", description: "This token was not issued with the scope openid.",
			challenge: `Bearer error="insufficient_scope", ` + metadata,
		}
	}
	writeJSON(w, http.StatusOK, struct {
		Subject string `json:"sub"`
		profile
	}{t.User.ID, profileOf(t)})
	return nil
}
