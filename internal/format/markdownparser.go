package format

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"carrel/internal/format/budget"
)

// The Markdown parser is quadratic in a few places (20 KiB of "[a](" take it more than a second) and calls itself
// for each level of nesting. The limits here let every text through that a person would write, and stop the
// others after seconds.
const (
	// maxMarkdown is how much is parsed: a tree takes up to 130 times its source. A longer text is kept as it is.
	maxMarkdown = 1 << 20
	// maxLevels is how deep lists and quotations may be nested.
	maxLevels = 120
	// maxWork is how much work the parser may do, in bytes that it may have to look at.
	maxWork = 400_000_000
	// memoryTree is how many bytes the tree takes for a byte of the text, workTree and workNode how many steps it takes to
	// make it and to visit one of its nodes.
	memoryTree = 130
	weightTree = 17 // of documents that take eight times their size
	workTree   = 100
	workNode   = 20
	// cellWork is the share of one cell of a table, which the parser makes even where a row has none.
	cellWork = 500
)

// markdownTree parses a text with that much work at most, or tells that it won't.
func markdownTree(b *budget.Budget, source []byte, work int) (tree ast.Node, read bool) {
	if len(source) > maxMarkdown || tooDeep(source) || int64(len(source)*memoryTree) > b.Room() {
		return nil, false
	}
	b.Hold(len(source) * memoryTree)
	b.Work(len(source) * workTree)
	m := &meter{left: work, b: b}
	defer func() {
		switch p := recover(); p {
		case nil:
		case errTangled:
			tree, read = nil, false
		default:
			panic(p)
		}
	}()
	return markdownParser(m).Parse(text.NewReader(source)), true
}

// tooDeep reports whether a line may be nested too deep. A level takes a mark on its line, or the two or more
// columns of white space that stand for the mark of a line before.
func tooDeep(source []byte) bool {
	for line := range bytes.Lines(source) {
		if levels(line) > maxLevels {
			return true
		}
	}
	return false
}

// levels returns how deep a line may be nested at most.
func levels(line []byte) int {
	marks, columns := 0, 0
	line = bytes.TrimRight(line, " \t\n")
	for len(line) > 0 {
		n := markLength(line)
		switch {
		case n > 0:
			marks++
		case line[0] == ' ':
			columns, n = columns+1, 1
		case line[0] == '\t':
			columns, n = columns+4, 1
		default:
			return marks + columns/2
		}
		line = line[n:]
	}
	return marks + columns/2
}

// markLength returns the length of the mark of a quotation or a list item that a line begins with, or 0.
func markLength(line []byte) int {
	var n int
	switch line[0] {
	case '>':
		return 1
	case '*', '+', '-':
		n = 1
	default:
		if n = len(line) - len(bytes.TrimLeft(line, "0123456789")); n == 0 || n == len(line) {
			return 0
		}
		if line[n] != '.' && line[n] != ')' {
			return 0
		}
		n++
	}
	if n < len(line) && !util.IsSpace(line[n]) {
		return 0
	}
	return n
}

// markdownParser returns CommonMark with tables and strikethrough, every costly part of it metered.
func markdownParser(m *meter) parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(
			util.Prioritized(meteredInline{parser.NewCodeSpanParser(), m}, 100),
			util.Prioritized(meteredLink{meteredInline{parser.NewLinkParser(), m}}, 200),
			util.Prioritized(meteredInline{parser.NewAutoLinkParser(), m}, 300),
			util.Prioritized(meteredInline{parser.NewRawHTMLParser(), m}, 400),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(meteredParagraph{parser.LinkReferenceParagraphTransformer, m, referenceWork}, 100),
			util.Prioritized(meteredParagraph{extension.NewTableParagraphTransformer(), m, tableWork}, 200),
		),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}

// meter counts down the work that a parse may still do.
type meter struct {
	left int
	b    *budget.Budget
}

type tangled struct{}

// errTangled leaves the parser, which knows no other way to be stopped.
var errTangled = tangled{}

func (m *meter) spend(n int) {
	if m.left -= n; m.left < 0 {
		panic(errTangled)
	}
	m.b.Work(n)
}

// meteredInline counts, for each mark that turns out to begin or end nothing, the block that may have been searched
// for its other end. A search that finds something is paid for by what it takes out of the block.
type meteredInline struct {
	parser.InlineParser
	m *meter
}

// Parse parses, then counts.
func (p meteredInline) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	node := p.InlineParser.Parse(parent, block, pc)
	if node == nil || node.Kind() == ast.KindText {
		if lines := parent.Lines(); lines != nil && lines.Len() > 0 {
			p.m.spend(lines.At(lines.Len()-1).Stop - lines.At(0).Start)
		}
	}
	return node
}

// meteredLink also passes on the end of a block, which only the parser of links wants to know.
type meteredLink struct{ meteredInline }

// CloseBlock passes the call on.
func (p meteredLink) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if closer, is := p.InlineParser.(parser.CloseBlocker); is {
		closer.CloseBlock(parent, block, pc)
	}
}

// meteredParagraph counts what it takes to look for something in a paragraph as a whole.
type meteredParagraph struct {
	parser.ParagraphTransformer
	m    *meter
	work func(lines *text.Segments, source []byte) int
}

// Transform counts, then transforms.
func (p meteredParagraph) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	p.m.spend(p.work(node.Lines(), reader.Source()))
	p.ParagraphTransformer.Transform(node, reader, pc)
}

// referenceWork is that of link references: each one found moves all lines after it.
func referenceWork(lines *text.Segments, source []byte) int {
	references := 0
	for _, line := range lines.Sliced(0, lines.Len()) {
		if bytes.HasPrefix(bytes.TrimLeft(line.Value(source), " "), []byte("[")) {
			references++
		}
	}
	return references * lines.Len()
}

// tableWork is that of a table: every row gets as many cells as the widest line of dashes has.
func tableWork(lines *text.Segments, source []byte) int {
	columns := 0
	for _, segment := range lines.Sliced(0, lines.Len()) {
		line := segment.Value(source)
		if len(bytes.Trim(line, " \t\n|:-")) == 0 {
			columns = max(columns, bytes.Count(line, []byte("|")))
		}
	}
	return columns * lines.Len() * cellWork
}
