package oauth

import (
	"net/http"
	"strings"

	"carrel/internal/core"
	"carrel/internal/credential"
)

// introspect handles token introspection (RFC 7662). Only confidential clients may use it, and only for their own
// tokens; every other token is inactive.
func (s *Service) introspect(w http.ResponseWriter, r *http.Request) error {
	c, form, err := s.clientForm(w, r)
	if err != nil {
		return err
	}
	token := form.Get("token")
	switch {
	case c.public():
		return errInvalidClient // a public client's id is not a secret, so it has not authenticated
	case token == "":
		return invalidRequest("token is missing.")
	}
	t, err := s.findToken(r, token)
	now := s.clock.Now()
	switch {
	case core.IsKind(err, core.KindNotFound),
		err == nil && (t.Grant.ClientID != c.ID || !t.Grant.Live(now) || !now.Before(t.ExpiresAt)):
		writeJSON(w, http.StatusOK, map[string]any{"active": false})
		return nil
	case err != nil:
		return err
	}
	reply := map[string]any{
		"active": true, "iss": s.issuer, "sub": t.User.ID, "client_id": t.Grant.ClientID,
		"scope": strings.Join(t.Scopes, " "),
		"aud":   t.Resources, "iat": t.CreatedAt.Unix(), "exp": t.ExpiresAt.Unix(),
	}
	if credential.IsSecret(s.prefixes.Access, token) {
		reply["token_type"] = "Bearer"
	}
	writeJSON(w, http.StatusOK, reply)
	return nil
}

// findToken returns the access or refresh token with this secret.
func (s *Service) findToken(r *http.Request, token string) (Token, error) {
	hash := credential.Hash(s.hashKey, token)
	switch {
	case credential.IsSecret(s.prefixes.Access, token):
		return s.store.AccessToken(r.Context(), hash)
	case credential.IsSecret(s.prefixes.Refresh, token):
		successor := credential.DeriveSecret(s.deriveKey, s.prefixes.Refresh, token)
		return s.store.RefreshToken(r.Context(), hash, credential.Hash(s.hashKey, successor))
	}
	return Token{}, core.NotFound("token")
}
