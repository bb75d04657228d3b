package oauth

import (
	"encoding/json"
	"maps"
	"slices"
)

// memberType is the JSON type of a member of a client's metadata.
type memberType string

const (
	memberText   memberType = "a string"
	memberList   memberType = "a list of strings"
	memberObject memberType = "an object"
)

// memberTypes are the types of the members that RFC 7591, 2 and OpenID Connect Registration define. A null is refused
// like any other wrong type: encoding/json would read it as an absent member, and the client would silently be registered
// with a default that it did not ask for. Members that are not listed are ignored.
var memberTypes = map[string]memberType{
	"redirect_uris": memberList, "grant_types": memberList, "response_types": memberList, "contacts": memberList,
	"client_name": memberText, "client_uri": memberText, "logo_uri": memberText, "scope": memberText, "tos_uri": memberText,
	"policy_uri": memberText, "jwks_uri": memberText, "software_id": memberText, "software_version": memberText,
	"software_statement": memberText, "token_endpoint_auth_method": memberText, "application_type": memberText,
	"id_token_signed_response_alg": memberText,
	"jwks":                         memberObject,
}

// accepts reports whether a value has the type.
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

// metadataMembers are the members of a client's metadata by their exact names.
type metadataMembers map[string]json.RawMessage

// parseMembers reads a JSON object and checks the types of its known members.
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

// text returns a member of type memberText; an absent one is empty.
func (m metadataMembers) text(name string) (value string) {
	_ = json.Unmarshal(m[name], &value) // parseMembers has checked the type; an absent member leaves the zero value
	return value
}

// list returns a member of type memberList; an absent one is empty.
func (m metadataMembers) list(name string) (values []string) {
	_ = json.Unmarshal(m[name], &values) // as in text
	return values
}
