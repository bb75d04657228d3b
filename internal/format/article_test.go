package format

import (
	"fmt"
	"strings"
	"testing"
)

// prose returns a paragraph of sentences.
func prose(topic string) string {
	return strings.Repeat("The study of "+topic+" began early, grew slowly, and is, in parts, still open. ", 4)
}

func links(n int) string {
	var b strings.Builder
	for i := range n {
		_, _ = fmt.Fprintf(&b, `<li><a href="/%d">Read more about item %d</a></li>`, i, i)
	}
	return b.String()
}

func TestFurnitureOfAPageIsLeftOut(t *testing.T) {
	t.Parallel()
	body := "<h2>First part</h2><p>" + prose("moths") + "</p><p>" + prose("lamps") + "</p><h2>Second part</h2>" +
		"<ul><li>A point, with a comma</li><li>Another point, too</li></ul><p>" + prose("nets") + "</p>"
	pages := map[string]string{
		"a menu and a sidebar": `<div class="menu"><ul>` + links(30) + `</ul></div><div id="main"><div class="article">` +
			body + `</div></div><div class="sidebar"><p>` + prose("sidebars") + `</p><ul>` + links(20) + `</ul></div>`,
		"links after the text": `<article>` + body + `<div class="widget"><ul>` + links(40) + `</ul></div></article>`,
		"hidden text":          `<article>` + body + `<p style="display: none">secret</p><p hidden>secret</p></article>`,
		"buttons to share":     `<article>` + body + `<div class="share">Read more about sharing</div></article>`,
		"a form":               `<article>` + body + `<form>Read more about mail <input><input></form></article>`,
		"comments": `<div class="post">` + body + `</div><div id="comments"><p>Read more about me, ` +
			prose("sidebars") + `</p></div>`,
		"tags that are not closed": `<div class=nav><ul>` + links(9) + `</ul></div><div class=text>` +
			strings.ReplaceAll(strings.ReplaceAll(body, "</p>", ""), "</li>", "") +
			`</div><div class=footer>Read more about</div>`,
	}
	for name, page := range pages {
		d, err := parseHTML(testBudget(t), "a.html", []byte("<html><body>"+page+"</body></html>"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"## First part\n\nThe study of moths", "study of lamps",
			"## Second part\n\n- A point, with a comma\n- Another point",
			"study of nets",
		} {
			if !strings.Contains(d.Text, want) {
				t.Errorf("%s: %q is missing in %q", name, want, d.Text)
			}
		}
		for _, furniture := range []string{"Read more about", "secret", "sidebars"} {
			if strings.Contains(d.Text, furniture) {
				t.Errorf("%s: %q is in %q", name, furniture, d.Text)
			}
		}
	}
}

func TestPagesWithoutAnArticleAreKeptWhole(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{
		"a list of links":  `<ul>` + links(20) + `</ul>`,
		"a short note":     `<p>Read more about item 19</p>`,
		"a table of data":  `<table><tr><th>Name<th>Note<tr><td>Ada<td>Read more about item 19</table>`,
		"text in the body": `Read more about item 19<br>and so on`,
		"many short parts": strings.Repeat(`<div class="card"><h3>Card</h3><p>Short.</p></div>`, 50) +
			`<p>Read more about item 19</p>`,
	} {
		d, err := parseHTML(testBudget(t), "a.html", []byte(page))
		if err != nil || !strings.Contains(d.Text, "Read more about item 19") {
			t.Errorf("%s: %q (%v)", name, d.Text, err)
		}
	}
}

func TestTheSearchForAnArticleIsLinear(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{
		"divisions in a table":    "<table>" + strings.Repeat("<div><p>a, b</div>", 40_000) + "</table>",
		"lists in lists":          strings.Repeat("<ul><li>a", 40_000),
		"divisions in divisions":  strings.Repeat("<div>a, b", 40_000),
		"tables in tables":        strings.Repeat("<table><tr><td>a", 20_000),
		"rows without cells":      "<table>" + strings.Repeat("<tr>", 100_000) + "</table>",
		"end tags of nothing":     "<b>" + strings.Repeat("</p></div></i>", 100_000),
		"paragraphs not closed":   strings.Repeat("<p><b>a", 60_000),
		"headings not closed":     strings.Repeat("<h1>a", 60_000),
		"more than can be listed": strings.Repeat("<p>a</p>", maxOutline+10),
	} {
		b := testBudget(t)
		if _, err := parseHTML(b, "a.html", []byte(page)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if used := b.Used(); used.Work > 400e6 || used.Memory > 100<<20 {
			t.Errorf("%s: %+v", name, used)
		}
	}
}
