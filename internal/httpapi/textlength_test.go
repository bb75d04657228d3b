package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"carrel/api"
	"carrel/internal/core"
	"carrel/internal/httpapi"
)

// boundedText is a text field of a request with a length in the contract.
type boundedText struct {
	// field is the method, the path and the JSON pointer of the field, or the name of a query parameter.
	field    string
	min, max int
}

// contractTexts returns all bounded texts of the contract, the members with arbitrary JSON, and the ids that may be
// empty.
func contractTexts(t *testing.T) (texts []boundedText, free, emptyIDs []string) {
	t.Helper()
	var doc map[string]any
	if err := yaml.Unmarshal(api.Document, &doc); err != nil {
		t.Fatal(err)
	}
	resolve := func(v any) map[string]any {
		m, _ := v.(map[string]any)
		for m["$ref"] != nil {
			at := any(doc)
			for part := range strings.SplitSeq(strings.TrimPrefix(m["$ref"].(string), "#/"), "/") {
				at = at.(map[string]any)[part]
			}
			m = at.(map[string]any)
		}
		return m
	}
	var walk func(schema any, at string)
	walk = func(schema any, at string) {
		s := resolve(schema)
		for _, parts := range []string{"allOf", "oneOf", "anyOf"} {
			list, _ := s[parts].([]any)
			for _, part := range list {
				walk(part, at)
			}
		}
		if s["additionalProperties"] == true {
			free = append(free, at)
		}
		for name, property := range resolve(s["properties"]) {
			walk(property, at+"/"+name)
		}
		if s["items"] != nil {
			walk(s["items"], at+"/0")
		}
		least, _ := s["minLength"].(int)
		if limit, ok := s["maxLength"].(int); ok {
			texts = append(texts, boundedText{at, least, limit})
		} else if strings.HasSuffix(at, "Id") && least < 1 {
			emptyIDs = append(emptyIDs, at)
		}
	}
	for path, item := range doc["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			if method == "parameters" {
				continue
			}
			operation := resolve(op)
			at := strings.ToUpper(method) + " " + path + " "
			list, _ := operation["parameters"].([]any)
			for _, parameter := range list {
				if p := resolve(parameter); p["in"] == "query" {
					walk(p["schema"], at+p["name"].(string))
				}
			}
			content := resolve(resolve(operation["requestBody"])["content"])
			walk(resolve(content["application/json"])["schema"], at)
		}
	}
	slices.SortFunc(texts, func(a, b boundedText) int { return strings.Compare(a.field, b.field) })
	return texts, free, emptyIDs
}

// lengthCase describes the request that tests a text field.
type lengthCase struct {
	// as is the credential: "session", "admin", or a key by default.
	as   string
	path string
	// body contains VALUE where the text goes.
	body string
	// make returns a valid value of n characters; nil means any text.
	make func(n int) string
	// verbatim means that leading and trailing white space counts, as in a secret.
	verbatim bool
	// status is the status for a text of the maximum length; 0 means 200. A text that is compared with a secret is
	// wrong at any length, but only one that is too long gets 400.
	status int
	// refusals tests invalid texts only, because the fixture has no import service for a valid request.
	refusals bool
}

// untestedTexts are the bounded texts without a lengthCase, with the reason.
var untestedTexts = map[string]string{
	"POST /api/agents/{agentId}/sources/{sourceId}/documents /documents/0/publishedAt": "must be a date",
	"DELETE /api/account /email":                                               "every other address is 400",
	"POST /api/account/subscription/checkout /plan":                            "must be a plan name from the settings",
	"PATCH /api/admin/users/{userId} /email":                                   "same check as PATCH /api/account",
	"PATCH /api/admin/users/{userId} /plan":                                    "as above",
	"POST /api/admin/users /email":                                             "same check as PATCH /api/account",
	"POST /api/admin/users /name":                                              "same check as PATCH /api/account",
	"POST /api/admin/users /plan":                                              "must be the name of a plan",
	"POST /api/admin/invitations /email":                                       "same check as PATCH /api/account",
	"POST /api/admin/invitations /plan":                                        "must be the name of a plan",
	"PATCH /api/account/webhooks/{webhookId} /url":                             "same check as POST",
	"POST /api/search /query":                                                  "same check as POST …/search",
	"POST /api/agents/{agentId}/searches /queries/0/query":                     "same check as POST …/search",
	"PUT /api/admin/users/{userId}/subscription /plan":                         "as above",
	"PUT /api/admin/plans/{planName} /stripePrice":                             "ids of at most 100 characters each",
	"POST /api/auth/mcp/register /client_name":                                 "tested in package oauth",
	"POST /api/agents/{agentId}/sources /settings/bucket":                      "follows the naming rules of S3",
	"POST /api/agents/{agentId}/sources /settings/prefix":                      "S3 counts bytes, and white space counts",
	"POST /api/agents/{agentId}/sources /settings/region":                      "follows the naming rules of S3",
	"POST /api/agents/{agentId}/sources /settings/accessKeyId":                 "follows the naming rules of S3",
	"POST /api/agents/{agentId}/sources /secret":                               "counted in bytes",
	"POST /api/agents/{agentId}/sources /settings/library":                     "must be users/ or groups/ and a number",
	"PATCH /api/agents/{agentId}/sources/{sourceId} /settings/library":         "as above",
	"PATCH /api/agents/{agentId}/sources/{sourceId} /settings/collection":      "same check as POST",
	"POST /api/agents/{agentId}/sources/{sourceId}/favourites /collection":     "tested in package zoteroexport",
	"POST /api/agents/{agentId}/sources/{sourceId}/favourites /q":              "same check as GET /api/favourites",
	"POST /api/agents/{agentId}/sources/{sourceId}/favourites /tag":            "as above",
	"PATCH /api/agents/{agentId}/sources/{sourceId} /settings/bucket":          "as above",
	"PATCH /api/agents/{agentId}/sources/{sourceId} /settings/prefix":          "as above",
	"PATCH /api/agents/{agentId}/sources/{sourceId} /settings/region":          "as above",
	"PATCH /api/agents/{agentId}/sources/{sourceId} /settings/accessKeyId":     "as above",
	"PATCH /api/agents/{agentId}/sources/{sourceId} /secret":                   "as above",
	"POST /api/agents/{agentId}/saved-searches /search/query":                  "same check as POST …/search",
	"PATCH /api/agents/{agentId}/saved-searches/{savedSearchId} /search/query": "same check as POST …/search",
}

// unguessable returns a strong password of n characters.
func unguessable(n int) string {
	letters := []rune("éqzrtwxkvbmñpgßhjdfl0918273645")
	var b strings.Builder
	for i := range n {
		b.WriteRune(letters[(i*i+7*i)%len(letters)])
	}
	return b.String()
}

// lengthCases are the tested fields.
func lengthCases(p *testUser, b *browser) map[string]lengthCase {
	thread := p.newThread("T")
	p.post(p.at("/threads/"+thread+"/messages"), object{"text": "Hello"}).ok(p.t)
	reply := p.get(p.at("/threads/"+thread+"/messages")).ok(p.t).list("messages", "id")[1]
	memory := p.post(p.at("/memories"), object{"text": "Before"}).ok(p.t).str("memory", "id")
	p.post(p.at("/favourites"), object{"card": object{"id": "x"}}).ok(p.t)
	saved := p.post(p.at("/saved-searches"), object{"name": "Before", "search": object{"query": "x"}}).ok(p.t).
		str("savedSearch", "id")
	collection := p.post("/api/collections", object{"name": "Before"}).ok(p.t).str("collection", "id")
	source := p.get(p.at("")).ok(p.t).str("agent", "defaultSourceId")
	p.connect("program")
	connection := b.get("/api/account/connections").ok(p.t).list("connections", "id")[0]
	address := func(n int) string { return "https://example.org/" + strings.Repeat("a", n-len("https://example.org/")) }
	mail := func(n int) string {
		const at = "@example.org"
		return strings.Repeat("a", 60) +
			"@" + strings.Repeat("b.", (n-61-len(at)+1)/2) + strings.Repeat("c", (n-61-len(at)+1)%2) + "example.org"
	}
	wrong := func(n int) string { return strings.Repeat("x", n) }
	const agents, one, account = "/api/agents", "/api/agents/{agentId}", "/api/account"
	cases := map[string]lengthCase{
		"GET " + one + "/favourites q": {
			path: p.at("/favourites?q=VALUE"),
		},
		"GET " + one + "/threads q":             {path: p.at("/threads?q=VALUE")},
		"GET " + one + "/threads tag":           {path: p.at("/threads?tag=VALUE")},
		"GET /api/threads q":                    {path: "/api/threads?q=VALUE"},
		"GET /api/threads tag":                  {path: "/api/threads?tag=VALUE"},
		"GET " + one + "/memories q":            {path: p.at("/memories?q=VALUE")},
		"GET " + one + "/favourites tag":        {path: p.at("/favourites?tag=VALUE")},
		"GET " + one + "/favourites/export tag": {path: p.at("/favourites/export?format=csv&tag=VALUE")},
		"GET /api/favourites q":                 {path: "/api/favourites?q=VALUE"},
		"GET /api/favourites tag":               {path: "/api/favourites?tag=VALUE"},
		"GET " + one + "/favourites/export q":   {path: p.at("/favourites/export?format=csv&q=VALUE")},
		"GET /api/favourites/export q":          {path: "/api/favourites/export?format=csv&q=VALUE"},
		"GET /api/favourites/export tag":        {path: "/api/favourites/export?format=csv&tag=VALUE"},
		"PATCH " + one + "/favourites/{cardId} /note": {
			path: p.at("/favourites/x"), body: `{"note":VALUE}`,
		},
		"PATCH " + one + "/favourites/{cardId} /tags/0": {
			path: p.at("/favourites/x"), body: `{"tags":[VALUE]}`,
		},
		"POST /api/collections /name": {
			path: "/api/collections", body: `{"name":VALUE}`,
		},
		"PATCH /api/collections/{collectionId} /name": {
			path: "/api/collections/" + collection, body: `{"name":VALUE}`,
		},
		"POST " + one + "/saved-searches /name": {
			path: p.at("/saved-searches"), body: `{"name":VALUE,"search":{"query":"x"}}`,
		},
		"PATCH " + one + "/saved-searches/{savedSearchId} /name": {
			path: p.at("/saved-searches/" + saved), body: `{"name":VALUE}`,
		},
		"GET /api/admin/users q": {
			as: "admin", path: "/api/admin/users?q=VALUE",
		},
		"POST " + one + "/check /text": {
			path: p.at("/check"), body: `{"text":VALUE}`,
		},
		"POST " + one + "/search /query": {
			path: p.at("/search"), body: `{"query":VALUE}`,
		},
		"POST " + one + "/memories /text": {
			path: p.at("/memories"), body: `{"text":VALUE}`,
		},
		"PATCH " + one + "/memories/{memoryId} /text": {
			path: p.at("/memories/" + memory), body: `{"text":VALUE}`,
		},
		"POST " + one + "/threads /title": {
			path: p.at("/threads"), body: `{"title":VALUE}`,
		},
		"PATCH " + one + "/threads/{threadId} /title": {
			path: p.at("/threads/" + thread), body: `{"title":VALUE}`,
		},
		"PATCH " + one + "/threads/{threadId} /tags/0": {
			path: p.at("/threads/" + thread), body: `{"tags":[VALUE]}`,
		},
		"POST " + one + "/threads/{threadId}/messages /text": {
			path: p.at("/threads/" + thread + "/messages"), body: `{"text":VALUE}`,
		},
		"PUT " + one + "/threads/{threadId}/messages/{messageId}/feedback /note": {
			path: p.at("/threads/" + thread + "/messages/" + reply + "/feedback"), body: `{"thumb":"up","note":VALUE}`,
		},
		"POST " + one + "/sources /name": {
			path: p.at("/sources"), body: `{"kind":"upload","name":VALUE}`, refusals: true,
		},
		"POST " + one + "/sources /settings/collection": {
			path: p.at("/sources"), refusals: true,
			body: `{"kind":"zotero","name":"Z","settings":{"library":"groups/1","collection":VALUE}}`,
		},
		"PATCH " + one + "/sources/{sourceId} /name": {
			path: p.at("/sources/" + source), body: `{"name":VALUE}`, refusals: true,
		},
		"PATCH " + account + " /name": {
			as: "session", path: account, body: `{"name":VALUE}`,
		},
		"PATCH " + account + " /email": {
			as: "session", path: account, body: `{"email":VALUE}`, make: mail,
		},
		"POST " + account + "/keys /name": {
			as: "session", path: account + "/keys", body: `{"name":VALUE}`,
		},
		"PATCH " + account + "/connections/{connectionId} /name": {
			as: "session", path: account + "/connections/" + connection, body: `{"name":VALUE}`,
		},
		"POST " + account + "/webhooks /url": {
			as: "session", path: account + "/webhooks", body: `{"url":VALUE}`, make: address,
		},
		"POST " + account + "/step-up /password": {
			as: "session", path: account + "/step-up", body: `{"password":VALUE}`, make: wrong, verbatim: true, status: 403,
		},
		"POST " + account + "/step-up /code": {
			as: "session", path: account + "/step-up", body: `{"password":"x","code":VALUE}`, status: 403,
		},
		"POST " + account + "/step-up /ceremony": {
			as: "session", path: account + "/step-up", body: `{"ceremony":VALUE,"answer":{}}`, status: 409,
		},
		"POST " + account + "/passkeys /ceremony": {
			as: "session", path: account + "/passkeys", body: `{"name":"x","ceremony":VALUE,"answer":{}}`, status: 409,
		},
		"POST " + account + "/passkeys /name": {
			as: "session", path: account + "/passkeys", body: `{"name":VALUE,"ceremony":"x","answer":{}}`, status: 409,
		},
		"PATCH " + account + "/passkeys/{passkeyId} /name": {
			as: "session", path: account + "/passkeys/crd_none", body: `{"name":VALUE}`, status: 404,
		},
		"POST " + account + "/totp/confirm /code": {
			as: "session", path: account + "/totp/confirm", body: `{"code":VALUE}`, status: 409,
		},
		"POST " + account + "/password /newPassword": {
			as: "session", path: account + "/password", body: `{"newPassword":VALUE}`, verbatim: true,
			make: unguessable,
		},
		"POST /api/connect/exchange /client": {
			path: "/api/connect/exchange", body: `{"code":"none","client":VALUE}`, status: 400,
		},
	}
	language := func(n int) string { return "deu_"[:n] }
	for verb, path := range map[string]string{"POST " + agents: agents, "PATCH " + one: p.at("")} {
		cases[verb+" /language"] = lengthCase{path: path, body: `{"name":"x","language":VALUE}`, make: language}
		cases[verb+" /examples/0"] = lengthCase{path: path, body: `{"name":"x","examples":[VALUE]}`}
	}
	for _, field := range []string{"description", "instructions", "model", "opening"} {
		cases["POST "+agents+" /"+field] = lengthCase{path: agents, body: `{"name":"x","` + field + `":VALUE}`}
		cases["PATCH "+one+" /"+field] = lengthCase{path: p.at(""), body: `{"` + field + `":VALUE}`}
	}
	documents := p.at("/sources/" + source + "/documents")
	document := p.post(documents, object{"documents": []object{{"externalId": "x", "title": "X"}}}).ok(p.t).
		list("documents", "id")[0]
	cases["GET "+one+"/sources/{sourceId}/documents q"] = lengthCase{path: documents + "?q=VALUE"}
	for field, value := range map[string]string{
		"title": "VALUE", "authors": "[VALUE]", "venue": "VALUE", "doi": "VALUE", "url": "VALUE", "type": "VALUE",
		"tags": "[VALUE]", "externalId": "VALUE",
	} {
		at, maker := field, map[string]func(int) string{"url": address}[field]
		if value != "VALUE" {
			at += "/0"
		}
		if field != "type" && field != "externalId" {
			cases["PATCH "+one+"/documents/{documentId} /"+at] = lengthCase{
				path: p.at("/documents/" + document), body: `{"` + field + `":` + value + `}`, make: maker,
			}
		}
		others := `"externalId":"y","text":"Y",`
		if field == "externalId" {
			others = `"text":"Y",`
		}
		cases["POST "+one+"/sources/{sourceId}/documents /documents/0/"+at] = lengthCase{
			path: documents, body: `{"documents":[{` + others + `"` + field + `":` + value + `}]}`, make: maker,
		}
	}
	cases["POST "+agents+" /name"] = lengthCase{path: agents, body: `{"name":VALUE}`}
	cases["PATCH "+one+" /name"] = lengthCase{path: p.at(""), body: `{"name":VALUE}`}
	return cases
}

// rawMembers must list all members with arbitrary JSON: a missing one would be stored with changed numbers.
func TestWholeNumbersAreNormalizedInAllBodiesButRawOnes(t *testing.T) {
	t.Parallel()
	_, free, _ := contractTexts(t)
	for i, at := range free {
		free[i] = at[strings.LastIndexByte(at, ' ')+1:]
	}
	slices.Sort(free)
	if got := slices.Compact(free); !slices.Equal(got, []string{"/answer", "/card"}) {
		t.Errorf("the members with JSON of any form are %q", got)
	}
	for body, want := range map[string]string{
		`{"a":10.0,"b":[1e1,-2.50e1,{"c":0.0}]}`:                 `{"a":10,"b":[10,-25,{"c":0}]}`,
		`{"a": 1.5, "b": 1e400, "c": 12, "d": "10.0"}`:           `{"a": 1.5, "b": 1e400, "c": 12, "d": "10.0"}`,
		`{"card":{"n":1.0,"card":2.0},"answer":[1.0],"x":[3.0]}`: `{"card":{"n":1.0,"card":2.0},"answer":[1.0],"x":[3]}`,
		`{"x":{"card":1.0}} `:                                    `{"x":{"card":1}} `,
	} {
		if got, err := httpapi.NormalJSON([]byte(body)); err != nil || string(got) != want {
			t.Errorf("%s became %s (%v), want %s", body, got, err, want)
		}
	}
}

// Services treat an empty id as absent, so the contract must not allow one.
func TestNoBodyTakesAnEmptyID(t *testing.T) {
	t.Parallel()
	_, _, emptyIDs := contractTexts(t)
	for _, at := range emptyIDs {
		if !strings.HasPrefix(at, "GET ") { // an empty filter is no filter
			t.Errorf("%s has no minLength", at)
		}
	}
}

// Every text of the contract is counted in code points, without leading and trailing white space.
func TestTextLengthsAreCountedInCharacters(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{{"AllTexts", countedTexts}})
}

func countedTexts(t *testing.T, w *testServer) {
	texts, _, _ := contractTexts(t)
	p := w.withPassword(t)
	b := p.signedIn()
	admin := w.user(t, core.PlanOpen)
	w.makeAdmin(t, admin)
	cases := lengthCases(p, b)
	for _, field := range texts {
		c, tested := cases[field.field]
		if why := untestedTexts[field.field]; tested == (why != "") {
			t.Errorf("%s has a length in the contract; add it to lengthCases or untestedTexts", field.field)
		}
		if tested {
			w.testLength(t, field, c, p, b, admin.signedIn())
		}
	}
}

func (w *testServer) testLength(t *testing.T, field boundedText, c lengthCase, p *testUser, b, admin *browser) {
	t.Helper()
	if c.make == nil {
		c.make = func(n int) string { return strings.Repeat("é", n) }
	}
	method, rest, _ := strings.Cut(field.field, " ")
	pointer := rest[strings.LastIndexByte(rest, ' ')+1:]
	send := func(value string) answer {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		path := strings.Replace(c.path, "VALUE", url.QueryEscape(value), 1)
		body := strings.Replace(c.body, "VALUE", string(encoded), 1)
		switch c.as {
		case "session":
			return b.send(method, path, body)
		case "admin":
			return admin.send(method, path, body)
		}
		return p.send(method, path, body)
	}
	padded := func(n int) string { return " \t" + c.make(n) + "\n\u00a0" }
	full := []string{c.make(field.max), padded(field.max)}
	over := []string{c.make(field.max + 1), padded(field.max + 1)}
	if c.verbatim {
		full = []string{c.make(field.max), " " + c.make(field.max-2) + " "}
		over = []string{c.make(field.max + 1), " " + c.make(field.max-1) + " "}
	}
	if field.min > 0 && !c.verbatim {
		over = append(over, "", " \t\n\u00a0")
	}
	want := max(c.status, http.StatusOK)
	if c.refusals {
		full = nil
	}
	for i, value := range full {
		a := send(value)
		if a.status == http.StatusAccepted {
			a.status = http.StatusOK // a turn that takes longer than the wait
		}
		if a.status != want || a.status == http.StatusBadRequest && slices.Contains(a.pointers(), pointer) {
			t.Errorf("%s: text %d of %s characters: %d %s, want %d",
				field.field, i, strconv.Itoa(field.max), a.status, a.body, want)
		}
	}
	for i, value := range over {
		if a := send(value); a.status != http.StatusBadRequest || !slices.Equal(a.pointers(), []string{pointer}) {
			t.Errorf("%s: bad text %d: %d %s, want 400 at %s", field.field, i, a.status, a.body, pointer)
		}
	}
}
