package format

import (
	"bufio"
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	render "github.com/yuin/goldmark/renderer/html"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// parseMarkdown reads a Markdown file.
func parseMarkdown(b *budget.Budget, name string, data []byte) (source.Document, error) {
	b.Work(workText * len(data))
	b.Hold(2 * len(data)) // the text, with and without embedded images
	content, err := decodeText(data)
	if err != nil {
		return source.Document{}, err
	}
	fm, body := cutFrontMatter(content)
	body = dropEmbedded(body)
	d := fm.document()
	tree, read := markdownTree(b, []byte(body), maxWork)
	if !read {
		// The text exceeds the parser's work limit and is stored with its markup.
		d.Text = strings.TrimSpace(body)
		d.Title = firstOf(d.Title, titleLine(strings.TrimLeft(d.Text, "# ")), stem(name))
		return d, nil
	}
	d.Text = markdownText(b, tree, []byte(body))
	if d.Title == "" {
		if h := firstHeading(tree); h != nil {
			d.Title = oneLine(markdownText(b, h, []byte(body)))
		}
	}
	d.Title = firstOf(d.Title, stem(name))
	return d, nil
}

// dropEmbedded removes data URLs of images, which can be most of a file and contain no text.
func dropEmbedded(s string) string {
	const mark = ";base64,"
	if !strings.Contains(s, mark) {
		return s
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, mark)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(mark)
		s = strings.TrimLeft(after, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
	}
}

// firstHeading returns the first heading outside quotations and lists.
func firstHeading(tree ast.Node) ast.Node {
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHeading && n.HasChildren() {
			return n
		}
	}
	return nil
}

// markdownText returns the plain text of a node and its descendants.
func markdownText(b *budget.Budget, top ast.Node, content []byte) string {
	w := markdownWriter{b: b, content: content}
	walk(top, w.visit)
	return w.flow.String()
}

// walk visits a node and its descendants, on entering and on leaving. It is iterative, because nesting may exceed a
// safe stack depth.
func walk(top ast.Node, visit func(n ast.Node, entering bool)) {
	for n, entering := top, true; ; {
		visit(n, entering)
		switch {
		case entering && n.FirstChild() != nil:
			n = n.FirstChild()
		case entering:
			entering = false
		case n == top:
			return
		case n.NextSibling() != nil:
			n, entering = n.NextSibling(), true
		default:
			n = n.Parent()
		}
	}
}

// markdownWriter collects the text of visited nodes.
type markdownWriter struct {
	b       *budget.Budget
	content []byte
	flow    flow
}

func (w *markdownWriter) visit(n ast.Node, entering bool) {
	w.b.Work(workNode)
	switch n.Kind() {
	case ast.KindList:
		if n.Parent().Kind() == ast.KindListItem {
			w.flow.want(gapLine)
			break
		}
		w.flow.want(gapParagraph)
	case ast.KindParagraph, ast.KindHeading, ast.KindBlockquote, ast.KindThematicBreak, extast.KindTable:
		w.flow.want(gapParagraph)
	case ast.KindTextBlock, ast.KindListItem, extast.KindTableRow, extast.KindTableHeader:
		w.flow.want(gapLine)
	case extast.KindTableCell:
		w.flow.want(gapCell)
	}
	if !entering {
		return
	}
	switch n := n.(type) {
	case *ast.Text:
		w.text(n)
	case *ast.String:
		w.flow.words(string(n.Value))
	case *ast.AutoLink:
		w.flow.words(string(n.Label(w.content)))
	case *ast.RawHTML:
		if isLineBreak(n.Segments.Value(w.content)) {
			w.flow.want(gapLine)
		}
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		w.flow.want(gapParagraph)
		w.flow.verbatim(string(n.Lines().Value(w.content)))
		w.flow.want(gapParagraph)
	case *ast.HTMLBlock:
		w.flow.want(gapParagraph)
		w.html(n)
		w.flow.want(gapParagraph)
	}
}

func (w *markdownWriter) text(n *ast.Text) {
	value := n.Segment.Value(w.content)
	if !n.IsRaw() && bytes.ContainsAny(value, `\&`) {
		w.flow.words(unescape(value))
	} else {
		w.flow.words(string(value))
	}
	switch {
	case n.HardLineBreak():
		w.flow.want(gapLine)
	case n.SoftLineBreak():
		w.flow.want(gapSpace)
	}
}

// unescape resolves backslash escapes and entities. goldmark does both only when it renders HTML, so the text is
// rendered and unescaped again.
func unescape(value []byte) string {
	var b strings.Builder
	out := bufio.NewWriter(&b)
	render.DefaultWriter.Write(out, value)
	// strings.Builder does not fail.
	_ = out.Flush()
	return html.UnescapeString(b.String())
}

// html writes the text of an HTML block, which may be a fragment.
func (w *markdownWriter) html(n *ast.HTMLBlock) {
	content := n.Lines().Value(w.content)
	if n.HasClosure() {
		content = append(content, n.ClosureLine.Value(w.content)...)
	}
	w.flow.verbatim(readPage(w.b, string(content)).text.String())
}

func isLineBreak(tag []byte) bool {
	return len(tag) > 3 && strings.EqualFold(string(tag[:3]), "<br")
}
