package oauth_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"carrel/internal/oauth"
)

func kids(set jose.JSONWebKeySet) []string {
	var ids []string
	for _, k := range set.Keys {
		ids = append(ids, k.KeyID)
	}
	return ids
}

func TestSigningKeyIsPublishedBeforeAndAfterItSigns(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	signer := func() string {
		_, kid := srv.verify(srv.connect(c, "scope", "openid").ID, srv.jwks())
		return kid
	}
	rotate := func(atOnce bool) {
		if _, err := srv.service.RotateKeys(t.Context(), atOnce); err != nil {
			t.Fatal(err)
		}
	}
	first := signer()
	rotate(false)
	if ids := kids(srv.jwks()); !slices.Equal(ids, []string{first}) {
		t.Errorf("rotated too early: %v", ids)
	}
	srv.clock.Advance(89 * day)
	rotate(false)
	rotate(true) // one is waiting, so none is made
	ids := kids(srv.jwks())
	if len(ids) != 2 || ids[0] != first || signer() != first {
		t.Fatalf("before its use: %v, signed by %s", ids, signer())
	}
	srv.clock.Advance(day)
	if signer() != ids[1] || !slices.Equal(kids(srv.jwks()), ids) {
		t.Errorf("signed by %s, published %v", signer(), kids(srv.jwks()))
	}
	srv.clock.Advance(2*time.Hour + time.Second)
	if now := kids(srv.jwks()); !slices.Equal(now, ids[1:]) {
		t.Errorf("the old key is still there: %v", now)
	}
	rotate(true)
	if n := len(kids(srv.jwks())); n != 2 {
		t.Errorf("asked to rotate at once, %d keys are published", n)
	}
}

func TestPrivateSigningKeysAreEncrypted(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	first := kids(srv.jwks())
	stored, err := srv.db.SigningKeys(t.Context())
	if err != nil || len(stored) != 1 {
		t.Fatal(stored, err)
	}
	if len(stored[0].Sealed) < 1000 || slices.Equal(stored[0].Sealed[:2], []byte{0x30, 0x82}) {
		t.Error("the key lies there in clear")
	}
	other, err := oauth.New(srv.db, srv.clock, []byte("another secret of an installation"), oauth.Options{Issuer: srv.issuer, Prefixes: oauth.PrefixesFor("crl")}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	other.Routes(mux, srv.pages)
	r := serve(mux, "/api/auth/mcp/jwks")
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(r, &set); err != nil || len(set.Keys) != 1 || set.Keys[0].KeyID == first[0] {
		t.Errorf("with another secret: %s", r)
	}
}

func TestConcurrentNodesCreateOneSigningKey(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	concurrently(6, func(int) { srv.jwks() })
	if ids := kids(srv.jwks()); len(ids) != 1 {
		t.Errorf("%d first keys", len(ids))
	}
}
