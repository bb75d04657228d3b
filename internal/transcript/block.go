package transcript

import (
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"carrel/internal/core"
	"carrel/internal/thread"
)

// BlockKind is the kind of a block.
type BlockKind string

// The kinds of blocks.
const (
	Paragraph    BlockKind = "paragraph"
	Heading      BlockKind = "heading"
	Code         BlockKind = "code"
	Quotation    BlockKind = "quotation"
	BulletList   BlockKind = "bullets"
	NumberedList BlockKind = "numbers"
	Table        BlockKind = "table"
	Rule         BlockKind = "rule"
)

// Block is a block of formatted text.
type Block struct {
	Kind BlockKind
	// Level is the level of a heading, from 1 to 6.
	Level int
	// Start is the first number of a numbered list.
	Start int
	// Spans is the text of a paragraph or heading.
	Spans []Span
	// Text is the text of a code block.
	Text string
	// Items are the blocks of each item of a list, and the blocks of a quotation as a single item.
	Items [][]Block
	// Rows are the cells of a table. The first row is its head.
	Rows [][][]Span
}

// Span is a piece of text in one style. A line feed is a line break.
type Span struct {
	Text                       string
	Bold, Italic, Strike, Code bool
	// Link is an http or https address, or empty.
	Link string
	// State is the verdict of the sentence that the span is part of, or empty.
	State thread.CheckState
	// Ends is set for the last span of a sentence with a verdict. The mark of a problem follows it.
	Ends bool
	// check is the position of the sentence among the checks, or -1.
	check int
}

// Mark returns the mark of a problem that follows the span, or "".
func (s Span) Mark() string {
	if !s.Ends {
		return ""
	}
	return problemMarks[s.State]
}

// maxFormatted limits the parsed length of a message, and maxNesting the characters at the start of a line that may
// open lists and quotations, because the parser recurses for each level. A text beyond the limits is shown with its
// markup.
const (
	maxFormatted = 1 << 20
	maxNesting   = 100
)

// Links, images and HTML are not parsed: they come from a model, and a reader sees them as they are written.
var (
	answerParser = newParser()
	entryParser  = newParser(util.Prioritized(parser.NewLinkParser(), 200))
)

func newParser(more ...util.PrioritizedValue) parser.Parser {
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(
				util.Prioritized(parser.NewThematicBreakParser(), 200),
				util.Prioritized(parser.NewListParser(), 300),
				util.Prioritized(parser.NewListItemParser(), 400),
				util.Prioritized(parser.NewCodeBlockParser(), 500),
				util.Prioritized(parser.NewATXHeadingParser(), 600),
				util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
				util.Prioritized(parser.NewBlockquoteParser(), 800),
				util.Prioritized(parser.NewParagraphParser(), 1000),
			),
			parser.WithInlineParsers(append(more,
				util.Prioritized(parser.NewCodeSpanParser(), 100),
				util.Prioritized(parser.NewEmphasisParser(), 500),
			)...),
		)),
		goldmark.WithExtensions(extension.Table, extension.Strikethrough),
	).Parser()
}

// Blocks returns the formatted text of the message.
func (m Message) Blocks() []Block {
	if m.Question || len(m.text) > maxFormatted || tooDeep(m.text) {
		return paragraphs(m.text)
	}
	return parseBlocks(m.text, m.checks)
}

// EntrySpans returns the formatted text of a bibliography entry.
func EntrySpans(entry string) []Span {
	c := converter{source: []byte(entry)}
	var spans []Span
	for n := entryParser.Parse(text.NewReader(c.source)).FirstChild(); n != nil; n = n.NextSibling() {
		spans = append(spans, c.spans(n, Span{check: -1})...)
	}
	return spans
}

// tooDeep reports whether a line starts with so many markers or blanks that its nesting may be too deep.
func tooDeep(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if len(line)-len(strings.TrimLeft(line, " \t>*+-.)0123456789")) > maxNesting {
			return true
		}
	}
	return false
}

// paragraphs returns a text without markup. Blank lines separate paragraphs.
func paragraphs(text string) []Block {
	var blocks []Block
	var lines []string
	end := func() {
		if lines != nil {
			blocks = append(blocks, Block{
				Kind: Paragraph, Spans: []Span{{Text: strings.Join(lines, "\n"), check: -1}},
			})
		}
		lines = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line = core.OneLine(line); line == "" {
			end()
		} else {
			lines = append(lines, line)
		}
	}
	end()
	return blocks
}

// sentence is the range of a checked sentence in the source, in bytes.
type sentence struct {
	from, to int
	state    thread.CheckState
}

// converter converts the syntax tree of a Markdown parser to blocks.
type converter struct {
	source    []byte
	sentences []sentence
}

func parseBlocks(source string, checks []thread.Check) []Block {
	c := converter{source: []byte(source), sentences: sentencesOf(source, checks)}
	blocks := c.children(answerParser.Parse(text.NewReader(c.source)))
	last := map[int]*Span{}
	eachSpan(blocks, func(s *Span) {
		if s.check >= 0 {
			last[s.check] = s
		}
	})
	for _, s := range last {
		s.Ends = true
	}
	return blocks
}

// sentencesOf returns the ranges of the checks in bytes. Their offsets are code points. Invalid ones are left out.
func sentencesOf(source string, checks []thread.Check) []sentence {
	at := make([]int, 0, utf8.RuneCountInString(source)+1)
	for i := range source {
		at = append(at, i)
	}
	at = append(at, len(source))
	var out []sentence
	for _, c := range checks {
		if c.Start >= 0 && c.Start < c.End && c.End < len(at) && c.State != thread.Talk {
			out = append(out, sentence{at[c.Start], at[c.End], c.State})
		}
	}
	return out
}

// eachSpan calls f for all spans of the blocks in their order.
func eachSpan(blocks []Block, f func(*Span)) {
	for i := range blocks {
		for j := range blocks[i].Spans {
			f(&blocks[i].Spans[j])
		}
		for _, item := range blocks[i].Items {
			eachSpan(item, f)
		}
		for _, row := range blocks[i].Rows {
			for _, cell := range row {
				for j := range cell {
					f(&cell[j])
				}
			}
		}
	}
}

func (c converter) children(parent ast.Node) []Block {
	var blocks []Block
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		blocks = append(blocks, c.block(n))
	}
	return blocks
}

func (c converter) block(n ast.Node) Block {
	switch n := n.(type) {
	case *ast.Heading:
		return Block{Kind: Heading, Level: n.Level, Spans: c.spans(n, Span{check: -1})}
	case *ast.ThematicBreak:
		return Block{Kind: Rule}
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		var b strings.Builder
		for _, line := range n.Lines().Sliced(0, n.Lines().Len()) {
			b.Write(line.Value(c.source))
		}
		return Block{Kind: Code, Text: printable(strings.TrimRight(b.String(), "\n"))}
	case *ast.Blockquote:
		return Block{Kind: Quotation, Items: [][]Block{c.children(n)}}
	case *ast.List:
		out := Block{Kind: BulletList}
		if n.IsOrdered() {
			out = Block{Kind: NumberedList, Start: n.Start}
		}
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			out.Items = append(out.Items, c.children(item))
		}
		return out
	case *extast.Table:
		out := Block{Kind: Table}
		for row := n.FirstChild(); row != nil; row = row.NextSibling() {
			var cells [][]Span
			for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
				cells = append(cells, c.spans(cell, Span{check: -1}))
			}
			out.Rows = append(out.Rows, cells)
		}
		return out
	}
	return Block{Kind: Paragraph, Spans: c.spans(n, Span{check: -1})}
}

// spans returns the text of a node in the given style.
func (c converter) spans(parent ast.Node, style Span) []Span {
	var out []Span
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		inner := style
		switch n := n.(type) {
		case *ast.Text:
			out = append(out, c.split(n.Segment, style)...)
			if n.HardLineBreak() || n.SoftLineBreak() {
				end := style
				end.Text = " "
				if n.HardLineBreak() {
					end.Text = "\n"
				}
				out = append(out, end)
			}
			continue
		case *ast.Emphasis:
			inner.Bold, inner.Italic = style.Bold || n.Level > 1, style.Italic || n.Level == 1
		case *ast.CodeSpan:
			inner.Code = true
		case *ast.Link:
			inner.Link = string(util.UnescapePunctuations(n.Destination))
			inner.Link = string(util.ResolveEntityNames([]byte(inner.Link)))
		case *extast.Strikethrough:
			inner.Strike = true
		}
		out = append(out, c.spans(n, inner)...)
	}
	return out
}

// split returns a segment of the source as spans that end where sentences begin or end.
func (c converter) split(s text.Segment, style Span) []Span {
	var out []Span
	for from := s.Start; from < s.Stop; {
		to := s.Stop
		span := style
		for i, sentence := range c.sentences {
			switch {
			case sentence.from <= from && from < sentence.to:
				span.check, span.State = i, sentence.state
				to = min(to, sentence.to)
			case from < sentence.from:
				to = min(to, sentence.from)
			}
		}
		span.Text = printable(c.unescape(c.source[from:to], style.Code))
		out = append(out, span)
		from = to
	}
	return out
}

// unescape resolves backslash escapes and entities, which do not exist in code.
func (c converter) unescape(raw []byte, code bool) string {
	if code {
		return strings.ReplaceAll(string(raw), "\n", " ")
	}
	return string(util.UnescapePunctuations(util.ResolveNumericReferences(util.ResolveEntityNames(raw))))
}

// printable removes control characters except tabs and line feeds, which XML can't contain, and the noncharacters that
// it excludes.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0x7f || r == 0xfffe || r == 0xffff {
			return -1
		}
		return r
	}, s)
}
