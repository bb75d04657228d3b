package credential

import (
	"context"
	"slices"
)

// TokenStore looks up OAuth access tokens. The authorization server issues them.
type TokenStore interface {
	// TokenByHash returns an access token as a Key with the ID of the grant, together with its user, audience and the
	// user's spend in the period, in one query.
	TokenByHash(ctx context.Context, hash []byte, period string) (Found, error)
	// TouchGrants stores the last use of grants, by grant id.
	TouchGrants(ctx context.Context, used map[string]Use) error
}

// TokenDeps configures OAuth access tokens.
type TokenDeps struct {
	Store TokenStore
	// Prefix is the prefix of access tokens.
	Prefix string
	// Audience holds the identifiers of this installation as a protected resource (RFC 8707). A token must have been
	// issued for one of them.
	Audience []string
}

func (d *TokenDeps) accepts(audience []string) bool {
	return slices.ContainsFunc(audience, func(name string) bool { return slices.Contains(d.Audience, name) })
}
