package credential

import (
	"context"
	"slices"
)

// Tokens finds OAuth access tokens. The authorization server issues them; here they are only looked up.
type Tokens interface {
	// TokenByHash finds an access token in the form of a key, whose id is the grant's, with its user, audience and the
	// user's spend in the period, in one query.
	TokenByHash(ctx context.Context, hash []byte, period string) (Found, error)
	// TouchGrants records when grants were last used.
	TouchGrants(ctx context.Context, used map[string]Use) error
}

// oauthTokens is what the service knows of access tokens; without a store of them none is good.
type oauthTokens struct {
	tokens Tokens
	prefix string
	// audience holds the names of the protected resource that the service guards.
	audience []string
	uses     uses
}

// AcceptTokens lets the service accept access tokens with this prefix that were issued for one of the names in audience.
// It must be called before the first request.
func (s *Service) AcceptTokens(tokens Tokens, prefix string, audience []string) {
	s.oauth.tokens, s.oauth.prefix, s.oauth.audience = tokens, prefix, audience
}

// intended reports whether a token with this audience was issued for the resource that the service guards.
func (o *oauthTokens) intended(audience []string) bool {
	return slices.ContainsFunc(audience, func(name string) bool { return slices.Contains(o.audience, name) })
}

func (o *oauthTokens) recognise(token string) bool {
	return o.tokens != nil && wellFormed(o.prefix, token)
}
