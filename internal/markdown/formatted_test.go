package markdown_test

import (
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"carrel/internal/markdown"
)

func TestFormattedTextKeepsItsFormatting(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"It is **clear** and *so* [1].":          `It is **clear** and *so* \[1\].`,
		"| a | b |\n|---|---|\n| 1 | 2 |":        "| a | b |\n|---|---|\n| 1 | 2 |",
		"```go\nif x {\n\treturn [y](z)\n}\n```": "```go\nif x {\n\treturn [y](z)\n}\n```",
		"- one\n  - two":                         "- one\n  - two",
		"1. a\n   ```\n     x\n   ```":           "1. a\n```\n  x\n```",
		"# Head\n\ntext":                         "### Head\n\ntext",
		"Use `a[0] < b` or ``x`y``.":             "Use `a[0] < b` or ``x`y``.",
		"An open ` mark":                         "An open \\` mark",
		"Costs $5 and $x^2$":                     "Costs $5 and $x^2$",
		"[x](https://evil.test)":                 `\[x\](https\://evil.test)`,
		"![x](https://evil.test)":                `!\[x\](https\://evil.test)`,
		"<b>no</b>":                              `\<b>no\</b>`,
		"You\n---\nAgent\n===\n  ## You":         "You\n***\nAgent\n\n#### You",
		"~~~\nnever closed":                      "~~~\nnever closed\n~~~",
	} {
		if got := markdown.Formatted(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}

// FuzzFormattedTextHasNoLinks renders the text with common extensions.
func FuzzFormattedTextHasNoLinks(f *testing.F) {
	for _, s := range []string{
		"- a\n  ```\n[x](http://e.test)\n  ```", "> ```\n[x](y)", "`` ` ``[x](y)`", "\\`[x](y)`", "[x]: http://e.test\n\n[x]",
		"    ```\n[x](y)\n", "```a`b\n[x](y)\n```", "<http://e.test>", "a@b.test", "www.e.test", "~~~`\n[x](y)", "\t```\n[a](b)",
		"`a\n[x](y)`", "- `a\n- [x](y)`", "|`|[x](y)`|\n|-|-|", "ftp://e.test", "mailto:a@b.test", "| a | b |\n|-|-|\n| `x|y` [a](b) |",
	} {
		f.Add(s)
	}
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
	f.Fuzz(func(t *testing.T, given string) {
		src := []byte(markdown.Formatted(given))
		err := ast.Walk(parser.Parse(text.NewReader(src)), func(n ast.Node, _ bool) (ast.WalkStatus, error) {
			switch n.Kind() {
			case ast.KindLink, ast.KindImage, ast.KindAutoLink, ast.KindRawHTML, ast.KindHTMLBlock:
				t.Errorf("%q contains a %s", src, n.Kind())
			}
			return ast.WalkContinue, nil
		})
		if err != nil {
			t.Error(err)
		}
		if strings.ContainsAny(string(src), "\x00\x1b") {
			t.Errorf("%q contains control characters", src)
		}
	})
}
