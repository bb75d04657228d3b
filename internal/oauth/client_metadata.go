package oauth

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxRedirects  = 20
	maxClientName = 100
)

// clientMetadata is the part of a client's metadata (RFC 7591, 2) that this server uses.
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
	return badRequest("invalid_client_metadata", description)
}

// parseMetadata reads and checks a client's metadata. defaultMethod applies if it has no token_endpoint_auth_method.
func parseMetadata(body []byte, defaultMethod AuthMethod) (clientMetadata, error) {
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
		m.AuthMethod = defaultMethod
	}
	m.Name = strings.TrimSpace(m.Name)
	switch {
	case !slices.Contains([]AuthMethod{AuthNone, AuthBasic, AuthPost}, m.AuthMethod):
		return m, invalidMetadata("token_endpoint_auth_method must be none, client_secret_basic or client_secret_post.")
	case len(m.GrantTypes) > 0 && !slices.Contains(m.GrantTypes, "authorization_code"):
		return m, invalidMetadata("grant_types must contain authorization_code.")
	case len(m.ResponseTypes) > 0 && !slices.Contains(m.ResponseTypes, "code"):
		return m, invalidMetadata("response_types must contain code.")
	case m.SigningAlg != "" && m.SigningAlg != string(signingAlgorithm):
		return m, invalidMetadata("id_token_signed_response_alg must be " + string(signingAlgorithm) + ".")
	case !printable(m.Name):
		return m, invalidMetadata("client_name must be at most 100 printable characters.")
	case len(m.RedirectURIs) == 0 || len(m.RedirectURIs) > maxRedirects:
		return m, badRequest("invalid_redirect_uri", "redirect_uris must have 1 to 20 entries.")
	}
	for _, uri := range m.RedirectURIs {
		if wrong := checkRedirect(uri, m.AuthMethod == AuthNone); wrong != "" {
			return m, badRequest("invalid_redirect_uri", wrong)
		}
	}
	if m.Name == "" {
		m.Name = hostOf(m.RedirectURIs[0])
	}
	if !strings.HasPrefix(m.URI, "https://") || checkRedirect(m.URI, false) != "" {
		m.URI = "" // it is only displayed, so a bad one is dropped
	}
	return m, nil
}

func printable(s string) bool {
	if utf8.RuneCountInString(s) > maxClientName {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// memberType is the JSON type of a metadata member.
type memberType string

const (
	memberText   memberType = "a string"
	memberList   memberType = "a list of strings"
	memberObject memberType = "an object"
)

// memberTypes are the types of the members in RFC 7591, 2 and OpenID Connect Registration. A null is refused like any
// other wrong type: encoding/json would read it as an absent member, and the client would silently get a default.
// Unlisted members are ignored.
var memberTypes = map[string]memberType{
	"application_type":             memberText,
	"client_name":                  memberText,
	"client_uri":                   memberText,
	"contacts":                     memberList,
	"grant_types":                  memberList,
	"id_token_signed_response_alg": memberText,
	"jwks":                         memberObject,
	"jwks_uri":                     memberText,
	"logo_uri":                     memberText,
	"policy_uri":                   memberText,
	"redirect_uris":                memberList,
	"response_types":               memberList,
	"scope":                        memberText,
	"software_id":                  memberText,
	"software_statement":           memberText,
	"software_version":             memberText,
	"token_endpoint_auth_method":   memberText,
	"tos_uri":                      memberText,
}

func (t memberType) accepts(raw json.RawMessage) bool {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return false
	}
	switch v := value.(type) {
	case string:
		return t == memberText
	case map[string]any:
		return t == memberObject
	case []any:
		return t == memberList && !slices.ContainsFunc(v, func(item any) bool { _, ok := item.(string); return !ok })
	}
	return false
}

// metadataMembers maps exact member names to values; encoding/json would match struct tags without regard to case.
type metadataMembers map[string]json.RawMessage

// parseMembers reads a JSON object and checks the types of the members in memberTypes.
func parseMembers(body []byte) (metadataMembers, error) {
	var members metadataMembers
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, invalidMetadata("The metadata must be one JSON object with the types of RFC 7591.")
	}
	for _, name := range slices.Sorted(maps.Keys(memberTypes)) {
		if raw, sent := members[name]; sent && !memberTypes[name].accepts(raw) {
			return nil, invalidMetadata(name + " must be " + string(memberTypes[name]) + ", or left out.")
		}
	}
	return members, nil
}

// text returns a member of type memberText, "" if absent.
func (m metadataMembers) text(name string) (value string) {
	_ = json.Unmarshal(m[name], &value) // parseMembers has checked the type
	return value
}

// list returns a member of type memberList, nil if absent.
func (m metadataMembers) list(name string) (values []string) {
	_ = json.Unmarshal(m[name], &values) // as in text
	return values
}
