package oauth_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestMetadataDocumentsAreIdenticalAndNameTheIssuer(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	first := ""
	for _, path := range []string{
		"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration",
		"/.well-known/oauth-authorization-server/mcp", "/.well-known/openid-configuration/mcp",
	} {
		r := srv.send(http.MethodGet, path, "", "Origin", "https://elsewhere.example")
		if r.status != http.StatusOK || r.header.Get("Access-Control-Allow-Origin") != "*" ||
			r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v", path, r.status, r.header)
		}
		if first == "" {
			first = r.body
		}
		if r.body != first {
			t.Errorf("%s differs:\n%s\n%s", path, r.body, first)
		}
	}
	var doc struct {
		Issuer     string   `json:"issuer"`
		Grants     []string `json:"grant_types_supported"`
		Responses  []string `json:"response_types_supported"`
		Challenges []string `json:"code_challenge_methods_supported"`
		ISS        bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := json.Unmarshal([]byte(first), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Issuer != srv.issuer || !doc.ISS || !slices.Equal(doc.Grants,
		[]string{"authorization_code", "refresh_token"}) ||
		!slices.Equal(doc.Responses, []string{"code"}) || !slices.Equal(doc.Challenges, []string{"S256"}) {
		t.Errorf("metadata: %+v", doc)
	}
}

func TestEveryAdvertisedEndpointIsServed(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	doc := srv.send(http.MethodGet, "/.well-known/oauth-authorization-server", "").json(t)
	for name, value := range doc {
		url, _ := value.(string)
		if !strings.HasSuffix(name, "_endpoint") && name != "jwks_uri" {
			continue
		}
		path, ok := strings.CutPrefix(url, srv.issuer)
		if r := srv.send(http.MethodPatch, path, ""); !ok || r.status != http.StatusMethodNotAllowed ||
			r.header.Get("Allow") == "" {
			t.Errorf("%s at %s: %d", name, url, r.status)
		}
	}
}

func TestUnadvertisedGrantAndResponseTypesAreRefused(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	for _, grant := range []string{
		"password", "client_credentials", "implicit",
		"urn:ietf:params:oauth:grant-type:device_code",
	} {
		srv.wantError(srv.post("token", c.redemption("x", "grant_type", grant)), http.StatusBadRequest,
			"unsupported_grant_type")
	}
	srv.wantError(srv.post("token", c.redemption("x", "grant_type", "")), http.StatusBadRequest, "invalid_request")
	for _, response := range []string{"token", "id_token", "code token", "code id_token", "none"} {
		srv.wantRedirectError(c.request("response_type", response), "unsupported_response_type")
	}
}

func TestAuthorizationResponsesNameTheIssuer(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	for _, decision := range []string{"allow", "deny"} {
		_, answer := srv.consent(c.request(), decision)
		if answer.Get("iss") != srv.issuer || answer.Get("state") != "st" {
			t.Errorf("%s: %v", decision, answer)
		}
	}
	if _, answer := srv.consent(c.request(), "deny"); answer.Get("error") != "access_denied" {
		t.Errorf("denied: %v", answer)
	}
	srv.wantRedirectError(c.request("code_challenge_method", "plain"), "invalid_request") // checks iss as well
}
