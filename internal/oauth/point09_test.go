package oauth_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"carrel/internal/oauth"
	"carrel/internal/testkit"
)

// jwks reads the published keys.
func (w *world) jwks() jose.JSONWebKeySet {
	w.Helper()
	var set jose.JSONWebKeySet
	r := w.send(http.MethodGet, "/.well-known/jwks.json", "")
	if err := json.Unmarshal([]byte(r.body), &set); err != nil || r.header.Get("Access-Control-Allow-Origin") != "*" {
		w.Fatalf("%v: %s", err, r.body)
	}
	for _, k := range set.Keys {
		if !k.IsPublic() || !k.Valid() || k.Algorithm != "RS256" || k.Use != "sig" {
			w.Errorf("a key is %+v", k)
		}
	}
	return set
}

func kids(set jose.JSONWebKeySet) []string {
	var ids []string
	for _, k := range set.Keys {
		ids = append(ids, k.KeyID)
	}
	return ids
}

// verify checks an id token as a client does, and returns its claims.
func (w *world) verify(token string, set jose.JSONWebKeySet) (map[string]any, string) {
	w.Helper()
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		w.Fatal(err)
	}
	claims := map[string]any{}
	if err := parsed.Claims(set, &claims); err != nil {
		w.Fatalf("the token does not verify: %v", err)
	}
	return claims, parsed.Headers[0].KeyID
}

func TestPoint09AnIDTokenSaysWhoSignedInForWhom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	got := w.connect(c)
	claims, _ := w.verify(got.ID, w.jwks())
	now := float64(w.clock.Now().Unix())
	for name, want := range map[string]any{
		"iss": w.issuer, "sub": w.user.ID, "aud": c.id, "nonce": "n", "name": "Ada", "email": "ada@example.org", "email_verified": false,
		"iat": now, "exp": now + 3600, "auth_time": now,
	} {
		if claims[name] != want {
			t.Errorf("%s is %v, want %v", name, claims[name], want)
		}
	}
	if claims["at_hash"] == nil {
		t.Error("no at_hash")
	}
	if got := w.connect(c, "scope", "openid"); got.ID == "" {
		t.Error("no id token")
	} else if claims, _ := w.verify(got.ID, w.jwks()); claims["name"] != nil || claims["email"] != nil {
		t.Errorf("more than was allowed: %v", claims)
	}
	if got := w.connect(c, "scope", "profile email"); got.ID != "" {
		t.Error("an id token without openid")
	}
}

func TestPoint09UserinfoFollowsTheScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	ask := func(method, token string) reply {
		return w.send(method, "/api/auth/mcp/userinfo", "", "Authorization", "Bearer "+token)
	}
	got := w.connect(c)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		v := ask(method, got.Access).json(t)
		if v["sub"] != w.user.ID || v["name"] != "Ada" || v["email"] != "ada@example.org" {
			t.Errorf("%v", v)
		}
	}
	if v := ask(http.MethodGet, w.connect(c, "scope", "openid").Access).json(t); len(v) != 1 {
		t.Errorf("more than was allowed: %v", v)
	}
	r := ask(http.MethodGet, w.connect(c, "scope", "agents").Access)
	w.wantError(r, http.StatusForbidden, "insufficient_scope")
	metadata := `scope="openid", resource_metadata="` + w.issuer + `/.well-known/oauth-protected-resource"`
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
			r := w.send(http.MethodGet, "/api/auth/mcp/userinfo", "", headers...)
			if w.wantError(r, http.StatusUnauthorized, "invalid_token"); r.header.Get("WWW-Authenticate") != want {
				t.Errorf("%q: the challenge is %s", headers, r.header.Get("WWW-Authenticate"))
			}
		}
	}
}

func TestPoint09TheNextKeyIsPublishedBeforeItsUseAndTheOldOneAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	signer := func() string {
		_, kid := w.verify(w.connect(c, "scope", "openid").ID, w.jwks())
		return kid
	}
	rotate := func(atOnce bool) {
		if _, err := w.service.RotateKeys(t.Context(), atOnce); err != nil {
			t.Fatal(err)
		}
	}
	first := signer()
	rotate(false)
	if ids := kids(w.jwks()); !slices.Equal(ids, []string{first}) {
		t.Errorf("rotated too early: %v", ids)
	}
	w.clock.Advance(89 * day)
	rotate(false)
	rotate(true) // one is waiting, so none is made
	ids := kids(w.jwks())
	if len(ids) != 2 || ids[0] != first || signer() != first {
		t.Fatalf("before its use: %v, signed by %s", ids, signer())
	}
	w.clock.Advance(day)
	if signer() != ids[1] || !slices.Equal(kids(w.jwks()), ids) {
		t.Errorf("signed by %s, published %v", signer(), kids(w.jwks()))
	}
	w.clock.Advance(2*time.Hour + time.Second)
	if now := kids(w.jwks()); !slices.Equal(now, ids[1:]) {
		t.Errorf("the old key is still there: %v", now)
	}
	rotate(true)
	if n := len(kids(w.jwks())); n != 2 {
		t.Errorf("asked to rotate at once, %d keys are published", n)
	}
}

func TestPoint09PrivateKeysAreSealedAndUselessWithAnotherSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := kids(w.jwks())
	stored, err := w.db.SigningKeys(t.Context())
	if err != nil || len(stored) != 1 {
		t.Fatal(stored, err)
	}
	if len(stored[0].Sealed) < 1000 || slices.Equal(stored[0].Sealed[:2], []byte{0x30, 0x82}) {
		t.Error("the key lies there in clear")
	}
	other, err := oauth.New(w.db, w.clock, []byte("another secret of an installation"), oauth.Options{Issuer: w.issuer, Prefixes: oauth.PrefixesFor("crl")}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	other.Routes(mux, w.front)
	r := serve(mux, "/api/auth/mcp/jwks")
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(r, &set); err != nil || len(set.Keys) != 1 || set.Keys[0].KeyID == first[0] {
		t.Errorf("with another secret: %s", r)
	}
}

func TestPoint09ParallelNodesMakeOneFirstKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	testkit.Concurrently(6, func(int) { w.jwks() })
	if ids := kids(w.jwks()); len(ids) != 1 {
		t.Errorf("%d first keys", len(ids))
	}
}

func TestPoint09TokensThatWeDidNotSignAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	good := w.connect(c)
	none := "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0."
	hs, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(c.id + c.id)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	forged, err := jwt.Signed(hs).Claims(jwt.Claims{Subject: w.user.ID, Issuer: w.issuer}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	// Access tokens are opaque: no JWT of any kind is one, not even our own id token.
	for _, token := range []string{none, forged, good.ID} {
		if w.works(token) {
			t.Errorf("%.20s… works", token)
		}
		w.wantError(w.send(http.MethodGet, "/api/auth/mcp/userinfo", "", "Authorization", "Bearer "+token), http.StatusUnauthorized, "invalid_token")
	}
}
