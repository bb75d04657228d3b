package research_test

import (
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"carrel/internal/research"
	"carrel/internal/source"
)

// footnotes parses Markdown and returns the number of references and notes, and the markup inside of the notes that
// source text must not form.
func footnotes(t *testing.T, markdown string) (references, notes int, markup []string) {
	t.Helper()
	tree := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser().
		Parse(text.NewReader([]byte(markdown)))
	inside := false
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n.(type) {
		case *extensionast.FootnoteLink:
			if entering {
				references++
			}
		case *extensionast.Footnote:
			if inside = entering; entering {
				notes++
			}
		case *ast.Link, *ast.AutoLink, *ast.Image, *ast.RawHTML, *ast.HTMLBlock, *ast.Heading, *ast.CodeSpan,
			*ast.FencedCodeBlock, *ast.CodeBlock:
			if inside && entering {
				markup = append(markup, n.Kind().String())
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return references, notes, markup
}

func TestAnnotatedMarkdownKeepsTheTextAndEscapesTheSources(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t)
	w.put(w.source, source.Document{
		Title: "# [Bridges](https://evil.test) <b>![x](https://evil.test/x)",
		Text: "Intro.\fThe iron bridge was opened in 1781, see https://evil.test and [click](https://evil.test) " +
			"![img](https://evil.test/i) <script>alert(1)</script> `code`.",
		Year: 2001,
	})
	const draft = "# A *draft*\n\nThe iron bridge was opened in 1999. Bees dance[^1] on " +
		"[flowers](https://mine.test).\n\nHello!\n\n[^1]: mine\n"
	got := w.check(research.Draft{Text: draft, Markdown: true})
	rest := got.Markdown
	for _, part := range strings.SplitAfter(draft, ".") {
		before, after, ok := strings.Cut(rest, strings.TrimRight(part, "\n"))
		if !ok || before != "" && !strings.HasPrefix(before, "[^check-") {
			t.Fatalf("%q is not kept in:\n%s", part, got.Markdown)
		}
		rest = after
	}
	references, notes, markup := footnotes(t, got.Markdown)
	if references != 3 || notes != 3 || len(markup) > 0 { // with the note of the draft
		t.Errorf("%d references, %d notes, markup %q in:\n%s", references, notes, markup, got.Markdown)
	}
	for _, want := range []string{
		"[^check-1]: **contradicted** (rules): ", "[^check-2]: **uncited**\n", " (2001), p. 2\n",
		"    - contradicts: “The iron bridge was opened in 1781",
	} {
		if !strings.Contains(got.Markdown, want) {
			t.Errorf("%q is not in:\n%s", want, got.Markdown)
		}
	}
}

func TestAnnotatedMarkdownDoesNotReuseTheNotesOfTheText(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t)
	first := w.check(research.Draft{Text: "Bees dance on flowers.", Markdown: true}).Markdown
	again := w.check(research.Draft{Text: first, Markdown: true}).Markdown
	if !strings.HasPrefix(again, "Bees dance on flowers.[^check-1][^xcheck-1]") &&
		!strings.HasPrefix(again, "Bees dance on flowers.[^xcheck-1]") || strings.Count(again, "[^check-1]:") != 1 {
		t.Errorf("annotated twice:\n%s", again)
	}
}
