package markdown_test

import (
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"carrel/internal/markdown"
)

// A link is one link to its address, whatever its text and address contain.
func TestLinksLeadToTheirAddressOnly(t *testing.T) {
	t.Parallel()
	for _, title := range []string{
		"Title", "A [bracket] (and) more", "![x](https://evil.test)", "`code`", "a]b", `back\slash`, "*",
	} {
		for address, want := range map[string]string{
			"https://example.org/a":             "https://example.org/a",
			"https://example.org/a(b)c":         "https://example.org/a%28b%29c",
			"https://example.org/?a=1&copy;=2":  "https://example.org/?a=1&copy;=2",
			"https://example.org/?a=1&b=2#frag": "https://example.org/?a=1&b=2#frag",
			"https://example.org/%5Bx%5D":       "https://example.org/%5Bx%5D",
		} {
			src := []byte(markdown.Link(title, address))
			var links, images []string
			tree := goldmark.DefaultParser().Parse(text.NewReader(src))
			err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
				switch n := n.(type) {
				case *ast.Link:
					if entering {
						links = append(links, string(n.Destination))
					}
				case *ast.Image:
					images = append(images, string(n.Destination))
				}
				return ast.WalkContinue, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(links) != 1 || len(images) != 0 || unescaped(links[0]) != want {
				t.Errorf("%s: links %q, images %q, want %s", src, links, images, want)
			}
		}
	}
}

// unescaped decodes the entity that Link writes for an ampersand.
func unescaped(address string) string {
	const amp = "&amp;"
	for i := 0; i+len(amp) <= len(address); i++ {
		if address[i:i+len(amp)] == amp {
			address = address[:i+1] + address[i+len(amp):]
		}
	}
	return address
}

func TestItemsAreNumbered(t *testing.T) {
	t.Parallel()
	if got := markdown.Item(1, "one") + markdown.Item(12, "twelve"); got != "1. one\n12. twelve\n" {
		t.Errorf("got %q", got)
	}
}

func TestMarksAtTheStartOfALineAreEscaped(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"# x": `\# x`, "- x": `\- x`, "+ x": `\+ x`, "= x": `\= x`, "> x": `\> x`, ": x": `\: x`, "| x": `\| x`,
		"1. x": `1\. x`, "12) x": `12\) x`, "1": "1", "1x": "1x", "1.5": `1\.5`, "x - y": "x - y", "": "",
	} {
		if got := markdown.Start(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}
