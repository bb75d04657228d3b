package oauth

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
)

// The bounds of a registration.
const (
	maxRedirects  = 20
	maxClientName = 100
)

// clientMetadata is the part of a client's metadata (RFC 7591, 2) that is used.
type clientMetadata struct {
	RedirectURIs  []string
	Name          string
	URI           string
	AuthMethod    AuthMethod
	GrantTypes    []string
	ResponseTypes []string
	SigningAlg    string
}

func invalidMetadata(description string) *protocolError {
	return bad("invalid_client_metadata", description)
}

// parseMetadata reads and checks what a client says of itself. One that does not say how it proves itself has the method
// that is given.
func parseMetadata(body []byte, method AuthMethod) (clientMetadata, error) {
	var m clientMetadata
	if trimmed := bytes.TrimSpace(body); len(trimmed) == 0 || trimmed[0] != '{' || !utf8.Valid(body) {
		return m, invalidMetadata("The metadata must be one JSON object in UTF-8.")
	}
	members, err := parseMembers(body)
	if err != nil {
		return m, err
	}
	m = clientMetadata{
		RedirectURIs: members.list("redirect_uris"), Name: members.text("client_name"), URI: members.text("client_uri"),
		AuthMethod: AuthMethod(members.text("token_endpoint_auth_method")), GrantTypes: members.list("grant_types"),
		ResponseTypes: members.list("response_types"), SigningAlg: members.text("id_token_signed_response_alg"),
	}
	if m.AuthMethod == "" {
		m.AuthMethod = method
	}
	m.Name = strings.TrimSpace(m.Name)
	switch {
	case !slices.Contains([]AuthMethod{AuthNone, AuthBasic, AuthPost}, m.AuthMethod):
		return m, invalidMetadata("token_endpoint_auth_method must be none, client_secret_basic or client_secret_post.")
	case len(m.GrantTypes) > 0 && !slices.Contains(m.GrantTypes, "authorization_code"):
		return m, invalidMetadata("grant_types must hold authorization_code.")
	case len(m.ResponseTypes) > 0 && !slices.Contains(m.ResponseTypes, "code"):
		return m, invalidMetadata("response_types must hold code.")
	case m.SigningAlg != "" && m.SigningAlg != string(signingAlgorithm):
		return m, invalidMetadata("id_token_signed_response_alg must be " + string(signingAlgorithm) + ".")
	case !printable(m.Name):
		return m, invalidMetadata("client_name must be at most 100 printable characters.")
	case len(m.RedirectURIs) == 0 || len(m.RedirectURIs) > maxRedirects:
		return m, bad("invalid_redirect_uri", "redirect_uris must hold 1 to 20 addresses.")
	}
	for _, uri := range m.RedirectURIs {
		if wrong := checkRedirect(uri, m.AuthMethod == AuthNone); wrong != "" {
			return m, bad("invalid_redirect_uri", wrong)
		}
	}
	if m.Name == "" {
		m.Name = hostOf(m.RedirectURIs[0])
	}
	if !strings.HasPrefix(m.URI, "https://") || checkRedirect(m.URI, false) != "" {
		m.URI = "" // only ever shown, and then it should lead somewhere
	}
	return m, nil
}

func printable(s string) bool {
	if utf8.RuneCountInString(s) > maxClientName {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// register answers a dynamic registration (RFC 7591). Anybody may register: it gives nothing but the right to ask.
func (s *Service) register(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	m, err := parseMetadata(body, AuthBasic) // RFC 7591, 2
	if err != nil {
		s.failedWith(r, attempt{stage: StageRegister}, err)
		return err
	}
	now := s.clock.Now()
	c := Client{
		ID: core.NewID(core.PrefixClient), Kind: ClientRegistered, Name: m.Name, URI: m.URI, RedirectURIs: m.RedirectURIs,
		AuthMethod: m.AuthMethod, CreatedAt: now,
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
	if err := s.store.PutClient(r.Context(), c, maxUnused); err != nil {
		return err
	}
	s.note(r.Context(), audit.Record{
		Event: audit.ClientRegistered, Actor: c.ID, Detail: map[string]string{"id": c.ID, "name": c.Name},
	})
	writeJSON(w, http.StatusCreated, reply)
	return nil
}
