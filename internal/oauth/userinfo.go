package oauth

import (
	"errors"
	"net/http"
	"slices"

	"carrel/internal/core"
	"carrel/internal/credential"
)

// userinfo returns the user's claims for an access token with the scope openid. Its challenges follow RFC 6750, 3.1: a
// request without a bearer token gets no error attribute.
func (s *Service) userinfo(w http.ResponseWriter, r *http.Request) error {
	metadata := `scope="` + ScopeOpenID + `", resource_metadata="` + s.issuer + `/.well-known/oauth-protected-resource"`
	invalid := &protocolError{
		status: http.StatusUnauthorized, code: "invalid_token",
		description: "Send a valid access token: Authorization: Bearer <token>.",
		challenge:   `Bearer error="invalid_token", ` + metadata,
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
	t, err := s.findToken(r, token)
	now := s.clock.Now()
	switch {
	case core.IsKind(err, core.KindNotFound) || err == nil && (!t.Grant.Live(now) || !now.Before(t.ExpiresAt)):
		return invalid
	case err != nil:
		return err
	case !slices.Contains(t.Scopes, ScopeOpenID):
		return &protocolError{
			status: http.StatusForbidden, code: "insufficient_scope",
			description: "The token does not have the scope openid.",
			challenge:   `Bearer error="insufficient_scope", ` + metadata,
		}
	}
	writeJSON(w, http.StatusOK, struct {
		Subject string `json:"sub"`
		profile
	}{t.User.ID, profileOf(t)})
	return nil
}
