package format

import (
	"strings"
	"testing"
)

func TestMarkdownBecomesReadableText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, want string }{
		{"paragraphs", "One\nline.\n\nTwo.", "One line.\n\nTwo."},
		{"headings", "# A *b*\ntext\n\nC\n---\nmore", "# A b\n\ntext\n\n## C\n\nmore"},
		{"emphasis", "**bold** _it_ ~~gone~~ snake_case 2 * 3 * 4", "bold it gone snake_case 2 * 3 * 4"},
		{
			"links", "[text](http://x \"t\") [ref][r] [r] <http://auto.link>\n\n[r]: http://y",
			"text ref r http://auto.link",
		},
		{"brackets alone", "a [b\n\nc] d [e]", "a [b\n\nc] d [e]"},
		{"images", "a ![the alt](x.png) b", "a the alt b"},
		{"escapes", `\*a\* &amp; &lt;b&gt; \&amp; &copy; &nosuch;`, `*a* & <b> &amp; © &nosuch;`},
		{"code span", "a `x & \\* y` b", "a x & \\* y b"},
		{"fenced code", "a\n\n```go\nif x {\n\n\ty()\n}\n```\nb", "a\n\nif x {\n\n\ty()\n}\n\nb"},
		{"indented code", "a\n\n    x\n      y\n\nb", "a\n\nx\n  y\n\nb"},
		{"tight list", "- a\n- b\n  1. c\n  2. d\n- e", "- a\n- b\n  1. c\n  2. d\n- e"},
		{"loose list", "- a\n\n- b", "- a\n- b"},
		{"quotation", "> a\n> b\n\nc", "a b\n\nc"},
		{"table", "| a | b |\n|---|:-:|\n| 1 | **2** |\n| 3 |", "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 |  |"},
		{"hard breaks", "a  \nb\\\nc<br/>d", "a\nb\nc\nd"},
		{"inline HTML", "a <b>c</b> <!-- no --> d", "a c d"},
		{"HTML block", "<div class=x>a <i>b</i></div>\n\n<script>\nno\n\nno\n</script>\n\nc", "a b\n\nc"},
		{"embedded image", "a ![b](data:image/png;base64,AAAA+/==) c", "a b c"},
		{"empty", "", ""},
	} {
		d, err := parseMarkdown(testBudget(t), "file.md", []byte(c.content))
		if err != nil || d.Text != c.want {
			t.Errorf("%s:\n got %q, %v\nwant %q", c.name, d.Text, err, c.want)
		}
	}
}

func TestTheTitleOfMarkdownIsTheBestThereIs(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"---\ntitle: Front\n---\n# Heading":                   "Front",
		"text\n\n## The *first*\nheading\n\n# Another":        "The first",
		"> # quoted\n\ntext":                                  "file",
		"#\n\n# Second":                                       "Second",
		"text":                                                "file",
		"---\ntitle:\n---\n# Heading":                         "Heading",
		"# " + strings.Repeat("x", maxTitle+1):                strings.Repeat("x", maxTitle),
		"# Tangled\n" + strings.Repeat(">", 10_000) + " text": "Tangled",
		"# ![](a.png)\n\ntext":                                "file",
	} {
		if d, err := parseMarkdown(testBudget(t), "dir/file.md", []byte(content)); err != nil || d.Title != want {
			t.Errorf("%.60q: got %.60q, %v", content, d.Title, err)
		}
	}
}

// At full length each of these takes goldmark minutes, all memory or its stack. A hundredth of the allowed work must
// be enough to stop them.
func TestHostileMarkdownIsStoppedEarly(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"links without end":    strings.Repeat("[a](", 10_000),
		"links in pointy":      strings.Repeat("[a](<b", 10_000),
		"brackets":             strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000),
		"instructions":         "a " + strings.Repeat("<?", 50_000),
		"comments":             "a " + strings.Repeat("<!--", 50_000),
		"comments in headings": "# " + strings.Repeat("<!--", 50_000),
		"ticks":                ticks(100_000),
		"references":           strings.Repeat("[a]: u\n", 10_000),
		"a wide table": strings.Repeat("|a", 1000) + "\n" + strings.Repeat("|-", 1000) + "\n" + strings.Repeat(
			"|\n", 1000,
		),
		"quotations":           strings.Repeat(">", 1_000_000),
		"lists":                strings.Repeat("- ", 500_000) + "a",
		"numbered lists":       strings.Repeat("1. ", 500_000) + "a",
		"lists by white space": staircase(500),
		"more than is parsed":  strings.Repeat("word ", maxMarkdown/5+1),
	} {
		if _, read := markdownTree(testBudget(t), []byte(content), maxWork/100); read {
			t.Errorf("%s: parsed to its end", name)
		}
	}
}

func TestMarkdownThatIsNotParsedKeepsItsText(t *testing.T) {
	t.Parallel()
	content := "---\nyear: 1999\n---\n# Title\n\nText. " + strings.Repeat(
		">", 10_000,
	) + "\n" + strings.Repeat(">", 10_000)
	d, err := parseMarkdown(testBudget(t), "file.md", []byte(content))
	if err != nil || d.Title != "Title" || d.Year != 1999 || !strings.HasPrefix(d.Text, "# Title\n\nText. >>") {
		t.Errorf("got %.100v, %v", d, err)
	}
}

// ticks returns runs of backquotes of every length, none of which is closed.
func ticks(size int) string {
	var b strings.Builder
	for i := 1; b.Len() < size; i++ {
		b.WriteString("e" + strings.Repeat("`", i))
	}
	return b.String()
}

// staircase nests a list one level deeper with each line, by white space alone.
func staircase(steps int) string {
	var b strings.Builder
	for i := range steps {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()
}

func TestOrdinaryMarkdownIsNeverTakenForHostile(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"a long list of links": strings.Repeat("- [name](https://example.org/some/path) says *this*\n", 5000),
		"a long table":         "|a|b|c|\n|-|-|-|\n" + strings.Repeat("| [x](y) | `b` | c |\n", 5000),
		"long paragraphs":      strings.Repeat(strings.Repeat("word [1] and `code` ", 200)+"\n\n", 50),
		"references":           strings.Repeat("[a]: http://x\n", 2000),
		"rules and numbers": strings.Repeat("-", 500) + "\n\n" + strings.Repeat("1.5 ", 500) + "\n\n" +
			strings.Repeat("* ", 40),
		"blank lines full of space": "a\n" + strings.Repeat(" ", 1000) + "\nb",
	} {
		if _, read := markdownTree(testBudget(t), []byte(content), maxWork/2); !read {
			t.Errorf("%s: not parsed", name)
		}
	}
}

func TestNotesOfAVaultReadAsText(t *testing.T) {
	t.Parallel()
	const note = "---\ntags: [moth, night-life]\naliases: [M]\n---\n# Moths\n\n" +
		"See [[Lamps and light]], [[People/Ada|Ada]] and " +
		"[[Nets#Old nets]].\n\n![[plan.png]]\n\n> [!note] Beware\n> of the lamp\n\n```sh\nif [[ -f x ]]; then\n```\n"
	want := "# Moths\n\nSee Lamps and light, Ada and Nets, Old nets.\n\nBeware of the lamp\n\nif [[ -f x ]]; then\n\n" +
		"Tags: moth, night-life"
	d, err := parseMarkdown(testBudget(t), "Moths.md", []byte(note))
	if err != nil || d.Text != want || d.Title != "Moths" {
		t.Errorf("%q: %q (%v)", d.Title, d.Text, err)
	}
}
