package oauth

import (
	"slices"
	"strings"

	"carrel/internal/core"
)

// Scopes of OpenID Connect. ScopeOffline (offline_access) grants a refresh token.
const (
	ScopeOpenID  = "openid"
	ScopeProfile = "profile"
	ScopeEmail   = "email"
	ScopeOffline = "offline_access"
)

// Scopes lists the supported scopes in the order of the metadata and of the consent page.
func Scopes() []string {
	return []string{
		ScopeOpenID, ScopeProfile, ScopeEmail, string(core.ScopeAgents), string(core.ScopeManage), ScopeOffline,
	}
}

// APIScopes returns the API access of a token with these scopes. It never exceeds the access of a connected key.
func APIScopes(scopes []string) []core.Scope {
	var out []core.Scope
	for _, s := range []core.Scope{core.ScopeAgents, core.ScopeManage} {
		if slices.Contains(scopes, string(s)) {
			out = append(out, s)
		}
	}
	return out
}

// parseScope reads the scope parameter of an authorization request. Without an API scope the client gets both, like a
// connected key. Unknown scopes are ignored (RFC 6749, 3.3). The scopes account and admin, which no client can have,
// are an error, so that the client does not request authorization again in the hope of getting them.
func parseScope(raw string) ([]string, error) {
	requested := strings.Fields(raw)
	for _, never := range []core.Scope{core.ScopeAccount, core.ScopeAdmin} {
		if slices.Contains(requested, string(never)) {
			return nil, badRequest("invalid_scope",
				"Clients can't have access to keys, billing, the account or administration.")
		}
	}
	if len(APIScopes(requested)) == 0 {
		requested = append(requested, string(core.ScopeAgents), string(core.ScopeManage))
	}
	var scopes []string
	for _, name := range Scopes() {
		if slices.Contains(requested, name) {
			scopes = append(scopes, name)
		}
	}
	return scopes, nil
}

// Resources returns the identifiers of an installation's protected resource (RFC 8707, 9728). REST and MCP are one
// resource with two identifiers, because clients send the URL that they were configured with. A token for either works
// at both.
func Resources(issuer string) []string { return []string{issuer, issuer + "/mcp"} }

// parseResources checks the requested resources (RFC 8707) and returns the audience of the grant, which always has both
// identifiers.
func (s *Service) parseResources(requested []string) ([]string, error) {
	ours := Resources(s.issuer)
	for _, r := range requested {
		// URL libraries add a slash to a URL without a path.
		if r != s.issuer+"/" && !slices.Contains(ours, r) {
			return nil, badRequest("invalid_target", "Unknown resource. See the metadata of the protected resource.")
		}
	}
	return ours, nil
}

// narrowTo returns a function for Redemption.Narrow that limits a token to the requested scopes and never exceeds the
// grant. The token keeps the audience of its grant, which may have one identifier only or a former base URL.
func narrowTo(scope string, resources []string) func(Grant) ([]string, []string, error) {
	return func(g Grant) ([]string, []string, error) {
		scopes := g.Scopes
		if requested := strings.Fields(scope); len(requested) > 0 {
			for _, s := range requested {
				if !slices.Contains(g.Scopes, s) {
					return nil, nil, badRequest("invalid_scope",
						"The user has not granted this scope. Request authorization again.")
				}
			}
			scopes = slices.DeleteFunc(slices.Clone(g.Scopes), func(s string) bool {
				return !slices.Contains(requested, s)
			})
		}
		if len(resources) == 0 {
			return scopes, g.Resources, nil
		}
		if !slices.ContainsFunc(resources, func(r string) bool { return slices.Contains(g.Resources, r) }) {
			return nil, nil, badRequest("invalid_target",
				"The user has not granted this resource. Request authorization again.")
		}
		return scopes, g.Resources, nil
	}
}
