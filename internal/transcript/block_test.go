package transcript

import (
	"strings"
	"testing"

	"carrel/internal/thread"
)

// outline writes blocks in a compact form: the kind and the text of each, with marks.
func outline(blocks []Block) string {
	var b strings.Builder
	for _, block := range blocks {
		b.WriteString(string(block.Kind) + "(")
		for _, s := range block.Spans {
			b.WriteString(outlineSpan(s))
		}
		b.WriteString(block.Text)
		for _, item := range block.Items {
			b.WriteString(outline(item))
		}
		for _, row := range block.Rows {
			for _, cell := range row {
				b.WriteString("|")
				for _, s := range cell {
					b.WriteString(outlineSpan(s))
				}
			}
			b.WriteString("/")
		}
		b.WriteString(")")
	}
	return b.String()
}

func outlineSpan(s Span) string {
	text := s.Text
	for mark, on := range map[string]bool{"*": s.Italic, "**": s.Bold, "~": s.Strike, "`": s.Code} {
		if on {
			text = mark + text + mark
		}
	}
	if s.Link != "" {
		text = "<" + s.Link + " " + text + ">"
	}
	return text + s.Mark()
}

func TestAnswersAreReadAsBlocks(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                                    "",
		"One [1].\nTwo.":                      "paragraph(One [1]. Two.)",
		"# Head\n\n*a* **b** ~~c~~ `d*`":      "heading(Head)paragraph(*a* **b** ~c~ `d*`)",
		"- a\n- b\n  1. c":                    "bullets(paragraph(a)paragraph(b)numbers(paragraph(c)))",
		"| a | b |\n|---|---|\n| 1 | **2** |": "table(|a|b/|1|**2**/)",
		"```go\nif x {\n}\n```":               "code(if x {\n})",
		"> said\n\n---\n\nend":                "quotation(paragraph(said))rule()paragraph(end)",
		"[x](https://evil.test) <b>no</b>":    "paragraph([x](https://evil.test) <b>no</b>)",
		"[1]: https://evil.test":              "paragraph([1]: https://evil.test)",
		`a \* b &amp; c`:                      "paragraph(a * b & c)",
		"text\n===\nmore\x07":                 "paragraph(text === more)",
	} {
		if got := outline(Message{text: given}.Blocks()); got != want {
			t.Errorf("%q: got %s, want %s", given, got, want)
		}
	}
	if got := outline(Message{Question: true, text: "# no\n**x**\n\nnext"}.Blocks()); got !=
		"paragraph(# no\n**x**)paragraph(next)" {
		t.Errorf("a question: %s", got)
	}
	deep := strings.Repeat("> ", 500) + "x"
	if got := (Message{text: deep}).Blocks(); len(got) != 1 || got[0].Kind != Paragraph {
		t.Errorf("deep nesting: %d blocks", len(got))
	}
}

func TestVerdictsFollowTheirSentences(t *testing.T) {
	t.Parallel()
	text := "Gödel *wrote it.* It is old.\n\n- Nobody knows.\n- All agree."
	check := func(sentence string, state thread.CheckState) thread.Check {
		start := len([]rune(text[:strings.Index(text, sentence)]))
		return thread.Check{Start: start, End: start + len([]rune(sentence)), State: state}
	}
	m := Message{text: text, checks: []thread.Check{
		check("Gödel *wrote it.*", thread.Contradicted), check("It is old.", thread.Quoted),
		check("Nobody knows.", thread.Uncited), check("All agree.", thread.Unsupported),
		{Start: 0, End: 900, State: thread.Unsupported},
	}}
	want := "paragraph(Gödel *wrote it.*[≠ contradicted] It is old.)" +
		"bullets(paragraph(Nobody knows.[∅ without a citation])paragraph(All agree.[? not supported]))"
	if got := outline(m.Blocks()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, s := range m.Blocks()[0].Spans {
		if s.Text == "It is old." && s.State != thread.Quoted {
			t.Errorf("the second sentence is %q", s.State)
		}
	}
}

func TestEntriesKeepTheirLink(t *testing.T) {
	t.Parallel()
	got := ""
	for _, s := range EntrySpans(`A. B\_C (1970). *A \[t\]itle*. [doi:10.1/x](https://doi.org/10.1/x?a=1&amp;copy;=2)`) {
		got += outlineSpan(s)
	}
	if want := "A. B_C (1970). *A [t]itle*. <https://doi.org/10.1/x?a=1&copy;=2 doi:10.1/x>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzBlocks checks that no text makes the parser fail, and that no link appears.
func FuzzBlocks(f *testing.F) {
	for _, s := range []string{"- a\n  - b", "|a|\n|-|\n|`x|y`|", "**a*b***", "> ```\nx", "[a](b) ![c](d)", "a\\\nb"} {
		f.Add(s, 0, 3)
	}
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		m := Message{text: text, checks: []thread.Check{{Start: from, End: to, State: thread.Unsupported}}}
		marks := 0
		eachSpan(m.Blocks(), func(s *Span) {
			if s.Link != "" {
				t.Errorf("%q has a link", text)
			}
			if s.Mark() != "" {
				marks++
			}
		})
		if marks > 1 {
			t.Errorf("%q has %d marks", text, marks)
		}
	})
}
