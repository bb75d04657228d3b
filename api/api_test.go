package api_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"carrel/api"
	"carrel/internal/testkit/contract"
)

// node is a mapping of the document.
type node = map[string]any

func document(t *testing.T) node {
	t.Helper()
	var doc node
	if err := yaml.Unmarshal(api.Document, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// walk visits every mapping of the document with its JSON pointer.
func walk(v any, at string, visit func(at string, n node)) {
	switch v := v.(type) {
	case node:
		visit(at, v)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			walk(v[key], at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), visit)
		}
	case []any:
		for i, item := range v {
			walk(item, at+"/"+strconv.Itoa(i), visit)
		}
	}
}

// operations calls visit for every operation.
func operations(t *testing.T, doc node, visit func(route string, op node)) {
	t.Helper()
	seen := 0
	for path, item := range doc["paths"].(node) {
		for method, op := range item.(node) {
			if method != "parameters" {
				visit(strings.ToUpper(method)+" "+path, op.(node))
				seen++
			}
		}
	}
	if seen < 20 {
		t.Fatalf("only %d operations found", seen)
	}
}

func text(n node, key string) string {
	s, _ := n[key].(string)
	return s
}

// rule lists the fields of an OpenAPI 3.1.0 object with the kind of each value: [kind] is a list, {kind} a map, and "-"
// a scalar or a value that another test checks.
type rule struct {
	required []string
	fields   map[string]string
}

// rules are the objects of section 4.8 of the OpenAPI specification that the document uses.
var rules = map[string]rule{
	"openapi": {[]string{"openapi", "info", "paths"}, map[string]string{
		"openapi": "-", "info": "info", "servers": "[server]", "tags": "[tag]", "security": "-", "paths": "{path}",
		"webhooks": "{path}", "components": "components",
	}},
	"info": {[]string{"title", "version"}, map[string]string{
		"title": "-", "version": "-", "summary": "-", "description": "-", "license": "license",
	}},
	"license": {[]string{"name"}, map[string]string{"name": "-", "identifier": "-", "url": "-"}},
	"server":  {[]string{"url"}, map[string]string{"url": "-", "description": "-"}},
	"tag":     {[]string{"name"}, map[string]string{"name": "-", "description": "-"}},
	"path": {nil, map[string]string{
		"parameters": "[parameter]", "get": "operation", "put": "operation", "post": "operation", "patch": "operation",
		"delete": "operation",
	}},
	"operation": {[]string{"responses"}, map[string]string{
		"operationId": "-", "tags": "-", "summary": "-", "description": "-", "deprecated": "-", "security": "-",
		"parameters": "[parameter]", "requestBody": "body", "responses": "{response}", "x-carrel": "-",
		"x-deprecated-since": "-", "x-sunset": "-",
	}},
	"parameter": {[]string{"name", "in", "schema"}, map[string]string{
		"name": "-", "in": "-", "required": "-", "deprecated": "-", "description": "-", "schema": "-", "example": "-",
	}},
	"header": {[]string{"schema"}, map[string]string{
		"description": "-", "required": "-", "deprecated": "-", "schema": "-", "example": "-",
	}},
	"body": {[]string{"content"}, map[string]string{"required": "-", "description": "-", "content": "{media}"}},
	"response": {[]string{"description"}, map[string]string{
		"description": "-", "headers": "{header}", "content": "{media}",
	}},
	"media":   {nil, map[string]string{"schema": "-", "example": "-", "examples": "{example}", "x-events": "-"}},
	"example": {[]string{"value"}, map[string]string{"summary": "-", "description": "-", "value": "-"}},
	"components": {nil, map[string]string{
		"schemas": "-", "responses": "{response}", "parameters": "{parameter}", "headers": "{header}",
		"securitySchemes": "{scheme}", "examples": "{example}",
	}},
	"scheme": {[]string{"type"}, map[string]string{
		"type": "-", "scheme": "-", "in": "-", "name": "-", "description": "-", "flows": "flows", "openIdConnectUrl": "-",
	}},
	"flows": {nil, map[string]string{"authorizationCode": "flow"}},
	"flow": {[]string{"authorizationUrl", "tokenUrl", "scopes"}, map[string]string{
		"authorizationUrl": "-", "tokenUrl": "-", "refreshUrl": "-", "scopes": "-",
	}},
}

func checkKind(t *testing.T, kind, at string, v any) {
	t.Helper()
	switch {
	case kind == "-":
	case kind[0] == '[':
		list, ok := v.([]any)
		if !ok {
			t.Errorf("%s is not a list", at)
		}
		for i, item := range list {
			checkKind(t, kind[1:len(kind)-1], fmt.Sprintf("%s/%d", at, i), item)
		}
	case kind[0] == '{':
		m, ok := v.(node)
		if !ok {
			t.Errorf("%s is not a mapping", at)
		}
		for key, item := range m {
			checkKind(t, kind[1:len(kind)-1], at+"/"+key, item)
		}
	default:
		n, ok := v.(node)
		if !ok {
			t.Errorf("%s is not a mapping", at)
		}
		if _, reference := n["$ref"]; reference {
			if len(n) != 1 {
				t.Errorf("%s: $ref has sibling fields", at)
			}
			return
		}
		r := rules[kind]
		for _, name := range r.required {
			if _, found := n[name]; !found {
				t.Errorf("%s: %s is missing", at, name)
			}
		}
		for name, item := range n {
			inner, known := r.fields[name]
			if !known {
				t.Errorf("%s: unknown field %s", at, name)
				continue
			}
			checkKind(t, inner, at+"/"+name, item)
		}
	}
}

func TestDocumentIsValidOpenAPI(t *testing.T) {
	t.Parallel()
	doc := document(t)
	checkKind(t, "openapi", "#", doc)
	if got := text(doc, "openapi"); got != "3.1.0" {
		t.Errorf("openapi is %q", got)
	}
	if got := text(doc["info"].(node), "version"); got != "0.1.0" {
		t.Errorf("info.version is %q", got)
	}
	// New fails for keywords that the checker does not support.
	contract.New(t, api.Document)
}

func TestEveryOperationHasAnIDTagAndSummary(t *testing.T) {
	t.Parallel()
	doc := document(t)
	tags := map[any]bool{}
	for _, tag := range doc["tags"].([]any) {
		tags[tag.(node)["name"]] = true
	}
	used, ids := map[any]bool{}, map[string]string{}
	operations(t, doc, func(route string, op node) {
		id := text(op, "operationId")
		if id == "" || ids[id] != "" {
			t.Errorf("%s: the operationId %q is missing or used by %s", route, id, ids[id])
		}
		ids[id] = route
		list, _ := op["tags"].([]any)
		if len(list) != 1 || !tags[list[0]] {
			t.Errorf("%s: has the tags %v, want one declared tag", route, list)
		} else {
			used[list[0]] = true
		}
		if summary := text(op, "summary"); summary == "" || strings.HasSuffix(summary, ".") {
			t.Errorf("%s: the summary %q is missing or ends with a full stop", route, summary)
		}
	})
	for tag := range tags {
		if !used[tag] {
			t.Errorf("the tag %v has no operation", tag)
		}
	}
}

func TestPathParametersAreDeclared(t *testing.T) {
	t.Parallel()
	doc := document(t)
	parameters := doc["components"].(node)["parameters"].(node)
	inPath := regexp.MustCompile(`\{(\w+)\}`)
	for path, item := range doc["paths"].(node) {
		var want, got []string
		for _, m := range inPath.FindAllStringSubmatch(path, -1) {
			want = append(want, m[1])
		}
		list, _ := item.(node)["parameters"].([]any)
		for _, p := range list {
			parameter := p.(node)
			if ref := text(parameter, "$ref"); ref != "" {
				parameter = parameters[ref[strings.LastIndexByte(ref, '/')+1:]].(node)
			}
			if text(parameter, "in") == "path" && parameter["required"] == true {
				got = append(got, text(parameter, "name"))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: declares %v", path, got)
		}
	}
}

// requiredHeaders are the headers that every reply with a status has.
var requiredHeaders = map[string]string{"401": "WWW-Authenticate", "429": "Retry-After", "503": "Retry-After"}

func TestRepliesDeclareTheirHeaders(t *testing.T) {
	t.Parallel()
	doc := document(t)
	responses := doc["components"].(node)["responses"].(node)
	operations(t, doc, func(route string, op node) {
		replies := op["responses"].(node)
		_, conditional := replies["304"]
		for status, r := range replies {
			reply := r.(node)
			if ref := text(reply, "$ref"); ref != "" {
				reply = responses[ref[strings.LastIndexByte(ref, '/')+1:]].(node)
			}
			headers, _ := reply["headers"].(node)
			want := requiredHeaders[status]
			if status == "200" && conditional {
				want = "ETag"
			}
			if _, found := headers[want]; want != "" && !found {
				t.Errorf("%s: %s does not list %s", route, status, want)
			}
			content, _ := reply["content"].(node)
			_, problem := content["application/problem+json"]
			if strings.Contains(route, " /api/auth/mcp/") && status != "429" {
				problem = problem || status >= "400" // errors of RFC 6749, or pages
			}
			if problem != (status >= "400") {
				t.Errorf("%s: %s is a problem: %t", route, status, problem)
			}
		}
	})
}

// A reply with a deprecated field says when the field ends, and other replies do not.
func TestDeprecatedFieldsHaveAnEnd(t *testing.T) {
	t.Parallel()
	doc := document(t)
	schemas := doc["components"].(node)["schemas"].(node)
	var deprecated func(schema node, depth int) bool
	deprecated = func(schema node, depth int) bool {
		if ref := text(schema, "$ref"); ref != "" {
			schema = schemas[ref[strings.LastIndexByte(ref, '/')+1:]].(node)
		}
		if schema["deprecated"] == true {
			return true
		}
		properties, _ := schema["properties"].(node)
		for _, p := range properties {
			if depth > 0 && deprecated(p.(node), depth-1) {
				return true
			}
		}
		return false
	}
	operations(t, doc, func(route string, op node) {
		replies := op["responses"].(node)
		ok, _ := replies["200"].(node)
		content, _ := ok["content"].(node)
		media, _ := content["application/json"].(node)
		schema, _ := media["schema"].(node)
		want := op["deprecated"] == true || deprecated(schema, 2)
		if got := text(op, "x-deprecated-since") != "" && text(op, "x-sunset") != ""; got != want {
			t.Errorf("%s: has the dates of a deprecation: %t, want %t", route, got, want)
		}
	})
}

func TestReferencesResolveAndComponentsAreUsed(t *testing.T) {
	t.Parallel()
	doc := document(t)
	used := map[string]bool{}
	walk(doc, "#", func(at string, n node) {
		ref := text(n, "$ref")
		if ref == "" {
			return
		}
		used[ref] = true
		target := any(doc)
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			m, _ := target.(node)
			target = m[part]
		}
		if target == nil {
			t.Errorf("%s: %s does not resolve", at, ref)
		}
	})
	for kind, components := range doc["components"].(node) {
		if kind == "securitySchemes" {
			continue
		}
		for name := range components.(node) {
			if ref := "#/components/" + kind + "/" + name; !used[ref] {
				t.Errorf("%s is not used", ref)
			}
		}
	}
}

// Every field needs a description or an example, here or in another schema with a field of the same name. Durations
// such as tookMs need none.
func TestEveryFieldIsDocumented(t *testing.T) {
	t.Parallel()
	schemas := document(t)["components"].(node)["schemas"].(node)
	explains := func(p node) bool {
		for _, key := range []string{"description", "example", "$ref", "enum", "const"} {
			if _, found := p[key]; found {
				return true
			}
		}
		items, _ := p["items"].(node)
		return text(items, "$ref") != "" || items["const"] != nil
	}
	properties := func(visit func(schema, name string, p node)) {
		for schema, s := range schemas {
			list, _ := s.(node)["properties"].(node)
			for name, p := range list {
				visit(schema, name, p.(node))
			}
		}
	}
	known := map[string]bool{}
	properties(func(_, name string, p node) { known[name] = known[name] || explains(p) })
	properties(func(schema, name string, p node) {
		if !explains(p) && !known[name] && !strings.HasSuffix(name, "Ms") {
			t.Errorf("%s.%s has neither an example nor a description", schema, name)
		}
	})
}

func TestEveryProblemCodeIsDocumented(t *testing.T) {
	t.Parallel()
	doc := document(t)
	problem := doc["components"].(node)["schemas"].(node)["Problem"].(node)
	var listed, explained []string
	for _, code := range problem["properties"].(node)["code"].(node)["enum"].([]any) {
		listed = append(listed, code.(string))
	}
	statuses := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| (\\d{3}) \\| `([a-z_]+)` \\| .+\\. \\|$").FindAllStringSubmatch(
		text(problem, "description"), -1,
	) {
		explained = append(explained, m[2])
		statuses[m[2]] = m[1]
	}
	if !slices.Equal(listed, explained) {
		t.Errorf("the codes are\n%v\nand the rows of the table\n%v", listed, explained)
	}

	// The description of a reply names its codes, which must have the status of the reply.
	responses := doc["components"].(node)["responses"].(node)
	named := map[string]bool{"method_not_allowed": true} // possible on every path; see info.description
	operations(t, doc, func(route string, op node) {
		for status, r := range op["responses"].(node) {
			ref := text(r.(node), "$ref")
			reply, _ := responses[ref[strings.LastIndexByte(ref, '/')+1:]].(node)
			for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(text(reply, "description"), -1) {
				want, isCode := statuses[m[1]]
				if isCode && want != status {
					t.Errorf("%s: %s names %s, which is %s", route, status, m[1], want)
				}
				named[m[1]] = true
			}
		}
	})
	for _, code := range listed {
		if !named[code] {
			t.Errorf("no reply names %s", code)
		}
	}
}

// TestExamplesMatchTheirSchemas also checks that every schema is valid JSON Schema (2020-12).
func TestExamplesMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	const address = "carrel://openapi.json"
	doc := document(t)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(address, jsonTypes(doc)); err != nil {
		t.Fatal(err)
	}
	examples := 0
	check := func(at, schemaAt string, example any) {
		schema, err := compiler.Compile(address + schemaAt)
		if err != nil {
			t.Errorf("%s: %v", schemaAt, err)
			return
		}
		examples++
		if err := schema.Validate(jsonTypes(example)); err != nil {
			t.Errorf("%s: the example does not match: %v", at, err)
		}
	}
	named := doc["components"].(node)["examples"].(node)
	walk(doc, "#", func(at string, n node) {
		if strings.HasPrefix(at, "#/components/examples/") {
			return // checked where they are used
		}
		list, _ := n["examples"].(node)
		if n["schema"] == nil {
			list = nil // a property, or the map of named examples
		}
		for _, e := range list {
			ref := text(e.(node), "$ref")
			check(ref, at+"/schema", named[ref[strings.LastIndexByte(ref, '/')+1:]].(node)["value"])
		}
		switch example, found := n["example"]; {
		case !found:
		case n["schema"] != nil:
			check(at, at+"/schema", example)
		default:
			check(at, at, example)
		}
	})
	for name := range doc["components"].(node)["schemas"].(node) {
		if _, err := compiler.Compile(address + "#/components/schemas/" + name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if examples < 50 {
		t.Errorf("only %d examples found", examples)
	}
}

// jsonTypes converts YAML values to the types of encoding/json, which the validator expects.
func jsonTypes(v any) any {
	switch v := v.(type) {
	case node:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = jsonTypes(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = jsonTypes(item)
		}
		return out
	case int:
		return float64(v)
	}
	return v
}
