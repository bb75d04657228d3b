package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// cslItem is a reference as CSL-JSON has it. Numbers may be strings and strings numbers.
type cslItem struct {
	ID        cslText   `json:"id"`
	Type      string    `json:"type"`
	Title     cslText   `json:"title"`
	Abstract  cslText   `json:"abstract"`
	DOI       cslText   `json:"DOI"`
	URL       cslText   `json:"URL"`
	Container cslText   `json:"container-title"`
	Publisher cslText   `json:"publisher"`
	Keyword   cslText   `json:"keyword"`
	Author    []cslName `json:"author"`
	Editor    []cslName `json:"editor"`
	Issued    struct {
		Parts   [][]cslText `json:"date-parts"`
		Raw     cslText     `json:"raw"`
		Literal cslText     `json:"literal"`
	} `json:"issued"`
}

type cslName struct {
	Family   string `json:"family"`
	Given    string `json:"given"`
	Particle string `json:"non-dropping-particle"`
	Suffix   string `json:"suffix"`
	Literal  string `json:"literal"`
}

// cslText is a string, a number, or the first of a list of them, as Crossref has titles.
type cslText string

// UnmarshalJSON takes any of these forms, and nothing of others: a field that is odd is not worth an entry.
func (t *cslText) UnmarshalJSON(b []byte) error {
	var s string
	var n json.Number
	var list []cslText
	switch {
	case json.Unmarshal(b, &s) == nil:
		*t = cslText(s)
	case json.Unmarshal(b, &n) == nil:
		*t = cslText(n)
	case json.Unmarshal(b, &list) == nil && len(list) > 0:
		*t = list[0]
	}
	return nil
}

// readCSL reads references as CSL-JSON: a list of them, or one.
func readCSL(ctx context.Context, r io.Reader, tell func(), yield func(Document, error) bool) error {
	source, err := readListed(r)
	if err != nil {
		return err
	}
	tell()
	source = strings.TrimSpace(source)
	if strings.HasPrefix(source, "{") {
		var wrapped struct {
			Items []json.RawMessage `json:"items"`
		}
		if json.Unmarshal([]byte(source), &wrapped) == nil && wrapped.Items != nil {
			items, _ := json.Marshal(wrapped.Items) // they were JSON
			source = string(items)
		} else {
			source = "[" + source + "]"
		}
	}
	d := json.NewDecoder(strings.NewReader(source))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return &RecordError{"the file", "is not a list of references in CSL-JSON"}
	}
	seen := make(idSet)
	for n := 1; d.More(); n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return &RecordError{"the file", "stops being JSON after entry " + strconv.Itoa(n-1)}
		}
		place := "entry " + strconv.Itoa(n)
		doc, err := guarded(place, func() (Document, error) { return cslDocument(raw) })
		if err == nil {
			if first, again := seen.add(doc.ExternalID, n); again {
				doc, err = Document{}, &RecordError{place, "has the id of entry " + strconv.Itoa(first) + " again"}
			}
		}
		if !yield(doc, err) {
			return nil
		}
	}
	return nil
}

func cslDocument(raw []byte) (Document, error) {
	var item cslItem
	if err := json.Unmarshal(raw, &item); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return Document{}, fault("is not valid JSON")
		}
		return Document{}, fault("is not a reference in CSL-JSON")
	}
	r := reference{
		id: string(item.ID), title: string(item.Title), abstract: stripTags(string(item.Abstract)), url: string(item.URL), doi: string(item.DOI),
		venue: firstOf(string(item.Container), string(item.Publisher)), kind: kindOfReference(item.Type), date: item.date(),
	}
	people := item.Author
	if len(people) == 0 {
		people = item.Editor
	}
	for _, p := range people {
		r.authors = append(r.authors, firstOf(p.Literal, strings.Join([]string{p.Given, p.Particle, p.Family, p.Suffix}, " ")))
	}
	if item.Keyword != "" {
		r.keywords = strings.FieldsFunc(string(item.Keyword), func(c rune) bool { return c == ',' || c == ';' })
	}
	r.id = firstOf(r.id, bareDOI(r.doi), r.title)
	return r.document(), nil
}

// date writes the parts of a date as RFC 3339 has it, as far as there are any.
func (i cslItem) date() string {
	if len(i.Issued.Parts) == 0 || len(i.Issued.Parts[0]) == 0 {
		return firstOf(string(i.Issued.Raw), string(i.Issued.Literal))
	}
	parts := i.Issued.Parts[0]
	out := string(parts[0])
	for _, p := range parts[1:min(3, len(parts))] {
		if len(p) == 1 {
			p = "0" + p
		}
		out += "-" + string(p)
	}
	return out
}

// stripTags takes the markup out of an abstract: Crossref's have some.
func stripTags(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	return readPage(s).text.String()
}
