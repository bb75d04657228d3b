package format

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"

	"carrel/internal/format/budget"
)

const (
	// maxXMLToken limits a tag or text, because encoding/xml allocates 64 bytes for each attribute.
	maxXMLToken = 1 << 20
	// maxXMLDepth limits nesting, because encoding/xml keeps a record for each open element.
	maxXMLDepth = 1000
	// memoryZipEntry is the memory of a directory entry.
	memoryZipEntry = 500
)

// office is a zip archive of XML parts: a Word file or a book.
type office struct {
	files map[string]*zip.File
	b     *budget.Budget
}

// openOffice opens the archive. The returned function leaves its level of the budget.
func openOffice(b *budget.Budget, data []byte) (*office, func(), error) {
	if bytes.HasPrefix(data, compoundFile) {
		return nil, nil, compoundFault(data)
	}
	z, err := openZip(bytes.NewReader(data), int64(len(data)), b)
	if err != nil {
		return nil, nil, fault("does not match its extension, or is damaged")
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

// compoundFile begins the files of old Office versions, and of new ones that are encrypted (MS-OFFCRYPTO).
var compoundFile = []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")

// compoundFault tells an encrypted file from one in an old format by the stream that holds the encrypted package.
func compoundFault(data []byte) fault {
	stream := utf16.Encode([]rune("EncryptedPackage"))
	name := make([]byte, 0, 2*len(stream))
	for _, unit := range stream {
		name = binary.LittleEndian.AppendUint16(name, unit)
	}
	if bytes.Contains(data, name) {
		return errPassword
	}
	return "is in an old Office format; save it in the current one"
}

const errPassword = fault("needs a password; save it without one")

// open returns a part, or nil if it does not exist.
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

// tokens passes the XML tokens of a part to visit, and reports whether the part exists.
func (o *office) tokens(name string, visit func(xml.Token)) (found bool, err error) {
	r, err := o.open(name)
	if r == nil || err != nil {
		return false, err
	}
	defer func() { _ = r.Close() }()
	return true, eachToken(o.b, o.b.Reader(r), visit)
}

// page returns the content of a part, or nil if it does not exist.
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

// eachToken passes the tokens of an XML document to visit, with limits on their length and nesting. Entities declared
// in the document are an error, so that they can't expand. Tokens before an error are kept.
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

// dublinCore is the metadata of an archive: values by name.
type dublinCore map[string][]string

// maxCoreValues limits the values of the metadata.
const maxCoreValues = 1000

// coreReader collects the values of elements without children.
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
