package ingest

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// maxPart is how much the parts of a document that is an archive may hold together, once unpacked.
const maxPart = 64 << 20

// office is a document that is a zip archive of XML, as word processors and books have it.
type office struct {
	files map[string]*zip.File
	left  int64
}

func openOffice(data []byte) (*office, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fault("is not what its name says, or is damaged")
	}
	if len(z.File) > maxEntries {
		return nil, fault("holds too many parts")
	}
	o := &office{files: make(map[string]*zip.File, len(z.File)), left: maxPart}
	for _, f := range z.File {
		if _, again := o.files[f.Name]; !again {
			o.files[f.Name] = f
		}
	}
	return o, nil
}

// part returns the content of a part, or nothing if there is none.
func (o *office) part(name string) ([]byte, error) {
	f := o.files[name]
	if f == nil {
		return nil, nil
	}
	r, err := f.Open()
	if err != nil {
		return nil, fault("is damaged")
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, o.left+1))
	if int64(len(data)) > o.left {
		return nil, fault("unpacks to more than can be read")
	}
	if err != nil {
		return nil, fault("is damaged")
	}
	o.left -= int64(len(data))
	return data, nil
}

// eachToken goes over the tokens of XML. Entities of its own are an error, so that none can grow; tokens are read one by
// one, so that nesting costs nothing. What is broken ends the reading, and what was read before it counts.
func eachToken(data []byte, visit func(xml.Token)) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = charsetReader
	d.Entity = xml.HTMLEntity
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fault("holds XML that is damaged")
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

func readDublinCore(data []byte) dublinCore {
	out := dublinCore{}
	var open string
	var text strings.Builder
	// What was read before an error counts: it is only about the document.
	_ = eachToken(data, func(t xml.Token) {
		switch t := t.(type) {
		case xml.StartElement:
			open = t.Name.Local
			text.Reset()
		case xml.CharData:
			if open != "" && text.Len() < maxTitle {
				text.Write(t)
			}
		case xml.EndElement:
			if s := strings.TrimSpace(text.String()); open == t.Name.Local && s != "" {
				out[open] = append(out[open], s)
			}
			open = ""
		}
	})
	return out
}

func (dc dublinCore) first(names ...string) string {
	for _, n := range names {
		if len(dc[n]) > 0 {
			return dc[n][0]
		}
	}
	return ""
}
