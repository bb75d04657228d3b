package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"carrel/internal/testkit"
)

// TestCodeFlowRunsWithTheDocumentAlone runs the authorization code flow as a generated client would: every address,
// method, parameter, scope and content type is read from /openapi.json. Only the values that a client computes or gets
// in the flow are added.
func TestCodeFlowRunsWithTheDocumentAlone(t *testing.T) {
	t.Parallel()
	server := testkit.StartServer(t, testkit.ServerOptions{})
	if r := server.Admin("user", "create", "--email", "ada@example.org", "--name", "Ada",
		"--password", "correct horse battery"); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	c := &documentClient{flow: newFlow(t, server)}
	c.doc = c.json(c.do(http.MethodGet, server.URL+"/openapi.json", ""))
	scheme := c.object("components", "securitySchemes", "oauth2", "flows", "authorizationCode")
	scopes := slices.Sorted(maps.Keys(scheme["scopes"].(map[string]any)))

	var client struct {
		ID string `json:"client_id"`
	}
	c.call("registerClient", &client)
	code := c.authorizeByDocument(scheme["authorizationUrl"].(string), map[string]string{
		"client_id": client.ID, "scope": strings.Join(scopes, " "), "resource": server.URL,
	})
	var tokens struct {
		flowTokens
		Scope string `json:"scope"`
	}
	c.postForm(scheme["tokenUrl"].(string), "issueToken", map[string]string{
		"grant_type": "authorization_code", "client_id": client.ID, "code": code, "code_verifier": c.verifier,
		"redirect_uri": c.redirect,
	}, &tokens)
	granted := strings.Fields(tokens.Scope)
	slices.Sort(granted)
	if !slices.Equal(granted, scopes) || tokens.Access == "" || tokens.ID == "" {
		t.Errorf("the scopes %v were granted, requested were %v", granted, scopes)
	}

	// Each scope opens the operations that declare it, and no token opens the others.
	c.wantAccess(tokens.Access, "listAgents", http.StatusOK)
	c.wantAccess(tokens.Access, "getUserinfo", http.StatusOK)
	c.wantAccess(tokens.Access, "listKeys", http.StatusForbidden)
	c.postForm(scheme["refreshUrl"].(string), "issueToken", map[string]string{
		"grant_type": "refresh_token", "client_id": client.ID, "refresh_token": tokens.Refresh, "scope": "manage",
	}, &tokens)
	c.wantAccess(tokens.Access, "listAgents", http.StatusForbidden)
	c.wantAccess(tokens.Access, "getUserinfo", http.StatusForbidden)
	revoke, _ := c.operation("revokeToken")
	c.postForm(revoke, "revokeToken", map[string]string{"client_id": client.ID, "token": tokens.Refresh}, nil)
	c.wantAccess(tokens.Access, "listAgents", http.StatusUnauthorized)

	discovery := c.object("components", "securitySchemes", "openIdConnect")["openIdConnectUrl"].(string)
	found := c.json(c.do(http.MethodGet, server.URL+discovery, ""))
	if found["authorization_endpoint"] != server.URL+scheme["authorizationUrl"].(string) ||
		found["token_endpoint"] != server.URL+scheme["tokenUrl"].(string) {
		t.Errorf("discovery finds %v", found)
	}
}

// documentClient is a client that reads its requests from the document.
type documentClient struct {
	*flow
	doc map[string]any
	// redirect is the redirect URI of the example of a registration.
	redirect string
}

// object returns a mapping of the document by its path.
func (c *documentClient) object(path ...string) map[string]any {
	c.Helper()
	at := c.doc
	for _, name := range path {
		next, ok := at[name].(map[string]any)
		if !ok {
			c.Fatalf("the document has no %v", path)
		}
		at = next
	}
	return at
}

// operation returns the path and the definition of an operation.
func (c *documentClient) operation(id string) (path string, op map[string]any) {
	c.Helper()
	for path := range c.object("paths") {
		for method, op := range c.object("paths", path) {
			if found, _ := op.(map[string]any); found["operationId"] == id {
				found["method"] = strings.ToUpper(method)
				return path, found
			}
		}
	}
	c.Fatalf("the document has no operation %s", id)
	return "", nil
}

// resolve follows a reference.
func (c *documentClient) resolve(v any) map[string]any {
	o, _ := v.(map[string]any)
	if ref, ok := o["$ref"].(string); ok {
		return c.object(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return o
}

// call sends the example of an operation.
func (c *documentClient) call(id string, into any) {
	c.Helper()
	path, op := c.operation(id)
	content := c.resolve(op["requestBody"])["content"].(map[string]any)["application/json"].(map[string]any)
	example := c.resolve(content["examples"].(map[string]any)["default"])["value"].(map[string]any)
	c.redirect = example["redirect_uris"].([]any)[0].(string)
	body, err := json.Marshal(example)
	if err != nil {
		c.Fatal(err)
	}
	c.decode(c.do(op["method"].(string), c.server.URL+path, string(body), "Content-Type", "application/json"), into)
}

// authorizeByDocument sends the user to the authorization URL with the documented parameters and returns the code.
func (c *documentClient) authorizeByDocument(address string, values map[string]string) string {
	c.Helper()
	sum := sha256.Sum256([]byte(c.verifier))
	values["code_challenge"] = base64.RawURLEncoding.EncodeToString(sum[:])
	values["redirect_uri"] = c.redirect
	path, op := c.operation("authorizeClient")
	if path != address {
		c.Errorf("authorizeClient is at %s, the credential at %s", path, address)
	}
	query := url.Values{}
	for _, p := range op["parameters"].([]any) {
		parameter := c.resolve(p)
		name := parameter["name"].(string)
		schema := c.resolve(parameter["schema"])
		switch value, known := values[name]; {
		case known:
			query.Set(name, value)
			delete(values, name)
		case schema["const"] != nil:
			query.Set(name, fmt.Sprint(schema["const"]))
		default:
			query.Set(name, fmt.Sprint(parameter["example"]))
		}
	}
	if len(values) > 0 {
		c.Errorf("the parameters %v are not documented", values)
	}
	page := c.signIn(c.do(http.MethodGet, c.server.URL+address+"?"+query.Encode(), ""))
	form := testkit.HiddenFields(page.body)
	form.Set("decision", "allow")
	r := c.do(http.MethodPost, c.server.URL+address, form.Encode(),
		"Content-Type", formType, "Origin", c.server.URL, "Sec-Fetch-Site", "same-origin")
	to, err := url.Parse(r.header.Get("Location"))
	if err != nil || !strings.HasPrefix(to.String(), c.redirect+"?") || to.Query().Get("state") != query.Get("state") {
		c.Fatalf("after consent: %d %s %s", r.status, to, r.body)
	}
	return to.Query().Get("code")
}

// postForm sends a form whose fields must all be documented.
func (c *documentClient) postForm(address, id string, fields map[string]string, into any) {
	c.Helper()
	path, op := c.operation(id)
	if path != address {
		c.Errorf("%s is at %s, the credential at %s", id, path, address)
	}
	content := c.resolve(op["requestBody"])["content"].(map[string]any)
	media, _ := content[formType].(map[string]any)
	properties := c.resolve(media["schema"])["properties"].(map[string]any)
	form := url.Values{}
	for name, value := range fields {
		if properties[name] == nil {
			c.Errorf("the field %s of %s is not documented", name, id)
		}
		form.Set(name, value)
	}
	r := c.do(op["method"].(string), c.server.URL+address, form.Encode(), "Content-Type", formType)
	c.decode(r, into)
}

func (c *documentClient) decode(r flowReply, into any) {
	c.Helper()
	if r.status >= http.StatusMultipleChoices {
		c.Fatalf("%d %s", r.status, r.body)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(r.body), into); err != nil {
		c.Fatalf("%v in %s", err, r.body)
	}
}

// wantAccess calls an operation without arguments.
func (c *documentClient) wantAccess(token, id string, status int) {
	c.Helper()
	path, op := c.operation(id)
	r := c.do(op["method"].(string), c.server.URL+path, "", "Authorization", "Bearer "+token)
	if r.status != status {
		c.Errorf("%s: %d, want %d: %s", id, r.status, status, r.body)
	}
}
