package httpapi

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"

	"carrel/api"
	"carrel/client"
	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

const testBaseURL = "https://carrel.example.org"

func documentMux() *http.ServeMux {
	mux := http.NewServeMux()
	DocumentRoutes(mux, testBaseURL)
	return mux
}

func fetch(t *testing.T, h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// newAPI returns an API without services, for tests of its routes.
func newAPI(t *testing.T) *API {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	a, err := New(Services{}, Hooks{}, Options{BaseURL: testBaseURL}, NewProblems(testBaseURL, log), log)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// sampleURL returns a URL of a path of the contract, with x for each parameter.
func sampleURL(path string) *url.URL {
	return &url.URL{Path: regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "x")}
}

func TestGeneratedRouterServesTheOperationsOfTheContract(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	byRoute := map[string]core.Operation{} // without the plain operations
	paths := map[string]bool{}
	methods := map[string]bool{"NewError": true}
	for _, op := range core.Operations() {
		traits, _ := op.Traits()
		paths[traits.Path] = true
		if !traits.Plain {
			byRoute[traits.Method+" "+traits.Path] = op
			methods[strings.ToUpper(string(op)[:1])+string(op)[1:]] = true
		}
	}
	for path := range paths {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
			found, ok := a.oas.FindPath(method, sampleURL(path))
			if ok && found.PathPattern() != path {
				continue // matched as a parameter of another path: …/favourites/export as a cardId
			}
			route := method + " " + path
			if want, known := byRoute[route]; ok != known || ok && found.OperationID() != string(want) {
				t.Errorf("%s is routed: %t, to %q; the contract has %q", route, ok, found.OperationID(), want)
			}
		}
	}
	handler := reflect.TypeFor[oas.Handler]()
	for i := range handler.NumMethod() {
		if name := handler.Method(i).Name; !methods[name] {
			t.Errorf("the generated handler %s has no operation in the contract: run make gen", name)
		}
	}
	if handler.NumMethod() != len(methods) {
		t.Errorf("%d generated handlers for %d operations: run make gen", handler.NumMethod(), len(methods))
	}
}

// oauthPaths matches the operations of the authorization server, whose routes package oauth tests.
var oauthPaths = regexp.MustCompile(
	`^/(api/auth/mcp/|\.well-known/(oauth-authorization-server|openid-configuration|jwks\.json)$)`,
)

// uncontracted are the methods of the tus protocol that the contract describes in the text of createUpload only.
var uncontracted = []string{
	"OPTIONS /api/agents/{agentId}/sources/{sourceId}/uploads",
	"HEAD /api/agents/{agentId}/sources/{sourceId}/uploads/{uploadId}",
}

func TestPlainRoutesAreThePlainOperationsOfTheContract(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	mux := http.NewServeMux()
	a.Routes(mux)
	contracted := map[string]bool{}
	for _, op := range core.Operations() {
		traits, _ := op.Traits()
		if !traits.Plain || oauthPaths.MatchString(traits.Path) {
			continue
		}
		contracted[traits.Method+" "+traits.Path] = true
		path, _ := a.plain.match(sampleURL(traits.Path))
		if path != nil && path.pattern == traits.Path && path.handler(traits.Method) != nil {
			continue
		}
		r := &http.Request{Method: traits.Method, URL: sampleURL(traits.Path)}
		if _, pattern := mux.Handler(r); pattern != traits.Method+" "+traits.Path {
			t.Errorf("%s %s has no handler", traits.Method, traits.Path)
		}
	}
	for _, candidates := range a.plain {
		for _, path := range candidates {
			for _, method := range path.methods() {
				if route := method + " " + path.pattern; !contracted[route] && !slices.Contains(uncontracted, route) {
					t.Errorf("%s is served but not a plain operation of the contract", route)
				}
			}
		}
	}
}

func TestPlainPathsAreMatchedBySegment(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for target, want := range map[string]string{
		"/api/agents/a/threads/t/events":          "/api/agents/{agentId}/threads/{threadId}/events agentId=a threadId=t",
		"/api/agents/a%20b/favourites/export":     "/api/agents/{agentId}/favourites/export agentId=a b",
		"/api/agents/a/favourites/%65xport":       "/api/agents/{agentId}/favourites/export agentId=a",
		"/api/agents/a/favourites/x%2Fexport":     "",
		"/api/agents/a/favourites/export/":        "",
		"/api/agents//threads/t/events":           "",
		"/api/agents/a/threads/events":            "",
		"/api/agents/a/favourites/doi:10.1%2Fabc": "",
		"/api/account/export/file":                "/api/account/export/file",
		"/api/account/export":                     "",
	} {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if path, values := a.plain.match(u); path != nil {
			got = path.pattern
			for _, name := range slices.Sorted(maps.Keys(values)) {
				got += " " + name + "=" + values[name]
			}
		}
		if got != want {
			t.Errorf("%s matches %q, want %q", target, got, want)
		}
	}
}

func TestDocumentIsServedUnchanged(t *testing.T) {
	t.Parallel()
	w := fetch(t, documentMux(), "/openapi.yaml")
	if w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), api.Document) {
		t.Errorf("status %d, %d bytes, want the document's %d", w.Code, w.Body.Len(), len(api.Document))
	}
	if got := w.Header().Get("Content-Type"); got != "application/yaml" {
		t.Errorf("Content-Type %q", got)
	}
	if got := w.Header().Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("Access-Control-Allow-Origin %q", got)
	}
}

func TestJSONFormEqualsTheYAML(t *testing.T) {
	t.Parallel()
	w := fetch(t, documentMux(), "/openapi.json")
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
	var asJSON, asYAML any
	if err := json.Unmarshal(w.Body.Bytes(), &asJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(api.Document, &asYAML); err != nil {
		t.Fatal(err)
	}
	// Encode and decode once, so that both have the same number types.
	b, err := json.Marshal(asYAML)
	if err != nil {
		t.Fatal(err)
	}
	var want any
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(asJSON, want) {
		t.Error("the JSON form differs from the YAML form")
	}
	body := w.Body.String()
	last := -1
	for _, key := range []string{
		`"openapi"`, `"info"`, `"title"`, `"version"`, `"servers"`, `"paths"`, `"/api/agents"`, `"components"`,
	} {
		at := strings.Index(body, key)
		if at < last {
			t.Errorf("%s is out of order", key)
		}
		last = at
	}
}

func TestMatchingETagGets304(t *testing.T) {
	t.Parallel()
	mux := documentMux()
	for _, path := range []string{"/openapi.yaml", "/openapi.json", "/docs", "/docs/style.css", "/docs/script.js"} {
		for _, encoding := range []string{"identity", "gzip"} {
			tag := fetch(t, mux, path, "Accept-Encoding", encoding).Header().Get("ETag")
			w := fetch(t, mux, path, "Accept-Encoding", encoding, "If-None-Match", tag)
			if tag == "" || w.Code != http.StatusNotModified || w.Body.Len() != 0 {
				t.Errorf("%s as %s: status %d with %d bytes for the tag %q", path, encoding, w.Code, w.Body.Len(), tag)
			}
			if w := fetch(t, mux, path, "Accept-Encoding", encoding, "If-None-Match", `"other"`); w.Code != http.StatusOK {
				t.Errorf("%s as %s: status %d for another tag", path, encoding, w.Code)
			}
		}
	}
}

func TestCompressedFormIsTheSameFile(t *testing.T) {
	t.Parallel()
	mux := documentMux()
	plain := fetch(t, mux, "/docs", "Accept-Encoding", "br, gzip;q=0")
	packed := fetch(t, mux, "/docs", "Accept-Encoding", "br, gzip")
	if got := plain.Header().Get("Content-Encoding"); got != "" {
		t.Errorf("refused gzip, got %q", got)
	}
	if plain.Header().Get("ETag") == packed.Header().Get("ETag") {
		t.Error("both forms have one strong tag")
	}
	r, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, plain.Body.Bytes()) {
		t.Errorf("unpacked, it is not the plain page (%v)", err)
	}
}

// webAppIcon is the icon of the page, which package webapp serves.
const webAppIcon = "/icons/icon.svg"

func TestPageLoadsOnlyFilesOfThisServer(t *testing.T) {
	t.Parallel()
	mux := documentMux()
	w := fetch(t, mux, "/docs")
	if got := w.Header().Get("Content-Security-Policy"); got != pageCSP {
		t.Errorf("Content-Security-Policy %q", got)
	}
	walkHTML(t, w.Body, func(n *html.Node) {
		switch n.Data {
		case "style", "iframe", "object", "embed", "form", "base":
			t.Errorf("<%s> on the page", n.Data)
		case "script":
			if n.FirstChild != nil {
				t.Error("an inline script on the page, which the policy forbids")
			}
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
				t.Errorf("<%s> has the attribute %s, which the policy forbids", n.Data, a.Key)
			case a.Val == webAppIcon:
			case a.Key == "src" || a.Key == "href" && n.Data == "link":
				if w := fetch(t, mux, a.Val); w.Code != http.StatusOK {
					t.Errorf("the page loads %s, which answers %d", a.Val, w.Code)
				}
			}
		}
	})
}

func TestLinksOnThePageAreValid(t *testing.T) {
	t.Parallel()
	mux := documentMux()
	ids := map[string]bool{}
	var links []string
	walkHTML(t, fetch(t, mux, "/docs").Body, func(n *html.Node) {
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				if ids[a.Val] {
					t.Errorf("the id %s is there twice", a.Val)
				}
				ids[a.Val] = true
			case a.Key == "aria-labelledby", a.Key == "href" && n.Data == "a":
				links = append(links, a.Val)
			}
		}
	})
	for _, link := range links {
		target, local := strings.CutPrefix(link, "#")
		switch {
		case local && !ids[target]:
			t.Errorf("nothing has the id of the link %s", link)
		case !local && strings.HasPrefix(link, "/"):
			if w := fetch(t, mux, link); w.Code != http.StatusOK {
				t.Errorf("%s answers %d", link, w.Code)
			}
		case !local && !ids[link]:
			t.Errorf("%s leads away from the page", link)
		}
	}
	for _, op := range core.Operations() {
		if !ids[string(op)] {
			t.Errorf("the operation %s is not on the page", op)
		}
	}
	// The type of a problem links to its code.
	for _, code := range problemCodes(t) {
		if !ids[code] {
			t.Errorf("the problem code %s is not on the page", code)
		}
	}
}

func problemCodes(t *testing.T) []string {
	t.Helper()
	var doc struct {
		Components struct {
			Schemas struct {
				Problem struct {
					Properties struct {
						Code struct{ Enum []string }
					}
				} `yaml:"Problem"`
			}
		}
	}
	if err := yaml.Unmarshal(api.Document, &doc); err != nil {
		t.Fatal(err)
	}
	codes := doc.Components.Schemas.Problem.Properties.Code.Enum
	if len(codes) == 0 {
		t.Fatal("no problem codes found: the test reads the document wrongly")
	}
	return codes
}

func walkHTML(t *testing.T, r io.Reader, visit func(*html.Node)) {
	t.Helper()
	root, err := html.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			visit(n)
		}
	}
}

// The commands on the page can be pasted; the end-to-end tests do so.
func TestExamplesSetTheVariablesTheyUse(t *testing.T) {
	t.Parallel()
	page := fetch(t, documentMux(), "/docs").Body.String()
	text := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, ""))
	set := map[string]bool{}
	for _, m := range regexp.MustCompile(`export ([A-Z_]+)=`).FindAllStringSubmatch(text, -1) {
		set[m[1]] = true
	}
	used := regexp.MustCompile(`\$([A-Z_]+)`).FindAllStringSubmatch(text, -1)
	if len(set) < 5 || len(used) < 20 {
		t.Fatalf("%d variables set and %d used: the test reads the page wrongly", len(set), len(used))
	}
	for _, m := range used {
		if !set[m[1]] {
			t.Errorf("$%s is used but the first steps do not set it", m[1])
		}
	}
	if !strings.Contains(text, `curl -sS "`+testBaseURL+`/api/agents"`) {
		t.Error("the examples do not call the configured address")
	}
}

func TestExamplesCallMethodsOfTheClients(t *testing.T) {
	t.Parallel()
	page := fetch(t, documentMux(), "/docs").Body.String()
	text := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, ""))
	called := map[string]bool{}
	for _, m := range regexp.MustCompile(`await carrel\.(\w+)\(`).FindAllStringSubmatch(text, -1) {
		called[strings.ToUpper(m[1][:1])+m[1][1:]] = true
	}
	delete(called, "Ask")        // written by hand in the SDKs
	delete(called, "UploadFile") // likewise
	methods := reflect.TypeFor[*client.Client]()
	for name := range called {
		if _, ok := methods.MethodByName(name); !ok {
			t.Errorf("the client has no method %s", name)
		}
	}
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		op := core.Operation(strings.ToLower(name[:1]) + name[1:])
		if _, known := op.Traits(); known && !called[name] {
			t.Errorf("the page has no example for the method %s", name)
		}
	}
}

func TestExamplesOfTheContractAreAboutTheSameObjects(t *testing.T) {
	t.Parallel()
	ids := map[string]map[string]bool{}
	for _, m := range regexp.MustCompile(`\b(agt|src|thr|doc|card|usr)_[0-9a-z]{20,}`).FindAllStringSubmatch(string(api.Document), -1) {
		if ids[m[1]] == nil {
			ids[m[1]] = map[string]bool{}
		}
		ids[m[1]][m[0]] = true
	}
	if len(ids) < 6 {
		t.Fatalf("ids of %d kinds found: the test reads the contract wrongly", len(ids))
	}
	for _, kind := range ids {
		if len(kind) != 1 {
			t.Errorf("the examples have several ids of a kind: %v", slices.Sorted(maps.Keys(kind)))
		}
	}
}
