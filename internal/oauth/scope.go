package oauth

import (
	"slices"
	"strings"

	"carrel/internal/core"
)

// The scopes of OpenID Connect, and offline_access for refresh tokens.
const (
	ScopeOpenID  = "openid"
	ScopeProfile = "profile"
	ScopeEmail   = "email"
	ScopeOffline = "offline_access"
)

// scopeTexts are the scopes that can be had, in the order in which they are listed, as people are asked for them.
var scopeTexts = []ScopeText{
	{ScopeOpenID, "Know which account you have here."},
	{ScopeProfile, "See your name."},
	{ScopeEmail, "See your e-mail address."},
	{string(core.ScopeAgents), "Use your agents: search, chat, memories and favourites. What it costs counts as yours."},
	{string(core.ScopeManage), "Make and change your agents and their sources."},
	{ScopeOffline, "Stay connected while you are away, until you revoke it."},
}

// Scopes lists the scopes that can be had.
func Scopes() []string {
	names := make([]string, len(scopeTexts))
	for i, t := range scopeTexts {
		names[i] = t.Scope
	}
	return names
}

// APIScopes returns what a token with these scopes may do with the API: never more than a minted key.
func APIScopes(scopes []string) []core.Scope {
	var out []core.Scope
	for _, s := range []core.Scope{core.ScopeAgents, core.ScopeManage} {
		if slices.Contains(scopes, string(s)) {
			out = append(out, s)
		}
	}
	return out
}

// parseScope reads what a client asks for. A client that names no scope of the API means all of it, as a minted key has.
// Scopes that we do not know are left out, as RFC 6749, 3.3 lets us; those that no client ever gets are refused, so that
// nobody is asked again and again for what can't be.
func parseScope(raw string) ([]string, error) {
	asked := strings.Fields(raw)
	for _, never := range []core.Scope{core.ScopeAccount, core.ScopeAdmin} {
		if slices.Contains(asked, string(never)) {
			return nil, bad("invalid_scope", "Keys, billing, account and administration are not for clients.")
		}
	}
	if len(APIScopes(asked)) == 0 {
		asked = append(asked, string(core.ScopeAgents), string(core.ScopeManage))
	}
	var scopes []string
	for _, name := range Scopes() {
		if slices.Contains(asked, name) {
			scopes = append(scopes, name)
		}
	}
	return scopes, nil
}

func textsOf(scopes []string) []ScopeText {
	var out []ScopeText
	for _, t := range scopeTexts {
		if slices.Contains(scopes, t.Scope) {
			out = append(out, t)
		}
	}
	return out
}

// Resources returns the names of the protected resource of an installation (RFC 8707, 9728). REST and MCP are one resource
// with two names, because clients name the URL that they were given: a token for either name works at both.
func Resources(issuer string) []string { return []string{issuer, issuer + "/mcp"} }

// parseResources checks the resources that a client asks for (RFC 8707) and returns the audience of the grant, which is
// all names of the one resource whichever of them was asked for.
func (s *Service) parseResources(asked []string) ([]string, error) {
	ours := Resources(s.issuer)
	for _, r := range asked {
		// URL libraries write an address without a path with a slash.
		if r != s.issuer+"/" && !slices.Contains(ours, r) {
			return nil, bad("invalid_target", "There is no such resource. See the metadata of the protected resource.")
		}
	}
	return ours, nil
}

// narrower returns the part of a grant that a token request asks for: never more than the grant. A token keeps the
// audience of its grant, also if that was stored with one name of the resource or for a former base URL.
func narrower(scope string, resources []string) func(Grant) ([]string, []string, error) {
	return func(g Grant) ([]string, []string, error) {
		scopes := g.Scopes
		if asked := strings.Fields(scope); len(asked) > 0 {
			for _, s := range asked {
				if !slices.Contains(g.Scopes, s) {
					return nil, nil, bad("invalid_scope", "The user has not allowed that much. Ask for authorization again.")
				}
			}
			scopes = slices.DeleteFunc(slices.Clone(g.Scopes), func(s string) bool { return !slices.Contains(asked, s) })
		}
		if len(resources) == 0 {
			return scopes, g.Resources, nil
		}
		if !slices.ContainsFunc(resources, func(r string) bool { return slices.Contains(g.Resources, r) }) {
			return nil, nil, bad("invalid_target", "The user was not asked for that resource. Ask for authorization again.")
		}
		return scopes, g.Resources, nil
	}
}
