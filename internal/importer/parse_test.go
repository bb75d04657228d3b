package importer

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAJSONFeedGivesItsEntries(t *testing.T) {
	t.Parallel()
	docs, err := parseFeed(t.Context(), []byte(` {"version": "https://jsonfeed.org/version/1.1", "title": "Notes", "items": [
		{"id": "1", "url": "https://example.org/1", "title": "First &amp; last", 
		"content_html": "<p>Some <b>text</b>.</p>", "date_published": "2019-04-05T10:00:00Z", "authors": [{"name": "Ada"}]},
		{"id": 2, "external_url": "https://example.org/2", "content_text": "if a < b\nthen", "author": {"name": "Alan"}},
		{"title": "no id, no address, but a title"}, {"id": "4"}]}`))
	if err != nil || len(docs) != 3 {
		t.Fatalf("%d documents (%v)", len(docs), err)
	}
	if d := docs[0]; d.ExternalID != "1" || d.Title != "First & last" || d.Text != "Some text." || d.Year != 2019 ||
		d.URL != "https://example.org/1" || d.Venue != "Notes" || d.Authors[0] != "Ada" {
		t.Errorf("first: %+v", d)
	}
	if d := docs[1]; d.ExternalID != "2" || d.Text != "if a < b\nthen" || d.URL != "https://example.org/2" ||
		d.Authors[0] != "Alan" {
		t.Errorf("second: %+v", d)
	}
	for _, bad := range []string{
		`{`, `{"items": []}`, `{"version": "https://jsonfeed.org/version/1", "items": 7}`, `[]`,
	} {
		if docs, err := parseFeed(t.Context(), []byte(bad)); err == nil {
			t.Errorf("%s gave %d documents", bad, len(docs))
		}
	}
}

func TestAFeedThatIsABombIsRefused(t *testing.T) {
	t.Parallel()
	const entities = `<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c ` +
		`"&b;&b;&b;&b;&b;&b;&b;&b;">]>`
	docs, err := parseFeed(
		t.Context(), []byte(entities+`<rss><channel><item><guid>1</guid><title>&c;</title></item></channel></rss>`),
	)
	for _, d := range docs { // an unknown entity may stay unexpanded
		if len(d.Title) > 10 {
			t.Errorf("an entity grew to %d characters", len(d.Title))
		}
	}
	if err == nil && len(docs) > 1 {
		t.Errorf("%d documents", len(docs))
	}
	deep := strings.Repeat("<a>", 1<<17)
	if _, err := parseFeed(t.Context(), []byte("<rss>"+deep)); err == nil {
		t.Error("a feed that never closes what it opens is read")
	}
	if _, err := parseFeed(
		t.Context(), []byte(`{"version":"https://jsonfeed.org/version/1","items":`+strings.Repeat("[", 1<<20)),
	); err == nil {
		t.Error("JSON that is nothing but brackets is read")
	}
}

// Entries count towards the limit even if they are unusable: a feed of maxFeed bytes has two million of them.
func TestFeedParserStopsAfterTheMaximumOfEntries(t *testing.T) {
	t.Parallel()
	unusable := strings.Repeat("<item/>", maxEntries)
	docs, err := parseFeed(t.Context(), []byte("<rss>"+unusable+"<item><guid>1</guid><title>T</title></item></rss>"))
	if err != nil || len(docs) != 0 {
		t.Errorf("%d documents from beyond the limit (%v)", len(docs), err)
	}
}

func FuzzFeed(f *testing.F) {
	for _, s := range []string{
		`<rss><channel><title>N</title><item><guid>1</guid><title>T</title><description>&lt;p&gt;x</description><pubDate>` +
			`Fri, 05 Apr 2019 10:00:00 GMT</pubDate></item></channel></rss>`,
		`<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><title>T</title><content ` +
			`type="xhtml"><div>x</div></content><updated>2020-01-02T03:04:05Z</updated></entry></feed>`,
		`<?xml version="1.0" encoding="latin1"?><RDF><item><title>` + "\xe4" + `</title></item></RDF>`,
		`{"version":"https://jsonfeed.org/version/1","title":"N","items":[{"id":1,"content_text":"x\u0000"}]}`,
		`<rss>&#0;&c;<item>`, "{", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := parseFeed(t.Context(), data)
		if err != nil {
			return
		}
		for _, d := range docs {
			for _, s := range append([]string{d.ExternalID, d.Title, d.Text, d.URL, d.DOI, d.Venue}, d.Authors...) {
				if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
					t.Fatalf("a string that can't be kept: %q", s)
				}
			}
			if d.ExternalID == "" || len(d.ExternalID) > 512 || d.Title == "" && d.Text == "" || d.Year < 0 ||
				d.Year > 9999 {
				t.Fatalf("an unsound document: %+v", d)
			}
			if d.URL != "" && !strings.HasPrefix(d.URL, "http") {
				t.Fatalf("a link that is none: %q", d.URL)
			}
		}
	})
}

func TestRobotsAreObeyedAsRFC9309Says(t *testing.T) {
	t.Parallel()
	const text = "\ufeff# a comment\r\nUser-agent: other\nUser-Agent: CARREL # us\nDisallow: /private\n" +
		"Allow: /private/open$\nDisallow: /*.pdf$\nDisallow: /q?x=\nDisallow: /%7Ehome\nDisallow:\n" +
		"Sitemap: https://example.org/sitemap.xml\nUser-agent: *\nDisallow: /\nUser-agent: Carrel\nDisallow: /more*end\n"
	own := parseRobots(text, "Carrel")
	for path, want := range map[string]bool{
		"/": true, "/private": false, "/private/x": false, "/privately": false, "/private/open": true,
		"/private/open/x": false,
		"/a.pdf":          false, "/a.pdf?x": true, "/a.html": true, "/q?x=1": false, "/q?y=1": true, "/~home": false,
		"/%7ehome": false, "/more/to/end": false, "/more": true,
	} {
		if got := own.allow(path); got != want {
			t.Errorf("%s: allowed %t, want %t", path, got, want)
		}
	}
	if all := parseRobots(text, "Somebody"); all.allow("/x") {
		t.Error("a program that is not named has the rules of all")
	}
	if !parseRobots("User-agent: carrel\nDisallow:\nUser-agent: *\nDisallow: /", "Carrel").allow("/x") {
		t.Error("a group that forbids nothing counts, too")
	}
	if !parseRobots("", "Carrel").allow("/x") || !parseRobots("Disallow: /", "Carrel").allow("/x") {
		t.Error("without a group all is allowed")
	}
	if !parseRobots("User-agent: *\nDisallow: /a\nAllow: /a", "Carrel").allow("/a") {
		t.Error("of two rules alike the one that allows counts")
	}
}

func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a*b$\n", "/axxb")
	f.Add("User-agent: *\nDisallow: "+strings.Repeat("*a", 500)+"$", strings.Repeat("a", 1000))
	f.Fuzz(func(t *testing.T, text, path string) {
		rules := parseRobots(text, "Carrel")
		if len(rules) == 0 && !rules.allow(path) {
			t.Fatal("no rule forbids it, and it is not allowed")
		}
		rules.allow(path)
	})
}
