package oauth_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"carrel/internal/oauth"
	"carrel/internal/testkit"
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
	rotate := func(force bool) {
		if _, err := srv.service.RotateKeys(t.Context(), force); err != nil {
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
	rotate(true) // a key is waiting already, so no other is created
	ids := kids(srv.jwks())
	if len(ids) != 2 || ids[0] != first || signer() != first {
		t.Fatalf("before the switch: %v, signed by %s", ids, signer())
	}
	srv.clock.Advance(day)
	if signer() != ids[1] || !slices.Equal(kids(srv.jwks()), ids) {
		t.Errorf("signed by %s, published %v", signer(), kids(srv.jwks()))
	}
	srv.clock.Advance(2*time.Hour + time.Second)
	if now := kids(srv.jwks()); !slices.Equal(now, ids[1:]) {
		t.Errorf("the old key is still published: %v", now)
	}
	rotate(true)
	if n := len(kids(srv.jwks())); n != 2 {
		t.Errorf("after a forced rotation %d keys are published", n)
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
		t.Error("the private key is stored in clear text")
	}
	deps := srv.deps
	deps.Secret, deps.Documents = []byte("the secret of another installation"), nil
	other, err := oauth.NewService(deps)
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
	testkit.Concurrently(6, func(int) { srv.jwks() })
	if ids := kids(srv.jwks()); len(ids) != 1 {
		t.Errorf("%d signing keys", len(ids))
	}
}
