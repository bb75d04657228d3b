package api_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"carrel/internal/language"
)

// component returns the target of a reference, or n itself.
func component(doc, n node) node {
	ref := text(n, "$ref")
	if ref == "" {
		return n
	}
	target := doc
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		target = target[part].(node)
	}
	return target
}

// isSchema reports whether the mapping at a location is a schema, and not an example or a map of properties.
func isSchema(at string, n node) bool {
	if strings.Contains(at, "/example") || strings.HasSuffix(at, "/properties") {
		return false
	}
	return n["type"] != nil && (strings.Contains(at, "/schema") || strings.Contains(at, "/x-events/"))
}

// Generators of SDKs invent a name for every inline object, and a type for every copy of an enum.
func TestObjectsAndRepeatedEnumsAreNamed(t *testing.T) {
	t.Parallel()
	doc := document(t)
	enums := map[string]string{}
	walk(doc, "#", func(at string, n node) {
		if !isSchema(at, n) {
			return
		}
		if n["type"] == "object" && strings.Count(strings.TrimPrefix(at, "#/components/schemas/"), "/") > 0 {
			t.Errorf("%s is an inline object: give it a name", at)
		}
		if n["enum"] == nil {
			return
		}
		values := fmt.Sprint(n["enum"])
		if other := enums[values]; other != "" {
			t.Errorf("%s and %s are the same enum: give it a name", at, other)
		}
		enums[values] = at
	})
	for _, name := range []string{"Import", "File", "Object", "String", "Number", "Error", "Map", "Set", "Date"} {
		if _, taken := doc["components"].(node)["schemas"].(node)[name]; taken {
			t.Errorf("the schema %s has a name that SDKs use otherwise", name)
		}
	}
}

// amounts are the words that end the names of sizes, counts and amounts of money, which can exceed 31 bits.
var amounts = []string{
	"Micros", "Bytes", "bytes", "size", "documents", "indexed", "favourites", "Tokens", "total", "searches", "calls",
	"Length", "Offset", "iat", "exp",
}

func TestIntegersDeclareTheirWidth(t *testing.T) {
	t.Parallel()
	seen := 0
	walk(document(t), "#", func(at string, n node) {
		types, _ := n["type"].([]any)
		if !isSchema(at, n) || n["type"] != "integer" && !slices.Contains(types, any("integer")) {
			return
		}
		seen++
		name := at[strings.LastIndexByte(strings.TrimSuffix(at, "/schema"), '/')+1:]
		isAmount := slices.ContainsFunc(amounts, func(word string) bool {
			return strings.HasSuffix(strings.TrimSuffix(name, "/schema"), word)
		})
		switch format := n["format"]; {
		case format != "int32" && format != "int64":
			t.Errorf("%s is an integer without a width", at)
		case isAmount && format != "int64":
			t.Errorf("%s can exceed 31 bits: declare it as int64", at)
		}
	})
	if seen < 50 {
		t.Errorf("only %d integers found", seen)
	}
}

func TestOperationsAreDescribedWithExamples(t *testing.T) {
	t.Parallel()
	doc := document(t)
	needsExample := func(route, where string, content any) {
		list, _ := content.(node)
		for media, m := range list {
			schema := component(doc, m.(node)["schema"].(node))
			if schema["format"] == "binary" || media == "multipart/form-data" {
				continue
			}
			if m.(node)["example"] == nil && m.(node)["examples"] == nil {
				t.Errorf("%s: the %s (%s) has no example", route, where, media)
			}
		}
	}
	operations(t, doc, func(route string, op node) {
		if text(op, "description") == "" {
			t.Errorf("%s has no description", route)
		}
		if body, ok := op["requestBody"].(node); ok {
			needsExample(route, "request", body["content"])
		}
		for status, r := range op["responses"].(node) {
			reply := component(doc, r.(node))
			needsExample(route, "reply "+status, reply["content"])
			headers, _ := reply["headers"].(node)
			for _, name := range []string{"X-Request-Id", "RateLimit", "RateLimit-Policy"} {
				if headers[name] == nil {
					t.Errorf("%s: %s does not list %s", route, status, name)
				}
			}
		}
	})
}

// TestScopesAreDeclared checks the names of credentials and the scopes of OAuth. internal/core/gen compares the scopes
// of an operation with its traits.
func TestScopesAreDeclared(t *testing.T) {
	t.Parallel()
	doc := document(t)
	schemes := doc["components"].(node)["securitySchemes"].(node)
	flow := schemes["oauth2"].(node)["flows"].(node)["authorizationCode"].(node)
	for _, name := range []string{"authorizationUrl", "tokenUrl", "refreshUrl"} {
		u, err := url.Parse(text(flow, name))
		if err != nil || doc["paths"].(node)[u.Path] == nil {
			t.Errorf("%s is %q, which is no path of the document", name, text(flow, name))
		}
	}
	used := map[string]bool{"profile": true, "email": true, "offline_access": true} // they add claims and a refresh token
	operations(t, doc, func(route string, op node) {
		list, _ := op["security"].([]any)
		if op["security"] == nil {
			t.Errorf("%s does not declare its credentials", route)
		}
		for _, alternative := range list {
			for name, scopes := range alternative.(node) {
				if schemes[name] == nil {
					t.Errorf("%s: there is no credential %s", route, name)
				}
				if name != "oauth2" {
					continue
				}
				for _, scope := range scopes.([]any) {
					used[scope.(string)] = true
				}
			}
		}
	})
	declared := slices.Sorted(maps.Keys(flow["scopes"].(node)))
	if got := slices.Sorted(maps.Keys(used)); !slices.Equal(got, declared) {
		t.Errorf("the operations need the scopes %v, declared are %v", got, declared)
	}
}

func TestLanguagesOfTheDocumentAreTheKnownOnes(t *testing.T) {
	t.Parallel()
	var got []string
	for _, code := range document(t)["components"].(node)["schemas"].(node)["DocumentLanguage"].(node)["enum"].([]any) {
		got = append(got, code.(string))
	}
	if want := append([]string{""}, language.Codes()...); !slices.Equal(got, want) {
		t.Errorf("the schema DocumentLanguage lists %q, known are %q", got, want)
	}
}
