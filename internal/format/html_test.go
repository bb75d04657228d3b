package format

import (
	"reflect"
	"strings"
	"testing"

	"carrel/internal/source"
)

func TestHTMLBecomesReadableText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, source, want string }{
		{"inline", "<p>a <b>b</b>c &amp; &eacute;\n d</p>", "a bc & é d"},
		{"blocks", "<p>a</p><p>b<div>c</div><div>d</div>e", "a\n\nb\nc\nd\ne"},
		{"lists", "<ul><li>a<li>b<ol><li>c</ol></ul>d", "- a\n- b\n  1. c\n\nd"},
		{"tables", "<table><tr><th>a<th>b<tr><td>1</td> <td>2</td></table>", "| a | b |\n| --- | --- |\n| 1 | 2 |"},
		{"preformatted", "a<pre>x\n  <b>y</b> z\n\tw</pre>b", "a\n\nx\n  y z\n\tw\n\nb"},
		{
			"left out", "<head><title>t</title><style>x</style></head><nav>x</nav><header>x<header>y</header>z</header>a" +
				"<script>x</script><template><p>x</template><noscript>x</noscript><aside>x</aside><!-- x -->b<footer>x</footer>",
			"a\n\nb",
		},
		{"script that looks like markup", `a<script>"</p><nav>"</script>b`, "ab"},
		{"end tags of nothing", "</nav></p></pre>a</div>", "a"},
		{"not closed", "a<nav>b", "a"},
		{"breaks", "a<br>b<br/><br>c", "a\nb\nc"},
		{"no markup", "a < b & c", "a < b & c"},
		{"cut off", "a<p", "a"},
	} {
		d, err := parseHTML(testBudget(t), "file.html", []byte(c.source))
		if err != nil || d.Text != c.want {
			t.Errorf("%s:\n got %q, %v\nwant %q", c.name, d.Text, err, c.want)
		}
	}
}

func TestThePageDescribesItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, head string
		want       source.Document
	}{
		{
			"a publisher's page",
			`<title>Site | T</title><meta name="citation_title" content="T &amp; U">
			<meta name="citation_author" content="Lovelace, Ada">
			<META NAME="citation_author" CONTENT="Turing, Alan"><meta name="citation_publication_date" content="2021/03/04">
			<meta name="citation_doi" content="doi:10.1000/x"><meta name="citation_journal_title" content="J">
			<link rel="canonical" href="https://x.org/a">`,
			source.Document{
				Title: "T & U", Authors: []string{"Lovelace, Ada", "Turing, Alan"}, Year: 2021, DOI: "10.1000/x",
				Venue: "J", URL: "https://x.org/a",
			},
		},
		{
			"Dublin Core",
			`<meta name="DC.title" content="T"><meta name="DC.Creator" content="A">
			<meta name="DCTERMS.issued" content="19990102">
			<meta name="dc.identifier" content="local-5"><meta name="dc.identifier" content="https://doi.org/10.1000/x">
			<meta name="DC.type" content="Text">`,
			source.Document{Title: "T", Authors: []string{"A"}, Year: 1999, DOI: "10.1000/x", Type: "Text"},
		},
		{
			"an article of a newspaper",
			`<meta property="og:title" content="T"><meta property="article:author" content="https://social/a">
			<meta name="author" content="A and B">
			<meta property="article:published_time" content="2020-05-06T07:08:09Z">
			<meta property="og:url" content="https://x.org">`,
			source.Document{Title: "T", Authors: []string{"A", "B"}, Year: 2020, URL: "https://x.org"},
		},
		{
			"JSON-LD",
			`<meta property="og:title" content="T - Site"><script type="application/ld+json">{"@context":"https://schema.org",
			"@graph":[{"@type":"Organization","name":"O"},{"@type":["ScholarlyArticle"],"headline":"T",
			"author":[{"@type":"Person","name":"Ada Lovelace"},"Alan Turing"],"datePublished":"2020-05-06",
			"identifier":{"@type":"PropertyValue","value":"doi:10.1000/x"},"isPartOf":{"name":"J"},
			"mainEntityOfPage":{"@id":"https://x.org/a"}}]}</script>x`,
			source.Document{
				Title: "T", Authors: []string{"Ada Lovelace", "Alan Turing"}, Year: 2020, DOI: "10.1000/x", Venue: "J",
				Type: "article", URL: "https://x.org/a", Text: "x",
			},
		},
		{
			"JSON-LD that is none",
			`<script type="application/ld+json">{"@type":"Article","headline":</script>
			<script type="application/ld+json">[7,{"@type":"Person","name":"A"}]</script><title>T</title>x`,
			source.Document{Title: "T", Text: "x"},
		},
		{
			"publishers before JSON-LD",
			`<meta name="citation_title" content="T"><meta name="citation_author" content="A">
			<script type="application/ld+json">{"@type":"WebPage","name":"N","author":{"name":"B"}}</script>x`,
			source.Document{Title: "T", Authors: []string{"A"}, Text: "x"},
		},
		{
			"a profile is nobody",
			`<meta property="article:author" content="https://social/a"><meta property="article:author" content="B">x`,
			source.Document{Title: "file", Authors: []string{"B"}, Text: "x"},
		},
		{
			"a title alone", "<title> a\n b </title><svg><title>c</title></svg><h1>d</h1>",
			source.Document{Title: "a b", Text: "# d"},
		},
		{"a heading alone", "<header><h1>a <i>b</i></h1></header><h1>c</h1>", source.Document{Title: "a b", Text: "# c"}},
		{
			"a heading not closed", "<h1>" + strings.Repeat("a ", 5000),
			source.Document{
				Title: strings.TrimSpace(strings.Repeat("a ", 1000)),
				Text:  "# " + strings.TrimSpace(strings.Repeat("a ", 5000)),
			},
		},
		{
			"nothing", `<title></title><meta name="date" content="soon"><meta><link><meta name="author"><p>x`,
			source.Document{Title: "file", Text: "x"},
		},
	} {
		d, err := parseHTML(testBudget(t), "file.html", []byte(c.head))
		if c.name == "a heading not closed" {
			// The unclosed title contains the whole text; only its end matters.
			d.Title, c.want.Title = d.Title[:10], c.want.Title[:10]
		}
		if err != nil || !reflect.DeepEqual(d, c.want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", c.name, d, err, c.want)
		}
	}
}

func TestNestingAndOpenTagsDoNotHideTheText(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"deep nesting":       strings.Repeat("<div><b>", 50_000) + "text",
		"deep left out":      strings.Repeat("<nav>", 50_000) + "x" + strings.Repeat("</nav>", 50_000) + "text",
		"many attributes":    "<meta" + strings.Repeat(" a=b", 50_000) + ">text",
		"many metas":         strings.Repeat(`<meta name="author" content="a">`, 10_000) + "text",
		"open tags":          "text" + strings.Repeat("<a ", 50_000),
		"open comments":      "text" + strings.Repeat("<!--", 50_000),
		"tables in tables":   strings.Repeat("<table><tr><td>", 50_000) + "text",
		"a heap of entities": "text" + strings.Repeat("&amp", 50_000),
	} {
		d, err := parseHTML(testBudget(t), "file.html", []byte(source))
		if err != nil || !strings.HasPrefix(d.Text, "text") {
			t.Errorf("%s: got %.20q, %v", name, d.Text, err)
		}
	}
}
