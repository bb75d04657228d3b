package pdf_test

import (
	"slices"
	"testing"
)

func withXMP(body string) []byte {
	return build("<</Type/Catalog/Pages 2 0 R/Metadata 6 0 R>>", onePage, thePage, stream(hello), helvetica,
		stream("<rdf:Description>"+body+"</rdf:Description>"))
}

func TestXMPMetadata(t *testing.T) {
	t.Parallel()
	text := extract(t, withXMP(
		`<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Tom &amp; Jerry</rdf:li></rdf:Alt></dc:title>`+
			`<dc:creator><rdf:Seq><rdf:li>Ada Lovelace</rdf:li><rdf:li> Alan Turing </rdf:li><rdf:li/></rdf:Seq></dc:creator>`+
			`<prism:coverDate>2009-04-01</prism:coverDate><xmp:CreateDate>2008-03-02T10:00:00Z</xmp:CreateDate>`+
			`<dc:language><rdf:Bag><rdf:li>de-DE</rdf:li></rdf:Bag></dc:language>`,
	))
	if text.Title != "Tom & Jerry" || !slices.Equal(text.Authors, []string{"Ada Lovelace", "Alan Turing"}) ||
		text.Published != "2009-04-01" || text.Created != "2008-03-02T10:00:00Z" ||
		text.Language != "de-DE" {
		t.Errorf("got %+v", text)
	}
	text = extract(t, withXMP("</rdf:Description><rdf:Description\n xmp:CreateDate=\"2010-01-01\" dc:title=\"T\">"))
	if text.Title != "T" || text.Created != "" && text.Created != "2010-01-01" {
		t.Errorf("attributes: got %+v", text)
	}
	for _, broken := range []string{
		"<dc:title", "<dc:title>", "<dc:creator><rdf:li", "<dc:creator><rdf:li>x", "<dc:title/>",
	} {
		if text := extract(t, withXMP(broken)); len(text.Authors) > 1 {
			t.Errorf("%q: got %+v", broken, text)
		}
	}
}
