package format_test

import (
	"slices"
	"testing"

	"carrel/internal/format"
)

func TestZoteroItemsBecomeDocuments(t *testing.T) {
	t.Parallel()
	i, err := format.ReadZoteroItem([]byte(`{
		"key": "ABCD2345", "version": 7, "itemType": "journalArticle", "title": " A  Relational\nModel ",
		"creators": [
			{"creatorType": "editor", "firstName": "Ed", "lastName": "Itor"},
			{"creatorType": "author", "firstName": "Edgar F.", "lastName": "Codd"},
			{"creatorType": "author", "name": "IBM Research"}
		],
		"abstractNote": "Future users.", "publicationTitle": "CACM", "publisher": "ACM", "date": "1970-06-01",
		"DOI": "https://doi.org/10.1145/362384.362685", "url": "javascript:alert(1)", "volume": 13,
		"tags": [{"tag": "databases"}, {"tag": "theory", "type": 1}], "collections": ["COLL2345"], "relations": {},
		"dateAdded": "2024-01-01T00:00:00Z", "dateModified": "2024-01-02T00:00:00Z"
	}`))
	if err != nil {
		t.Fatal(err)
	}
	d := i.Document()
	if d.ExternalID != "ABCD2345" || d.Title != "A Relational Model" || d.Year != 1970 || d.PublishedAt != "1970-06-01" ||
		d.Venue != "CACM" || d.DOI != "10.1145/362384.362685" || d.URL != "" || d.Type != "article" ||
		d.Text != "Future users." || !slices.Equal(d.Authors, []string{"Edgar F. Codd", "IBM Research"}) {
		t.Errorf("%+v", d)
	}
	if !slices.Equal(i.Tags, []string{"databases", "theory"}) || !slices.Equal(i.Collections, []string{"COLL2345"}) ||
		i.Trashed {
		t.Errorf("%+v", i)
	}
}

func TestZoteroItemsHaveTheFieldsOfTheirType(t *testing.T) {
	t.Parallel()
	for data, want := range map[string][4]string{
		`{"key":"A2345678","itemType":"case","caseName":"A v. B","court":"High Court","dateDecided":"May 2001"}`: {
			"A v. B", "High Court", "", "",
		},
		`{"key":"A2345678","itemType":"thesis","title":"T","university":"Delft","extra":"x: y\nDOI: 10.1000/182"}`: {
			"T", "Delft", "thesis", "10.1000/182",
		},
		`{"key":"A2345678","itemType":"bookSection","title":"T","bookTitle":"B","publisher":"P"}`:     {"T", "B", "chapter", ""},
		`{"key":"A2345678","itemType":"preprint","title":"T","repository":"arXiv","DOI":"10.1000/1"}`: {"T", "arXiv", "preprint", "10.1000/1"},
		`{"key":"A2345678","itemType":"attachment","filename":"paper.pdf"}`:                           {"paper.pdf", "", "", ""},
		`{"key":"A2345678","itemType":"document","title":["x"],"tags":5,"creators":"x","date":{}}`:    {"x", "", "", ""},
		`{"key":"A2345678","itemType":"document"}`:                                                    {"Untitled A2345678", "", "", ""},
	} {
		i, err := format.ReadZoteroItem([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		d := i.Document()
		if got := [4]string{d.Title, d.Venue, d.Type, d.DOI}; got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
	for data, trashed := range map[string]bool{
		`{"deleted": 1}`: true, `{"deleted": true}`: true, `{"deleted": 0}`: false, `{"deleted": false}`: false, `{}`: false,
	} {
		if i, err := format.ReadZoteroItem([]byte(data)); err != nil || i.Trashed != trashed {
			t.Errorf("%s: %v %v", data, i.Trashed, err)
		}
	}
	if _, err := format.ReadZoteroItem([]byte(`[]`)); err == nil {
		t.Error("a list is no item")
	}
}

func FuzzZoteroItem(f *testing.F) {
	f.Add([]byte(`{"key":"ABCD2345","itemType":"book","title":"T","creators":[{"name":"N"}],"tags":[{"tag":"a"}]}`))
	f.Add([]byte(`{"itemType":"annotation","annotationText":"x","deleted":true,"DOI":[["10.1/1"]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if i, err := format.ReadZoteroItem(data); err == nil && i.Document().Title == "" {
			t.Error("a document without a title")
		}
	})
}
