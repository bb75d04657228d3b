package credential

import "context"

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
	uses   uses
}

// AcceptTokens lets the service accept access tokens with this prefix. It must be called before the first request.
func (s *Service) AcceptTokens(tokens Tokens, prefix string) {
	s.oauth.tokens, s.oauth.prefix = tokens, prefix
}

func (o *oauthTokens) recognise(token string) bool {
	return o.tokens != nil && wellFormed(o.prefix, token)
}
