package oauth

import (
	"encoding/json"
	"net/http"
	"net/url"
)

// root is the path of the endpoints below the issuer.
const root = "/api/auth/mcp"

// metadata returns the metadata document of RFC 8414, which is also the OpenID Connect discovery document. The
// endpoints refuse every value that it does not list.
func (s *Service) metadata() []byte {
	at := s.issuer + root
	secrets := []AuthMethod{AuthBasic, AuthPost}
	all := append([]AuthMethod{AuthNone}, secrets...)
	body, err := json.Marshal(map[string]any{
		"issuer":                                        s.issuer,
		"authorization_endpoint":                        at + "/authorize",
		"token_endpoint":                                at + "/token",
		"registration_endpoint":                         at + "/register",
		"jwks_uri":                                      at + "/jwks",
		"userinfo_endpoint":                             at + "/userinfo",
		"revocation_endpoint":                           at + "/revoke",
		"introspection_endpoint":                        at + "/introspect",
		"scopes_supported":                              Scopes(),
		"response_types_supported":                      []string{"code"},
		"response_modes_supported":                      []string{"query"},
		"grant_types_supported":                         []string{"authorization_code", "refresh_token"},
		"code_challenge_methods_supported":              []string{"S256"},
		"token_endpoint_auth_methods_supported":         all,
		"revocation_endpoint_auth_methods_supported":    all,
		"introspection_endpoint_auth_methods_supported": secrets,
		"subject_types_supported":                       []string{"public"},
		"id_token_signing_alg_values_supported":         []string{string(signingAlgorithm)},
		"claims_supported": []string{
			"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "name", "email", "email_verified",
		},
		"prompt_values_supported":                        []string{"none", "login", "consent"},
		"request_parameter_supported":                    false,
		"request_uri_parameter_supported":                false,
		"authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported":          s.documents != nil,
		"protected_resources":                            Resources(s.issuer),
	})
	if err != nil {
		panic(err) // strings and booleans always marshal
	}
	return body
}

// Routes adds the endpoints to a mux. The authorization endpoint shows its pages through pages.
func (s *Service) Routes(mux *http.ServeMux, pages Pages) {
	consent := &authorizeEndpoint{s, pages}
	document := s.endpoint(true, map[string]handler{http.MethodGet: cacheable(s.metadata())})
	paths := []string{"", "/mcp"}
	if u, err := url.Parse(s.issuer); err == nil && u.Path != "" {
		paths = append(paths, u.Path) // RFC 8414, 3.1: the issuer's path follows the well-known name
	}
	for _, name := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		for _, path := range paths {
			mux.HandleFunc(name+path, document)
		}
	}
	jwks := s.endpoint(true, map[string]handler{http.MethodGet: s.serveJWKS})
	mux.HandleFunc("/.well-known/jwks.json", jwks)
	mux.HandleFunc(root+"/jwks", jwks)
	mux.HandleFunc(root+"/register", s.endpoint(true, map[string]handler{http.MethodPost: s.register}))
	mux.HandleFunc(root+"/authorize", s.endpoint(false, map[string]handler{
		http.MethodGet:  consent.authorize,
		http.MethodPost: consent.decide,
	}))
	mux.HandleFunc(root+"/token", s.endpoint(true, map[string]handler{http.MethodPost: s.token}))
	mux.HandleFunc(root+"/userinfo", s.endpoint(true, map[string]handler{
		http.MethodGet:  s.userinfo,
		http.MethodPost: s.userinfo,
	}))
	mux.HandleFunc(root+"/revoke", s.endpoint(true, map[string]handler{http.MethodPost: s.revoke}))
	mux.HandleFunc(root+"/introspect", s.endpoint(true, map[string]handler{http.MethodPost: s.introspect}))
}

// cacheable serves a constant JSON document that caches may keep for five minutes.
func cacheable(body []byte) handler {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "public, max-age=300")
		_, _ = w.Write(body) // the client may have disconnected
		return nil
	}
}
