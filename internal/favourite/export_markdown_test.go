package favourite

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	goldtext "github.com/yuin/goldmark/text"
	"golang.org/x/net/html"
)

// rendered is a rendered Markdown export: the text of each entry and its link targets.
type rendered struct {
	entries []string
	links   []string
	kinds   map[ast.NodeKind]int
}

// render renders Markdown with GitHub's extensions, which turn bare URLs into links.
func render(t *testing.T, source string) rendered {
	t.Helper()
	md := goldmark.New(goldmark.WithExtensions(extension.GFM))
	src := []byte(source)
	out := rendered{kinds: map[ast.NodeKind]int{}}
	err := ast.Walk(md.Parser().Parse(goldtext.NewReader(src)),
		func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			out.kinds[n.Kind()]++
			if n.Kind() != ast.KindListItem {
				return ast.WalkContinue, nil
			}
			var page bytes.Buffer
			if err := md.Renderer().Render(&page, src, n); err != nil {
				return ast.WalkStop, err
			}
			entry, links := readHTML(&page)
			out.entries, out.links = append(out.entries, entry), append(out.links, links...)
			return ast.WalkContinue, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// readHTML returns the text of a page without tags, and its link targets.
func readHTML(page io.Reader) (text string, links []string) {
	var out strings.Builder
	z := html.NewTokenizer(page)
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(out.String()), links
		case html.TextToken:
			out.Write(z.Text()) // unescapes entities
		case html.StartTagToken:
			for _, a := range z.Token().Attr {
				if a.Key == "href" {
					links = append(links, a.Val)
				}
			}
		}
	}
}

// checkMarkdown checks that every card renders as one entry with its title and authors unchanged, and that its only
// link is the intended one.
func checkMarkdown(t *testing.T, cards ...Card) {
	t.Helper()
	out := export(t, FormatMarkdown, cards...)
	got := render(t, out)
	if len(got.entries) != len(cards) || got.kinds[ast.KindList] != 1 || got.kinds[ast.KindHeading] != 1 {
		t.Fatalf("%d entries for %d cards, %v\n%s", len(got.entries), len(cards), got.kinds, out)
	}
	want := 0
	for i, c := range cards {
		r := parseReference(c)
		for _, s := range []string{r.title, r.venue, markdownAuthors(r.authors)} {
			if !strings.Contains(got.entries[i], s) {
				t.Errorf("%q is not in %q\n%s", s, got.entries[i], out)
			}
		}
		if r.doi != "" || r.url != "" {
			want++
		}
	}
	if len(got.links) != want {
		t.Errorf("%d links, want %d: %q\n%s", len(got.links), want, got.links, out)
	}
	for _, link := range got.links {
		if l := strings.ToLower(link); !strings.HasPrefix(l, "http://") && !strings.HasPrefix(l, "https://") {
			t.Errorf("a link to %q", link)
		}
	}
	for _, kind := range []ast.NodeKind{
		ast.KindRawHTML, ast.KindHTMLBlock, ast.KindImage, ast.KindCodeSpan,
		ast.KindCodeBlock, ast.KindBlockquote, ast.KindThematicBreak,
	} {
		if got.kinds[kind] != 0 {
			t.Errorf("there is a %s\n%s", kind, out)
		}
	}
	if got.kinds[ast.KindEmphasis] != len(cards) {
		t.Errorf("%d emphases for %d titles\n%s", got.kinds[ast.KindEmphasis], len(cards), out)
	}
}

func TestMarkdownRendersTextUnchanged(t *testing.T) {
	t.Parallel()
	checkMarkdown(t, goldenCards...)
	for _, s := range []string{
		"# x", "- x", "+ x", "1. x", "12) x", "> x", "--- ---", "===", "~~~", "```", "    x", "| a | b |", "**x**",
		"_x_", "<b>x</b>", "<!-- x",
		"&amp; &#35;", "![x](http://evil)", "[x]: http://evil", "http://evil.example/x", "www.evil.example",
		"WWW.evil.example", "a@evil.example",
		"mailto:a@evil.example", "<http://evil.example>", "~~x~~", `\`, `x\`,
		"$x$", "*", "“x”", "- [ ] x", "[^1]", "x  ",
	} {
		checkMarkdown(t, cardOf(t, map[string]any{
			"title": s, "authors": []any{map[string]string{"literal": s}},
			"venue": s,
		}), cardOf(t, map[string]any{"title": s}))
	}
}

func TestMarkdownLinksLeadWhereTheCardSays(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://example.org/a_(b)?x=1&copy;=2&y": "https://example.org/a_%28b%29?x=1&copy;=2&y",
		"https://example.org/*x*_y_`z`":           "https://example.org/*x*_y_%60z%60",
		"https://example.org/\"onclick=":          "https://example.org/%22onclick=",
	} {
		got := render(t, export(t, FormatMarkdown, cardOf(t, map[string]any{"url": in})))
		if len(got.links) != 1 || got.links[0] != want {
			t.Errorf("%s: got %q, want %s", in, got.links, want)
		}
	}
	got := render(t, export(t, FormatMarkdown, cardOf(t, map[string]any{"doi": "10.1002/(SICI)1<6::A>3?#%;2-O"})))
	if want := "https://doi.org/10.1002/%28SICI%291%3C6::A%3E3%3F%23%25;2-O"; len(got.links) != 1 ||
		got.links[0] != want {
		t.Errorf("got %q, want %s", got.links, want)
	}
}

func TestMarkdownNamesTenAuthors(t *testing.T) {
	t.Parallel()
	authors := strings.Repeat("A. Smith;", 11)
	out := export(t, FormatMarkdown, cardOf(t, map[string]any{"authors": authors, "title": "x"}))
	if strings.Count(out, "Smith") != 10 || !strings.Contains(out, "A. Smith et al. (n.d.). *x*.") {
		t.Error(out)
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("*Title*", "1. Author", "# Venue", "https://example.org/(x)")
	f.Add("[a](javascript:b)", "<script>", "\\", "http://x/&amp;")
	f.Add("www.x.org http://x a@b.c", "- ```", "| - |", "javascript:x")
	f.Fuzz(func(t *testing.T, title, author, venue, url string) {
		checkMarkdown(t, cardOf(t, map[string]any{
			"title": title, "authors": []any{map[string]string{"literal": author}}, "venue": venue, "url": url,
		}))
	})
}
