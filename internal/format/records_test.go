package format

import (
	"strings"
	"testing"
)

func TestEntriesInheritFromTheirCrossReference(t *testing.T) {
	t.Parallel()
	const bib = `@inproceedings{a, title={A}, author={X, Y}, crossref={Proc}}
@inbook{b, title={B}, crossref = "book", year = 2001}
@inproceedings{c, title={C}, crossref={nowhere}}
@inproceedings{loop, title={L}, crossref={loop}}
@proceedings{proc, title={Proceedings of {Moths}}, year=1999, publisher={P}, doi={10.1000/proc}, editor={E, F}}
@book{book, title={The Book}, author={Z, W}, year=1950}`
	docs, wrong := records(t, readBibTeX, bib)
	if len(wrong) > 0 || len(docs) != 6 {
		t.Fatalf("%d documents, wrong %q", len(docs), wrong)
	}
	if d := docs[0]; d.Title != "A" || d.Venue != "Proceedings of Moths" || d.Year != 1999 || d.DOI != "" ||
		strings.Join(d.Authors, "|") != "Y X" {
		t.Errorf("%+v", d)
	}
	if d := docs[1]; d.Venue != "The Book" || d.Year != 2001 || strings.Join(d.Authors, "|") != "W Z" {
		t.Errorf("%+v", d)
	}
	if docs[2].Venue != "" || docs[3].Title != "L" {
		t.Errorf("%+v %+v", docs[2], docs[3])
	}
}

func TestRecordsInWindowsEncodingAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		read recordReader
		text string
	}{
		"BibTeX": {readBibTeX, "@misc{a, title={\x93Gr\xfc\xdfe\x94 und mehr}}"},
		"RIS":    {readRIS, "TY  - JOUR\nTI  - \x93Gr\xfc\xdfe\x94 und mehr\nER  - "},
		"CSV":    {readCSV, "title\n\x93Gr\xfc\xdfe\x94 und mehr\n"},
	} {
		docs, wrong := records(t, c.read, c.text)
		if len(wrong) > 0 || len(docs) != 1 || docs[0].Title != "“Grüße” und mehr" {
			t.Errorf("%s: %+v %q", name, docs, wrong)
		}
	}
}

func TestMessagesInMessagesAreRead(t *testing.T) {
	t.Parallel()
	const inner = "Subject: Inner\nFrom: Ada <ada@example.org>\n\nThe inner text.\n"
	for name, c := range map[string]struct{ message, want string }{
		"inline": {
			"Subject: Outer\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>See below.\n--b\n" +
				"Content-Type: message/rfc822\nContent-Disposition: inline\n\n" + inner + "--b--\n",
			"See below.\n\nSubject: Inner\nFrom: Ada <ada@example.org>\n\nThe inner text.",
		},
		"a digest": {
			"Subject: Outer\nContent-Type: multipart/digest; boundary=b\n\n--b\n\n" + inner + "--b--\n",
			"Subject: Inner\nFrom: Ada <ada@example.org>\n\nThe inner text.",
		},
		"alone": {
			"Subject: Outer\nContent-Type: message/rfc822\n\n" + inner,
			"Subject: Inner\nFrom: Ada <ada@example.org>\n\nThe inner text.",
		},
		"a line of a mailbox":   {"From ada Fri Apr  5 10:00:00 2019\n>From bob\nSubject: Outer\n\nText.\n", "Text."},
		"a line that is no one": {"Subject: Outer\nnonsense\n  more\nTo: x\n\nText.\n", "Text."},
	} {
		d, err := parseMail(testBudget(t), "a.eml", []byte(c.message))
		if err != nil || d.Title != "Outer" || d.Text != c.want {
			t.Errorf("%s: %q %q (%v)", name, d.Title, d.Text, err)
		}
	}
	deep := strings.Repeat("Subject: s\nContent-Type: message/rfc822\n\n", 10_000) + "Subject: s\n\nThe end."
	b := testBudget(t)
	if _, err := parseMail(b, "a.eml", []byte(deep)); err != nil || b.Used().Work > 100e6 {
		t.Errorf("nested messages: %v, %+v", err, b.Used())
	}
}
