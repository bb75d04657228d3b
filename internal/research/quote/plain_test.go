package quote

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

const goodURL = "https://example.org/paper?id=1"

func TestPlainKeepsTextAndRemovesLinks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ markdown, want string }{
		{"Plain *text* with **marks** [1][2] and [1, 3].", "Plain *text* with **marks** [1][2] and [1, 3]."},
		{"See [the paper](https://example.org/paper?id=1).", "See [the paper](https://example.org/paper?id=1)."},
		{"See [the paper](https://evil.test/x).", "See the paper."},
		{`See [the paper](https://evil.test/x "a (title)") now.`, "See the paper now."},
		{"See [the paper](<https://evil.test/x y>) now.", "See the paper now."},
		{"See [a (b)](https://evil.test/(x)) now.", "See a (b) now."},
		{"![a picture](https://example.org/paper?id=1) here", "a picture here"},
		{"![pixel](https://evil.test/p.png?q=secret)", "pixel"},
		{"[![alt](https://evil.test/i)](https://example.org/paper?id=1)", "alt"},
		{"[![alt](https://evil.test/i)](https://evil.test/)", "alt"},
		{"[text][ref]\n\n[ref]: https://evil.test/", "text\n\n[ref] : (link removed)"},
		{"It is so [1].\n\n[1]: https://evil.test/", "It is so [1].\n\n[1] : (link removed)"},
		{"It is so![1][2]", "It is so![1][2]"},
		{"[words][1]", "words[1]"},
		{"Bare https://evil.test/x, and www.evil.test.", "Bare (link removed), and (link removed)."},
		{"Bare https://example.org/paper?id=1.", "Bare https://example.org/paper?id=1."},
		{"<https://evil.test/> and <https://example.org/paper?id=1>", "(link removed) and <https://example.org/paper?id=1>"},
		{"https&#58;//evil.test and https\\://evil.test", "(link removed) and (link removed)"},
		{"A <b>bold</b> word<br/><!-- secret --><img src=x onerror=alert(1)>", "A bold word"},
		{"<script>alert('x')</script>rest", "rest"},
		{"<scr<b>ipt>alert(1)</scr</b>ipt>", "\\<script>alert(1)\\</script>"},
		{"1 < 2 and 3 > 2, x <3", "1 < 2 and 3 > 2, x \\<3"},
		{"Use `<div>` and `[a](b)` in code", "Use `<div>` and `[a](b)` in code"},
		{"A stray ` and `<div>`", "A stray ` and ``"},
		{"[x]![](e)(https://evil.test)", "x)"},
		{"javascript: [x](javascript:alert(1))", "javascript: x"},
		{"", ""},
		{"[", "["},
		{"![", "!["},
		{"[]", "[]"},
		{"<", "<"},
		{"\\", "\\"},
		{"&", "&"},
		{"[a](", "[a] ("},
	} {
		got := Plain(test.markdown, []string{goodURL})
		if got != test.want {
			t.Errorf("Plain(%q) is %q, want %q", test.markdown, got, test.want)
		}
		checkPlain(t, test.markdown, got)
	}
}

func TestPlainStaysFastOnHostileTexts(t *testing.T) {
	t.Parallel()
	for _, part := range []string{
		"[", "![", "<a ", "[a](", "<!--", "`", "\\", "<script>", "[x]![](e)", "&#58;", "](", "<<b>",
	} {
		hostile := strings.Repeat(part, 20000)
		checkPlain(t, part, Plain(strings.Repeat(part, 50), nil))
		began := time.Now()
		if Plain(hostile, nil); time.Since(began) > 5*time.Second {
			t.Errorf("%d times %q take %v", 20000, part, time.Since(began))
		}
	}
}

func FuzzPlainLeavesNothingThatLeadsElsewhere(f *testing.F) {
	for _, seed := range []string{
		"[a](b) ![c](d) <e> https://f.test <http://g.test> `<h>` [i][j]\n[j]: k",
		"`` ` `` <img src=x> ` ", "\\`x`\n`<img>`", "foo ` bar\nbaz `<img src=x>` qux", "| `x | <img src=e> | y` |\n|-|-|-|",
		"[a `]` b](evil) ``", "<div\n`<img>`", "[a\n](b)", "![a][b]\n\n[b]:\nhttp://x.test", "www.a.test ftp://b.test " +
			"MAILTO:c@d.test",
		"[x](<y>) [x](y 'z') [x]( y )", "<a href=\"`\">`<b>`", "[https://a.test](https://example.org/paper?id=1)",
		"http://\x00a", "[^1]: x\n[^1]",
		"~~~\n<b>\n~~~", "- [a]: http://b.test\n> [c]: <d>", "&#x68;ttp://a.test", "[a]\\(b) \\[a](b) [a\\](b)",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, markdown string) {
		checkPlain(t, markdown, Plain(markdown, []string{goodURL}))
	})
}

// checkPlain parses a text as Markdown and fails if it contains a link or image.
func checkPlain(t *testing.T, markdown, plain string) {
	t.Helper()
	reader := goldmark.New(
		goldmark.WithExtensions(extension.GFM, extension.Footnote), goldmark.WithParserOptions(parser.WithAttribute()),
	)
	source := []byte(plain)
	document := reader.Parser().Parse(text.NewReader(source))
	err := ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.Image, *ast.RawHTML, *ast.HTMLBlock:
			t.Fatalf("Plain(%q) is %q: it holds %s", markdown, plain, node.Kind())
		case *ast.Link:
			if string(n.Destination) != goodURL {
				t.Fatalf("Plain(%q) is %q: it links to %q", markdown, plain, n.Destination)
			}
		case *ast.AutoLink:
			if url := string(n.URL(source)); n.AutoLinkType == ast.AutoLinkURL && !slices.Contains([]string{goodURL}, url) {
				t.Fatalf("Plain(%q) is %q: it links to %q", markdown, plain, url)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
