package oauth

import (
	"net/http"
	"strings"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
)

// register handles a dynamic client registration (RFC 7591). It is open to anyone: a registered client can only ask
// users for access.
func (s *Service) register(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	m, err := parseMetadata(body, AuthBasic) // RFC 7591, 2
	if err != nil {
		s.recordProtocolError(r, attempt{stage: StageRegister}, err)
		return err
	}
	now := s.clock.Now()
	c := Client{
		ID: core.NewID(core.PrefixClient), Kind: ClientRegistered, Name: m.Name, URI: m.URI,
		RedirectURIs: m.RedirectURIs, AuthMethod: m.AuthMethod, CreatedAt: now,
	}
	reply := map[string]any{
		"client_id": c.ID, "client_id_issued_at": now.Unix(), "client_name": c.Name, "redirect_uris": c.RedirectURIs,
		"token_endpoint_auth_method": c.AuthMethod, "grant_types": []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"}, "scope": strings.Join(Scopes(), " "),
		"id_token_signed_response_alg": signingAlgorithm,
	}
	if c.URI != "" {
		reply["client_uri"] = c.URI
	}
	if !c.public() {
		secret := credential.NewSecret(s.prefixes.Client)
		c.SecretHash = credential.Hash(s.hashKey, secret)
		reply["client_secret"], reply["client_secret_expires_at"] = secret, 0
	}
	if err := s.store.PutClient(r.Context(), c, maxUnusedClients); err != nil {
		return err
	}
	s.audit.Note(r.Context(), audit.Record{
		Event: audit.ClientRegistered, Actor: c.ID, Detail: map[string]string{"id": c.ID, "name": c.Name},
	})
	writeJSON(w, http.StatusCreated, reply)
	return nil
}
