package markdown_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"

	"carrel/internal/core"
	"carrel/internal/markdown"
)

// allowed are the node kinds of plain paragraphs.
var allowed = map[ast.NodeKind]bool{ast.KindDocument: true, ast.KindParagraph: true, ast.KindText: true}

// checkPlain fails unless a text renders as the same lines, and only as paragraphs, in a renderer with GitHub's
// extensions and footnotes.
func checkPlain(t *testing.T, in string) {
	t.Helper()
	out := markdown.Paragraphs(in)
	md := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList))
	src := []byte(out)
	err := ast.Walk(md.Parser().Parse(text.NewReader(src)), func(n ast.Node, _ bool) (ast.WalkStatus, error) {
		if !allowed[n.Kind()] {
			t.Errorf("%q becomes a %s in %q", in, n.Kind(), out)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := md.Convert(src, &page); err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.SplitSeq(in, "\n") {
		if line = core.OneLine(line); line != "" {
			want = append(want, line)
		}
	}
	if got := lines(&page); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q reads\n%q\nin %q", in, got, out)
	}
}

// lines returns the rendered lines of a document.
func lines(page *bytes.Buffer) []string {
	var b strings.Builder
	for z := html.NewTokenizer(page); z.Next() != html.ErrorToken; {
		if token := z.Token(); token.Type == html.TextToken {
			b.WriteString(token.Data)
		}
	}
	var out []string
	for line := range strings.SplitSeq(b.String(), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

var texts = []string{
	"", "plain", "two\nlines", "two\n\n\nparagraphs\n", "  indented\n\tby a tab\n    by four",
	"# heading", "title\n===", "title\n---", "- item\n* item\n+ item\n1. item\n2) item", "> quote", "***",
	"```\ncode\n```", "~~~\ncode",
	"*em* **strong** __x__ `code` ~~gone~~ $x$", "[a](javascript:b)", "![i](https://x.org/i.png)",
	"<script>alert(1)</script>", "<!-- x",
	"https://x.org www.x.org a@b.org", "[^1]: note\n\n[^1]", "[a]: https://x.org\n\n[a]", "a | b\n--- | ---\n1 | 2",
	"a | b\n:-- | :--\n1 | 2",
	"&amp; &copy; &#65;", `\`, `a\`, "a\\\nb", "term\n: definition", "- [ ] task", "\u2028\x00\x07", "שלום 🚀", "a  \nb",
	"=", "1986. A great year.",
	"HTTP://X.org ftp://x.org mailto:a@b.c", "\r\nx\r\n",
}

func TestUntrustedTextRendersAsText(t *testing.T) {
	t.Parallel()
	for _, s := range texts {
		checkPlain(t, s)
	}
}

func FuzzParagraphs(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(checkPlain)
}
