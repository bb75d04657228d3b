package oauth_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// jwks returns the published key set.
func (srv *server) jwks() jose.JSONWebKeySet {
	srv.Helper()
	var set jose.JSONWebKeySet
	r := srv.send(http.MethodGet, "/.well-known/jwks.json", "")
	if err := json.Unmarshal([]byte(r.body), &set); err != nil || r.header.Get("Access-Control-Allow-Origin") != "*" {
		srv.Fatalf("%v: %s", err, r.body)
	}
	for _, k := range set.Keys {
		if !k.IsPublic() || !k.Valid() || k.Algorithm != "RS256" || k.Use != "sig" {
			srv.Errorf("a key is %+v", k)
		}
	}
	return set
}

// verify checks an id token as a client does, and returns its claims and the id of its key.
func (srv *server) verify(token string, set jose.JSONWebKeySet) (map[string]any, string) {
	srv.Helper()
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		srv.Fatal(err)
	}
	claims := map[string]any{}
	if err := parsed.Claims(set, &claims); err != nil {
		srv.Fatalf("the token does not verify: %v", err)
	}
	return claims, parsed.Headers[0].KeyID
}

func TestIDTokenHoldsTheClaimsOfItsScopes(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	got := srv.connect(c)
	claims, _ := srv.verify(got.ID, srv.jwks())
	now := float64(srv.clock.Now().Unix())
	for name, want := range map[string]any{
		"iss": srv.issuer, "sub": srv.user.ID, "aud": c.id, "nonce": "n", "name": "Ada", "email": "ada@example.org",
		"email_verified": false,
		"iat":            now, "exp": now + 3600, "auth_time": now,
	} {
		if claims[name] != want {
			t.Errorf("%s is %v, want %v", name, claims[name], want)
		}
	}
	if claims["at_hash"] == nil {
		t.Error("no at_hash")
	}
	if got := srv.connect(c, "scope", "openid"); got.ID == "" {
		t.Error("no id token")
	} else if claims, _ := srv.verify(got.ID, srv.jwks()); claims["name"] != nil || claims["email"] != nil {
		t.Errorf("claims beyond the scopes: %v", claims)
	}
	if got := srv.connect(c, "scope", "profile email"); got.ID != "" {
		t.Error("an id token without openid")
	}
}

func TestUserinfoReturnsTheClaimsOfItsScopes(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	ask := func(method, token string) reply {
		return srv.send(method, "/api/auth/mcp/userinfo", "", "Authorization", "Bearer "+token)
	}
	got := srv.connect(c)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		v := ask(method, got.Access).json(t)
		if v["sub"] != srv.user.ID || v["name"] != "Ada" || v["email"] != "ada@example.org" {
			t.Errorf("%v", v)
		}
	}
	if v := ask(http.MethodGet, srv.connect(c, "scope", "openid").Access).json(t); len(v) != 1 {
		t.Errorf("claims beyond the scopes: %v", v)
	}
	r := ask(http.MethodGet, srv.connect(c, "scope", "agents").Access)
	srv.wantError(r, http.StatusForbidden, "insufficient_scope")
	metadata := `scope="openid", resource_metadata="` + srv.issuer + `/.well-known/oauth-protected-resource"`
	if got, want := r.header.Get("WWW-Authenticate"), `Bearer error="insufficient_scope", `+metadata; got != want {
		t.Errorf("the challenge is %s", got)
	}
	for want, tries := range map[string][][]string{
		`Bearer error="invalid_token", ` + metadata: {
			{"Authorization", "Bearer "},
			{"Authorization", "Bearer junk"},
			{"Authorization", "Bearer " + got.Refresh},
			{"Authorization", "Bearer " + got.Access, "Authorization", "Bearer " + got.Access},
		},
		"Bearer " + metadata: {nil, {"Authorization", "Basic eDp5"}, {"Authorization", ""}},
	} {
		for _, headers := range tries {
			r := srv.send(http.MethodGet, "/api/auth/mcp/userinfo", "", headers...)
			if srv.wantError(r, http.StatusUnauthorized, "invalid_token"); r.header.Get("WWW-Authenticate") != want {
				t.Errorf("%q: the challenge is %s", headers, r.header.Get("WWW-Authenticate"))
			}
		}
	}
}

func TestForgedTokensAreRefused(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	good := srv.connect(c)
	none := "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0."
	hs, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(c.id + c.id)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	forged, err := jwt.Signed(hs).Claims(jwt.Claims{Subject: srv.user.ID, Issuer: srv.issuer}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	// Access tokens are opaque, so no JWT is accepted as one, not even a valid id token.
	for _, token := range []string{none, forged, good.ID} {
		if srv.accepts(token) {
			t.Errorf("%.20s… works", token)
		}
		srv.wantError(srv.send(http.MethodGet, "/api/auth/mcp/userinfo", "", "Authorization", "Bearer "+token),
			http.StatusUnauthorized, "invalid_token")
	}
}
