package httpapi

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"

	"carrel/api"
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

// contract is the part of the document that routes are compared with.
type contract struct {
	Paths map[string]map[string]yaml.Node
}

// documented lists the operations of the document as "METHOD /path" with their ids; plain says which are not served
// by generated code.
func documented(t *testing.T) (ids map[string]string, plain map[string]bool) {
	t.Helper()
	var doc contract
	if err := yaml.Unmarshal(api.Document, &doc); err != nil {
		t.Fatal(err)
	}
	ids, plain = map[string]string{}, map[string]bool{}
	for path, item := range doc.Paths {
		for method, node := range item {
			if method == "parameters" {
				continue
			}
			var op struct {
				ID    string `yaml:"operationId"`
				Plain bool   `yaml:"x-carrel-plain"`
			}
			if err := node.Decode(&op); err != nil {
				t.Fatal(err)
			}
			route := strings.ToUpper(method) + " " + path
			ids[route], plain[route] = op.ID, op.Plain
		}
	}
	if len(ids) < 20 {
		t.Fatalf("only %d operations found: the test reads the document wrongly", len(ids))
	}
	return ids, plain
}

func TestTheGeneratedRouterHasTheDocumentsOperationsAndNoOthers(t *testing.T) {
	t.Parallel()
	ids, plain := documented(t)
	log := slog.New(slog.DiscardHandler)
	a, err := New(Services{}, Hooks{}, Options{BaseURL: testBaseURL}, NewProblems(testBaseURL, log), log)
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	for route := range ids {
		_, path, _ := strings.Cut(route, " ")
		paths[path] = true
	}
	for path := range paths {
		sample := regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "x")
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
			route := method + " " + path
			found, ok := a.oas.FindPath(method, &url.URL{Path: sample})
			if ok && found.PathPattern() != path {
				continue // another path's parameter took it: …/favourites/export as a cardId
			}
			want := ids[route] != "" && !plain[route]
			if ok != want {
				t.Errorf("%s: generated router has it: %t, document: %t", route, ok, want)
			}
			if ok && found.OperationID() != ids[route] {
				t.Errorf("%s: routed to %s, documented as %s", route, found.OperationID(), ids[route])
			}
		}
	}

	// The generated interface has a method for each operation; none may be missing in the document.
	known := map[string]bool{"NewError": true}
	for route, id := range ids {
		if !plain[route] {
			known[strings.ToUpper(id[:1])+id[1:]] = true
		}
	}
	handler := reflect.TypeFor[oas.Handler]()
	for i := range handler.NumMethod() {
		if name := handler.Method(i).Name; !known[name] {
			t.Errorf("the generated handler %s has no operation in the document: run make gen", name)
		}
	}
	if handler.NumMethod() != len(known) {
		t.Errorf("%d generated handlers for %d operations: run make gen", handler.NumMethod(), len(known))
	}
}

// beside are the patterns that are not operations of the contract.
var beside = []string{
	"/api/", // the generated router, compared above
	"/api/agents/{agentId}/threads/{threadId}/events", // the methods that it does not have
	"/api/agents/{agentId}/threads/{threadId}/export",
	"/api/account/usage/export",
	"/api/account/export/file",
	"/api/billing/stripe",
	"/api/agents/{agentId}/sources/{sourceId}/events",
	"/api/agents/{agentId}/sources/{sourceId}/uploads",
	"/api/agents/{agentId}/sources/{sourceId}/uploads/{uploadId}",
	// What the protocol of uploads asks for besides; the description of createUpload tells of both.
	"OPTIONS /api/agents/{agentId}/sources/{sourceId}/uploads",
	"HEAD /api/agents/{agentId}/sources/{sourceId}/uploads/{uploadId}",
	"GET /openapi.yaml", "GET /openapi.json", "GET /docs", "GET /docs/style.css",
}

// ofOAuth are the operations of the authorization server, which holds its own routes against the document.
var ofOAuth = regexp.MustCompile(`^[A-Z]+ /(api/auth/mcp/|\.well-known/(oauth-authorization-server|openid-configuration|jwks\.json)$)`)

func TestThePlainRoutesAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	ids, plain := documented(t)
	registered := registeredPatterns(t, ".")
	if len(registered) == 0 {
		t.Fatal("no pattern found: the test reads the source wrongly")
	}
	for _, pattern := range registered {
		if !slices.Contains(beside, pattern) && !plain[pattern] {
			t.Errorf("%s is served but is not a plain operation of the document (known: %q)", pattern, ids[pattern])
		}
	}
	for route, is := range plain {
		if is && !slices.Contains(registered, route) && !ofOAuth.MatchString(route) {
			t.Errorf("%s is documented as a plain operation but no handler is registered for it", route)
		}
	}
}

// registeredPatterns reads the patterns that a package hands to a mux out of its source: a mux does not tell.
func registeredPatterns(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || method.Sel.Name != "Handle" && method.Sel.Name != "HandleFunc" {
				return true
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: a pattern that is no literal can't be compared with the document", name)
				return true
			}
			pattern, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, pattern)
			return true
		})
	}
	return out
}

func TestTheDocumentIsServedAsItIs(t *testing.T) {
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

func TestTheJSONFormSaysTheSameInTheSameOrder(t *testing.T) {
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
	// Through JSON once, so that both have the same types of numbers.
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
	for _, key := range []string{`"openapi"`, `"info"`, `"title"`, `"version"`, `"servers"`, `"paths"`, `"/api/agents"`, `"components"`} {
		at := strings.Index(body, key)
		if at < last {
			t.Errorf("%s is out of order", key)
		}
		last = at
	}
}

func TestWhatAClientHasIsNotSentAgain(t *testing.T) {
	t.Parallel()
	mux := documentMux()
	for _, path := range []string{"/openapi.yaml", "/openapi.json", "/docs", "/docs/style.css"} {
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

func TestACompressedFormIsTheSameFile(t *testing.T) {
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

func TestThePageRunsNoScriptAndLoadsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	mux := documentMux()
	w := fetch(t, mux, "/docs")
	if got := w.Header().Get("Content-Security-Policy"); got != pageCSP {
		t.Errorf("Content-Security-Policy %q", got)
	}
	walkHTML(t, w.Body, func(n *html.Node) {
		switch n.Data {
		case "script", "style", "iframe", "object", "embed", "form", "base":
			t.Errorf("<%s> on the page", n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
				t.Errorf("<%s> has the attribute %s, which the policy forbids", n.Data, a.Key)
			case a.Key == "src" || a.Key == "href" && n.Data == "link":
				if w := fetch(t, mux, a.Val); w.Code != http.StatusOK {
					t.Errorf("the page loads %s, which answers %d", a.Val, w.Code)
				}
			}
		}
	})
}

func TestEveryLinkOnThePageLeadsSomewhere(t *testing.T) {
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
	operations, _ := documented(t)
	for _, id := range operations {
		if !ids[id] {
			t.Errorf("the operation %s is not on the page", id)
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

// TestTheExamplesSetTheVariablesTheyUse holds the page's promise that its commands work when pasted; the end-to-end
// tests paste them.
func TestTheExamplesSetTheVariablesTheyUse(t *testing.T) {
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
