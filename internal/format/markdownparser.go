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

// goldmark is quadratic in a few places (20 KiB of "[a](" take more than a second) and recurses for each level of
// nesting. These limits accept everything that people write and stop hostile input after seconds.
const (
	// maxMarkdown limits the parsed length, because a tree needs up to 130 times the memory of its source. A longer
	// text is stored with its markup.
	maxMarkdown = 1 << 20
	// maxLevels limits the nesting of lists and quotations.
	maxLevels = 120
	// maxWork limits the work of the parser, in bytes that it may have to read.
	maxWork = 400_000_000
	// memoryTree is the memory of the tree per byte of text, workTree the cost to build it per byte, workNode the
	// cost to visit a node.
	memoryTree = 130
	weightTree = 17 // relative to documents that need eight times their size
	workTree   = 100
	workNode   = 20
	// cellWork is the cost of a table cell, which the parser creates even if a row lacks it.
	cellWork = 500
)

// markdownTree parses a text, or reports false if that would exceed the work limit.
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

// tooDeep reports whether a line may be nested too deep. A level needs a marker, or at least two columns of white
// space that continue a marker above.
func tooDeep(source []byte) bool {
	for line := range bytes.Lines(source) {
		if levels(line) > maxLevels {
			return true
		}
	}
	return false
}

// levels returns the maximum nesting of a line.
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

// markLength returns the length of a quotation or list marker at the start of a line, or 0.
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

// markdownParser returns a CommonMark parser with tables and strikethrough whose costly parts are metered.
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

// meter counts down the remaining work.
type meter struct {
	left int
	b    *budget.Budget
}

type tangled struct{}

// errTangled is the panic value that stops the parser, which has no other way to be cancelled.
var errTangled = tangled{}

func (m *meter) spend(n int) {
	if m.left -= n; m.left < 0 {
		panic(errTangled)
	}
	m.b.Work(n)
}

// meteredInline charges, for every delimiter that opens or closes nothing, the block that may have been searched for
// its counterpart. A successful search shortens the block, which pays for it.
type meteredInline struct {
	parser.InlineParser
	m *meter
}

// Parse calls the wrapped parser and charges its work.
func (p meteredInline) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	node := p.InlineParser.Parse(parent, block, pc)
	if node == nil || node.Kind() == ast.KindText {
		if lines := parent.Lines(); lines != nil && lines.Len() > 0 {
			p.m.spend(lines.At(lines.Len()-1).Stop - lines.At(0).Start)
		}
	}
	return node
}

// meteredLink also forwards CloseBlock, which only the link parser implements.
type meteredLink struct{ meteredInline }

// CloseBlock forwards the call.
func (p meteredLink) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if closer, is := p.InlineParser.(parser.CloseBlocker); is {
		closer.CloseBlock(parent, block, pc)
	}
}

// meteredParagraph charges transformations of whole paragraphs.
type meteredParagraph struct {
	parser.ParagraphTransformer
	m    *meter
	work func(lines *text.Segments, source []byte) int
}

// Transform charges the work and calls the wrapped transformer.
func (p meteredParagraph) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	p.m.spend(p.work(node.Lines(), reader.Source()))
	p.ParagraphTransformer.Transform(node, reader, pc)
}

// referenceWork estimates the cost of link references: each moves all lines after it.
func referenceWork(lines *text.Segments, source []byte) int {
	references := 0
	for _, line := range lines.Sliced(0, lines.Len()) {
		if bytes.HasPrefix(bytes.TrimLeft(line.Value(source), " "), []byte("[")) {
			references++
		}
	}
	return references * lines.Len()
}

// tableWork estimates the cost of a table: every row gets as many cells as the widest delimiter row.
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
