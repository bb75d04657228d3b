package oauth

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/lazyregexp"
)

// verifierForm is a code verifier (RFC 7636, 4.1).
var verifierForm = lazyregexp.New(`^[A-Za-z0-9._~-]{43,128}$`)

// errInvalidGrant is returned for every code or refresh token that does not work, so that it does not reveal why.
var errInvalidGrant = badRequest("invalid_grant",
	"This code or refresh token is unknown, expired, used or revoked, or was issued for another request. "+
		"Request authorization again.")

// tokenReply is the successful response of RFC 6749, 5.1.
type tokenReply struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"`
	Scope        string `json:"scope"`
	RefreshToken string `json:"refresh_token,omitempty"`
	IDToken      string `json:"id_token,omitempty"`
}

// token handles the token endpoint (RFC 6749, 3.2).
func (s *Service) token(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Pragma", "no-cache")
	c, form, err := s.clientForm(w, r)
	if err != nil {
		s.recordTokenFailure(r, c, form, err)
		return err
	}
	var reply tokenReply
	switch form.Get("grant_type") {
	case "authorization_code":
		reply, err = s.redeem(r, c, form)
	case "refresh_token":
		reply, err = s.refresh(r, c, form)
	case "":
		err = invalidRequest("grant_type is missing.")
	default:
		err = badRequest("unsupported_grant_type", "grant_type must be authorization_code or refresh_token.")
	}
	if err != nil {
		s.recordTokenFailure(r, c, form, err)
	}
	switch {
	case core.IsKind(err, core.KindNotFound), errors.Is(err, ErrReused):
		return errInvalidGrant
	case err != nil:
		return err
	}
	writeJSON(w, http.StatusOK, reply)
	return nil
}

// requestedResources checks the resources of a token request. Nil means the resources of the grant.
func (s *Service) requestedResources(form params) ([]string, error) {
	requested := form.resources()
	if len(requested) == 0 {
		return nil, nil
	}
	return s.parseResources(requested)
}

// redeem exchanges an authorization code for tokens.
func (s *Service) redeem(r *http.Request, c Client, form params) (tokenReply, error) {
	code, verifier := form.Get("code"), form.Get("code_verifier")
	switch {
	case code == "":
		return tokenReply{}, invalidRequest("code is missing.")
	case verifier == "":
		return tokenReply{}, invalidRequest("code_verifier is missing: PKCE is required.")
	case !credential.IsSecret(s.prefixes.Code, code) || !verifierForm.MatchString(verifier):
		return tokenReply{}, errInvalidGrant
	}
	resources, err := s.requestedResources(form)
	if err != nil {
		return tokenReply{}, err
	}
	sum := sha256.Sum256([]byte(verifier))
	access, refresh := credential.NewSecret(s.prefixes.Access), credential.NewSecret(s.prefixes.Refresh)
	hash := credential.Hash(s.hashKey, code)
	issued, err := s.store.RedeemAuthCode(r.Context(), s.clock, Redemption{
		CodeHash: hash, ClientID: c.ID, RedirectURI: form.Get("redirect_uri"),
		Challenge: base64.RawURLEncoding.EncodeToString(sum[:]), Narrow: narrowTo("", resources),
		AccessHash: credential.Hash(s.hashKey, access), RefreshHash: credential.Hash(s.hashKey, refresh),
	})
	if issued.Ended {
		s.recordGrantEnd(r.Context(), audit.TokenReused, hash)
	}
	if err != nil {
		return tokenReply{}, err
	}
	s.recordGrant(r.Context(), issued.Token.Grant)
	reply := s.reply(issued, access, refresh)
	if slices.Contains(issued.Token.Scopes, ScopeOpenID) {
		reply.IDToken, err = s.idToken(r.Context(), issued.Token, issued.Nonce, access)
	}
	return reply, err
}

// refresh exchanges a refresh token for its successor and a new access token. Both are derived from the old token by a
// keyed hash, so a retry returns the same pair without any token being stored in clear text.
func (s *Service) refresh(r *http.Request, c Client, form params) (tokenReply, error) {
	old := form.Get("refresh_token")
	switch {
	case old == "":
		return tokenReply{}, invalidRequest("refresh_token is missing.")
	case !credential.IsSecret(s.prefixes.Refresh, old):
		return tokenReply{}, errInvalidGrant
	}
	resources, err := s.requestedResources(form)
	if err != nil {
		return tokenReply{}, err
	}
	access := credential.DeriveSecret(s.deriveKey, s.prefixes.Access, old)
	next := credential.DeriveSecret(s.deriveKey, s.prefixes.Refresh, old)
	hash := credential.Hash(s.hashKey, old)
	issued, err := s.store.RotateRefresh(r.Context(), s.clock, Rotation{
		RefreshHash: hash, ClientID: c.ID, Narrow: narrowTo(form.Get("scope"), resources),
		NewAccess: credential.Hash(s.hashKey, access), NewRefresh: credential.Hash(s.hashKey, next),
	})
	if issued.Ended {
		s.recordGrantEnd(r.Context(), audit.TokenReused, hash)
	}
	if err != nil {
		return tokenReply{}, err
	}
	return s.reply(issued, access, next), nil
}

func (s *Service) reply(issued Issued, access, refresh string) tokenReply {
	t := issued.Token
	reply := tokenReply{
		AccessToken: access, TokenType: "Bearer", Scope: strings.Join(t.Scopes, " "),
		ExpiresIn: int64(t.ExpiresAt.Sub(s.clock.Now()) / time.Second),
	}
	if t.Grant.Offline() {
		reply.RefreshToken = refresh
	}
	return reply
}
