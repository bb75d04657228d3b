package format

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"carrel/internal/format/budget"
)

const (
	// maxXMLToken is how long one tag or text of XML may be: the standard library keeps 64 bytes for each attribute.
	maxXMLToken = 1 << 20
	// maxXMLDepth is how deep elements may be nested: the standard library keeps a record for each open element.
	maxXMLDepth = 1000
	// memoryZipEntry is what the list of parts takes for each of them.
	memoryZipEntry = 500
)

// office is a document that is a zip archive of XML, as word processors and books have it.
type office struct {
	files map[string]*zip.File
	b     *budget.Budget
}

// openOffice opens the archive. The returned function leaves it.
func openOffice(b *budget.Budget, data []byte) (*office, func(), error) {
	z, err := openZip(bytes.NewReader(data), int64(len(data)), b)
	if err != nil {
		return nil, nil, fault("is not what its name says, or is damaged")
	}
	b.Hold(memoryZipEntry * len(z.File))
	o := &office{files: make(map[string]*zip.File, len(z.File)), b: b}
	for _, f := range z.File {
		if _, again := o.files[f.Name]; !again {
			o.files[f.Name] = f
		}
	}
	return o, b.Enter(), nil
}

// open returns a part, or nil if there is none.
func (o *office) open(name string) (io.ReadCloser, error) {
	f := o.files[name]
	if f == nil {
		return nil, nil //nolint:nilnil // most parts are optional
	}
	r, err := f.Open()
	if err != nil {
		return nil, fault("is damaged")
	}
	return r, nil
}

// tokens goes over the XML of a part as it is unpacked, and reports whether there is one.
func (o *office) tokens(name string, visit func(xml.Token)) (found bool, err error) {
	r, err := o.open(name)
	if r == nil || err != nil {
		return false, err
	}
	defer func() { _ = r.Close() }()
	return true, eachToken(o.b, o.b.Reader(r), visit)
}

// page returns the text of a part that is a page, or nothing if there is none.
func (o *office) page(name string) ([]byte, error) {
	r, err := o.open(name)
	if r == nil || err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	data, err := o.b.ReadAll(o.b.Reader(r), maxFile, 0)
	switch {
	case err != nil:
		return nil, fault("is damaged")
	case len(data) > maxFile:
		return nil, fault(fmt.Sprintf("holds a part of more than %d MiB", maxFile>>20))
	}
	return data, nil
}

// eachToken goes over the tokens of XML. Entities of its own are an error, so that none can grow; tokens are read one by
// one, and neither their length nor their nesting is unbounded. What is broken ends the reading, and what was read before
// it counts.
func eachToken(b *budget.Budget, r io.Reader, visit func(xml.Token)) error {
	bounded := &recordBound{r: r}
	d := xml.NewDecoder(bounded)
	d.CharsetReader = charsetReader
	d.Entity = xml.HTMLEntity
	b.Hold(4 * maxXMLToken)
	defer b.Release(4 * maxXMLToken)
	for depth := 0; ; {
		bounded.left = maxXMLToken
		offset := d.InputOffset()
		t, err := d.Token()
		b.Work(workToken + workXML*int(d.InputOffset()-offset))
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLongLine):
			return fault("holds XML with a tag or text of more than 1 MiB")
		case err != nil:
			return fault("holds XML that is damaged")
		}
		switch t.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
		if depth > maxXMLDepth {
			return fault("holds XML that is nested deeper than 1,000 levels")
		}
		visit(t)
	}
}

func attribute(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// dublinCore is what an archive says of itself: values by name.
type dublinCore map[string][]string

// maxCoreValues is how many values a document may say of itself.
const maxCoreValues = 1000

// coreReader gathers the values of elements without elements in them.
type coreReader struct {
	values dublinCore
	open   string
	text   strings.Builder
	n      int
}

func (c *coreReader) visit(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		c.open = t.Name.Local
		c.text.Reset()
	case xml.CharData:
		if c.open != "" && c.text.Len() < maxTitle {
			c.text.Write(t[:min(len(t), 64*maxTitle)])
		}
	case xml.EndElement:
		if s := strings.TrimSpace(c.text.String()); c.open == t.Name.Local && s != "" && c.n < maxCoreValues {
			c.n++
			c.values[c.open] = append(c.values[c.open], s)
		}
		c.open = ""
	}
}

func (dc dublinCore) first(names ...string) string {
	for _, n := range names {
		if len(dc[n]) > 0 {
			return dc[n][0]
		}
	}
	return ""
}
