package format

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// cslItem is a reference in CSL-JSON. Programs write numbers as strings and strings as numbers.
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
	Language  cslText   `json:"language"`
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

// cslText is a string, a number, or the first element of a list, as in Crossref's titles.
type cslText string

// UnmarshalJSON ignores values of other types instead of rejecting the whole entry.
func (t *cslText) UnmarshalJSON(b []byte) error {
	// Nested lists are not decoded, because each level would be parsed again.
	if b[0] == '[' {
		start := skipSpace(b, 1)
		if b[start] == ']' || b[start] == '[' {
			return nil
		}
		b = b[start:endOfValue(b, start)]
	}
	switch c := b[0]; {
	case c == '"':
		var s string
		if json.Unmarshal(b, &s) == nil {
			*t = cslText(s)
		}
	case c == '-' || c >= '0' && c <= '9':
		*t = cslText(b)
	}
	return nil
}

// readCSL reads CSL-JSON: a list of references, an object with "items", or a single reference. Items are decoded one
// by one and limited to the size of a record.
func readCSL(b *budget.Budget, r io.Reader, tell func(), yield func(source.Document, error) bool) error {
	bounded := &recordBound{r: r, left: maxLine}
	in := bufio.NewReaderSize(transform.NewReader(bounded, unicode.BOMOverride(transform.Nop)), readBuffer)
	c := &cslReader{b: b, bound: bounded, tell: tell, yield: yield, seen: make(idSet)}
	first, err := firstByte(in)
	switch {
	case errors.Is(err, io.EOF):
		return c.notCSL()
	case err != nil:
		return err
	}
	c.d = json.NewDecoder(in)
	if first == '{' {
		return c.readObject()
	}
	if t, err := c.d.Token(); err != nil || t != json.Delim('[') {
		return c.notCSL()
	}
	return c.readList()
}

// firstByte peeks at the first byte that is not white space.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		c, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, in.UnreadByte()
		}
	}
}

type cslReader struct {
	b     *budget.Budget
	bound *recordBound
	d     *json.Decoder
	tell  func()
	yield func(source.Document, error) bool
	seen  idSet
	n     int
}

func (c *cslReader) notCSL() error {
	return &RecordError{"the file", "is not a list of references in CSL-JSON"}
}

// readObject reads an object with "items", or a single reference, whose members are collected until its end.
func (c *cslReader) readObject() error {
	if _, err := c.d.Token(); err != nil {
		return c.notCSL()
	}
	own := []byte{'{'}
	for c.d.More() {
		key, err := c.d.Token()
		name, isName := key.(string)
		if err != nil || !isName {
			return c.cutOff(err)
		}
		if name == "items" {
			if t, err := c.d.Token(); err != nil || t != json.Delim('[') {
				return c.notCSL()
			}
			return c.readList()
		}
		raw, err := c.next()
		if err != nil {
			return err
		}
		if len(own)+len(raw) > maxLine {
			return c.cutOff(errLongLine)
		}
		quoted, _ := json.Marshal(name) // a string always marshals
		if len(own) > 1 {
			own = append(own, ',')
		}
		own = append(append(append(own, quoted...), ':'), raw...)
	}
	c.give(append(own, '}'))
	return nil
}

// readList reads references up to the end of the list.
func (c *cslReader) readList() error {
	for c.d.More() {
		if err := c.b.Err(); err != nil {
			return err
		}
		raw, err := c.next()
		if err != nil {
			return err
		}
		if !c.give(raw) {
			return nil
		}
	}
	if _, err := c.d.Token(); err != nil {
		return c.cutOff(err)
	}
	return nil
}

func (c *cslReader) next() (json.RawMessage, error) {
	c.bound.left = maxLine
	var raw json.RawMessage
	err := c.d.Decode(&raw)
	c.tell()
	c.b.Work(workRecord + 6*workJSON*len(raw)) // decoding and several passes over the fields
	if err != nil {
		return nil, c.cutOff(err)
	}
	return raw, nil
}

// cutOff returns the error of a file that can't be read to its end.
func (c *cslReader) cutOff(err error) error {
	after := " after entry " + strconv.Itoa(c.n)
	if errors.Is(err, errLongLine) {
		return &RecordError{"the file", "holds an entry of more than 16 MiB" + after}
	}
	return &RecordError{"the file", "stops being JSON" + after}
}

// give converts a reference and yields it.
func (c *cslReader) give(raw []byte) bool {
	c.n++
	place := "entry " + strconv.Itoa(c.n)
	doc, err := guarded(place, func() (source.Document, error) { return cslDocument(c.b, raw) })
	if err == nil {
		if first, again := c.seen.add(doc.ExternalID, c.n); again {
			doc, err = source.Document{}, &RecordError{place, "repeats the id of entry " + strconv.Itoa(first)}
		}
	}
	return c.yield(doc, err)
}

func cslDocument(b *budget.Budget, raw []byte) (source.Document, error) {
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
		return source.Document{}, fault("is not UTF-8 text; save it as UTF-8")
	}
	var item cslItem
	if err := json.Unmarshal(raw, &item); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return source.Document{}, fault("is not valid JSON")
		}
		return source.Document{}, fault("is not a reference in CSL-JSON")
	}
	r := reference{
		id: string(item.ID), title: string(item.Title), abstract: stripTags(b, string(item.Abstract)),
		url: string(item.URL), doi: string(item.DOI),
		venue: firstOf(string(item.Container), string(item.Publisher)), kind: kindOfReference(item.Type),
		date: item.date(), language: string(item.Language),
	}
	people := item.Author
	if len(people) == 0 {
		people = item.Editor
	}
	for _, p := range people {
		r.authors = append(
			r.authors, firstOf(p.Literal, strings.Join([]string{p.Given, p.Particle, p.Family, p.Suffix}, " ")),
		)
	}
	if item.Keyword != "" {
		r.keywords = strings.FieldsFunc(string(item.Keyword), func(c rune) bool { return c == ',' || c == ';' })
	}
	r.id = firstOf(r.id, bareDOI(r.doi), r.title)
	return r.document(), nil
}

// date formats the date parts as a full or partial RFC 3339 date.
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

// jatsTags renames the JATS elements in Crossref's abstracts to HTML elements, so that paragraphs stay apart.
var jatsTags = strings.NewReplacer(
	"<jats:title", "<h2", "</jats:title", "</h2", "<jats:", "<", "</jats:", "</",
)

// stripTags removes markup from an abstract, which Crossref includes.
func stripTags(b *budget.Budget, s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	return plainText(b, jatsTags.Replace(s))
}
