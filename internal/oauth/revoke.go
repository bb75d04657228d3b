package oauth

import (
	"net/http"

	"carrel/internal/audit"
	"carrel/internal/credential"
)

// revoke handles token revocation (RFC 7009). An unknown token and another client's token are answered with success, as
// 2.2 requires.
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
			s.recordGrantEnd(r.Context(), audit.GrantRevoked, hash)
		}
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Service) isToken(token string) bool {
	return credential.IsSecret(s.prefixes.Access, token) || credential.IsSecret(s.prefixes.Refresh, token)
}
