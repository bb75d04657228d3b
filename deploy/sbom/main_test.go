package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestComponentsOfABinary lists the test binary itself, which is a Go binary like any other.
func TestComponentsOfABinary(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run([]string{self, "1.2.3", "../../web"}, &out); err != nil {
		t.Fatal(err)
	}
	var got bom
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if c := got.Metadata.Component; c.PURL != "pkg:generic/carrel@1.2.3" || got.BOMFormat != "CycloneDX" {
		t.Errorf("the application is %+v", c)
	}
	refs := map[string]bool{}
	for _, c := range got.Components {
		if refs[c.Ref] || c.Version == "" {
			t.Errorf("%q is listed twice or has no version", c.Ref)
		}
		refs[c.Ref] = true
		if strings.HasPrefix(c.PURL, "pkg:npm/") && (len(c.Hashes) != 1 || len(c.Hashes[0].Content) != 128) {
			t.Errorf("%s has no SHA-512", c.Name)
		}
	}
	for _, prefix := range []string{
		"pkg:golang/stdlib@1.", "pkg:npm/svelte@", "pkg:npm/katex@", "pkg:npm/pdfjs-dist@", "pkg:npm/%40lucide/svelte@",
	} {
		if !strings.Contains(out.String(), `"`+prefix) {
			t.Errorf("%s is not listed", prefix)
		}
	}
	for _, tool := range []string{"eslint", "vite", "typescript", "vitest"} {
		if strings.Contains(out.String(), "pkg:npm/"+tool+"@") {
			t.Errorf("%s is a tool of the build and not part of the app", tool)
		}
	}
}

func TestFilesThatAreNoBinariesAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"main.go", "1", "../../web"}, {"main.go"}} {
		if err := run(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
