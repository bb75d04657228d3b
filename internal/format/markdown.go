package format

import (
	"bufio"
	"bytes"
	"html"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	render "github.com/yuin/goldmark/renderer/html"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// largeMarkdown is the length from which trees are built one at a time, under the lock largeTree: concurrent imports of
// four texts of the maximum length would need half a gigabyte.
const largeMarkdown = maxMarkdown / 4

var largeTree sync.Mutex

// parseMarkdown reads a Markdown file.
func parseMarkdown(b *budget.Budget, name string, data []byte) (doc source.Document, err error) {
	b.Work(workText * len(data))
	b.Hold(2 * len(data)) // the text, with and without embedded images
	content, err := decodeText(data)
	if err != nil {
		return source.Document{}, err
	}
	fm, body := cutFrontMatter(content)
	body = wikiText(dropEmbedded(body))
	d := fm.document()
	defer func() { doc.Text = withTags(doc.Text, fm) }()
	if len(body) > largeMarkdown {
		largeTree.Lock()
		defer largeTree.Unlock()
	}
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
			d.Title = oneLine(strings.TrimLeft(markdownText(b, h, []byte(body)), "# "))
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
	w.block(n, entering)
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

// block writes the marks and gaps around blocks.
func (w *markdownWriter) block(n ast.Node, entering bool) {
	f := &w.flow
	switch n := n.(type) {
	case *ast.Heading:
		either(entering, func() { f.openHeading(n.Level) }, f.closeHeading)
	case *ast.List:
		start := 0
		if n.IsOrdered() {
			start = max(1, n.Start)
		}
		either(entering, func() { f.openList(start) }, f.closeList)
	case *ast.ListItem:
		either(entering, f.openItem, func() { f.want(gapLine) })
	case *ast.Paragraph, *ast.Blockquote, *ast.ThematicBreak:
		f.want(gapParagraph)
	case *ast.TextBlock:
		f.want(gapLine)
	case *extast.Table:
		either(entering, f.openTable, f.closeTable)
	case *extast.TableRow, *extast.TableHeader:
		either(entering, f.openRow, f.closeRow)
	case *extast.TableCell:
		either(entering, f.openCell, f.closeCell)
	}
}

func either(entering bool, open, closed func()) {
	if entering {
		open()
		return
	}
	closed()
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
