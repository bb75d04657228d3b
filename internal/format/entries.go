package format

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// Entry is a reference of a BibTeX or RIS file.
type Entry struct {
	// Line is the line on which the entry begins.
	Line int
	// Document holds the fields that all formats have. Its text is the abstract.
	Document source.Document
	// Volume, Issue, Pages, Publisher and Note are texts without markup.
	Volume, Issue, Pages, Publisher, Note string
	Keywords                              []string
	// BibTeX is the entry as written, or nil.
	BibTeX *BibEntry
	// RIS are the lines of a RIS reference without the last one. A value on several lines is one line.
	RIS []RISField
	// Err is the reason why the entry can't be read.
	Err error
}

// BibEntry is a BibTeX entry as written.
type BibEntry struct {
	Type string `json:"type"`
	// Key is empty if the entry has none.
	Key    string     `json:"key,omitempty"`
	Fields []BibField `json:"fields"`
	// Strings are the @string definitions that the fields use, in an order in which each uses only earlier ones.
	Strings []BibField `json:"strings,omitempty"`
	// Preamble holds the contents of the @preamble commands before the entry.
	Preamble []string `json:"preamble,omitempty"`
}

// BibField is a field or a @string definition. Value is the expression as written, with its braces or quotes.
type BibField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// RISField is a line of a RIS reference.
type RISField struct {
	Tag   string `json:"tag"`
	Value string `json:"value"`
}

// Valid reports whether a line that was written by somebody else can be part of a reference: it has one tag, which
// neither begins nor ends a reference, and one line.
func (f RISField) Valid() bool {
	tag, _, is := risLine([]byte(f.Tag + "  - "))
	return is && tag == f.Tag && tag != "TY" && tag != "ER" && oneLine(f.Value) == f.Value
}

// Valid reports whether an entry that was written by somebody else can be part of a file without changing the entries
// after it.
func (e BibEntry) Valid() bool {
	if !validBibName(e.Type) || strings.ContainsAny(e.Key, " \t\r\n,}{=\"@%") {
		return false
	}
	for _, f := range slices.Concat(e.Fields, e.Strings) {
		if !validBibName(f.Name) || !validBibValue("="+f.Value, (*bibParser).assigned) {
			return false
		}
	}
	for _, content := range e.Preamble {
		if !validBibValue(content+"}", func(p *bibParser) (string, bool) { return p.delimited('{') }) {
			return false
		}
	}
	return true
}

func validBibName(s string) bool {
	return s != "" && !strings.ContainsAny(s, " \t\r\n{}(),=\"#%@\\")
}

// validBibValue reports whether parse reads the whole of s. A line that begins with @ is refused, because readers take
// it for the next entry.
//
//nolint:contextcheck,nolintlint // a value is short, so parsing it need not be cancelled
func validBibValue(s string, parse func(*bibParser) (string, bool)) bool {
	p := &bibParser{s: s, b: budget.New(context.Background(), budget.Default, int64(len(s)), nil)}
	valid := false
	err := budget.Catch(func() error {
		_, ok := parse(p)
		valid = ok && p.pos == len(p.s) && !strings.Contains(s, "\n@")
		return nil
	})
	return err == nil && valid
}

// bibRaw collects the parts of a file as written. A nil *bibRaw collects nothing.
type bibRaw struct {
	entry BibEntry
	// macros are the definitions in effect by name in lower case, used those that the current value uses.
	macros      map[string]*bibMacro
	used        []*bibMacro
	definitions int
	// unused are the definitions in effect that no entry has.
	unused    []*bibMacro
	preambles []string
}

// bibMacro is a @string definition. It keeps the definitions that it uses, because a name can be defined again.
type bibMacro struct {
	BibField
	// number is the position among all definitions of the file.
	number int
	uses   []*bibMacro
}

func (r *bibRaw) field(name, assigned string) {
	if r != nil {
		r.entry.Fields = append(r.entry.Fields, BibField{name, expression(assigned)})
	}
}

func (r *bibRaw) macro(name, assigned string) {
	if r == nil {
		return
	}
	if old := r.macros[name]; old != nil {
		r.unused = slices.DeleteFunc(r.unused, func(m *bibMacro) bool { return m == old })
	}
	m := &bibMacro{BibField{name, expression(assigned)}, r.definitions, r.used}
	r.definitions++
	r.macros[name], r.used = m, nil
	r.unused = append(r.unused, m)
}

func (r *bibRaw) use(name string) {
	if r != nil {
		r.used = append(r.used, r.macros[name])
	}
}

func (r *bibRaw) preamble(p *bibParser) {
	if r == nil {
		return
	}
	start := p.pos
	content, ok := p.delimited('{')
	if !ok {
		p.pos = start
		return
	}
	if content = strings.TrimSpace(content); len(content) <= maxMacro {
		r.preambles = append(r.preambles, content)
	}
}

func expression(assigned string) string {
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(assigned), "="))
}

// maxUnused limits the definitions in bytes that an entry has without using them.
const maxUnused = 8 << 10

// strings returns the definitions that the current entry uses and those that no entry has had so far, in the order of
// the file, so that definitions which no entry uses are not lost.
func (r *bibRaw) strings() []BibField {
	needed := map[*bibMacro]bool{}
	size := 0
	var need func(m *bibMacro)
	need = func(m *bibMacro) {
		if !needed[m] {
			needed[m] = true
			size += len(m.Name) + len(m.Value)
			for _, other := range m.uses {
				need(other)
			}
		}
	}
	for _, m := range r.used {
		need(m)
	}
	size = 0
	r.unused = slices.DeleteFunc(r.unused, func(m *bibMacro) bool {
		if !needed[m] && size+len(m.Name)+len(m.Value) <= maxUnused {
			need(m)
		}
		return needed[m]
	})
	list := slices.SortedFunc(maps.Keys(needed), func(a, b *bibMacro) int { return a.number - b.number })
	var out []BibField
	for _, m := range list {
		out = append(out, m.BibField)
	}
	return out
}

// File is a file of references to be read entry by entry.
type File struct {
	Reader io.Reader
	// Size is the size in bytes, which bounds the work and the memory of reading the file.
	Size int64
	// Pool is the memory that files share; nil means no limit.
	Pool *budget.Pool
}

// read calls parse with the budget of the file, once its memory is free.
func (f File) read(ctx context.Context, parse func(b *budget.Budget) error) error {
	b := budget.New(ctx, budget.Default, f.Size, f.Pool)
	return budget.Catch(func() (err error) {
		if waited := b.Document(f.Size, func() { err = parse(b) }); waited != nil {
			return waited
		}
		return err
	})
}

// give passes an entry on, outside of the time that the file may take.
func give(b *budget.Budget, yield func(Entry) error, e Entry) (err error) {
	b.Outside(func() { err = yield(e) })
	b.Progress(len(e.Document.Text))
	return err
}

// ReadBibTeX reads the entries of a BibTeX file, as documents and as written, until yield returns an error. The error
// is that of yield or of the whole file.
func ReadBibTeX(ctx context.Context, f File, yield func(Entry) error) error {
	return f.read(ctx, func(b *budget.Budget) error {
		content, err := readListedAs(b, f.Reader, decodeDamaged)
		if err != nil {
			return err
		}
		raw := &bibRaw{macros: map[string]*bibMacro{}}
		p := &bibParser{s: content, line: 1, macros: map[string]string{}, b: b, raw: raw}
		parents := bibParents(b, content)
		for b.Err() == nil {
			b.Work(workRecord)
			at := p.pos
			kind, ok := p.nextEntry()
			if !ok {
				break
			}
			if e, is := readBibEntry(p, kind, content[at:p.pos], parents); is {
				if err := give(b, yield, e); err != nil {
					return err
				}
			}
		}
		return b.Err()
	})
}

// decodeDamaged is decodeText with spaces for NUL characters, so that one in an entry does not refuse the others.
func decodeDamaged(data []byte) (string, error) {
	if !bytes.HasPrefix(data, utf16LEBOM) && !bytes.HasPrefix(data, utf16BEBOM) {
		for i, c := range data {
			if c == 0 {
				data[i] = ' '
			}
		}
	}
	return decodeText(data)
}

// readBibEntry reads one entry after its opening brace. before ends with its type as written. It returns false for
// macros, preambles and comments.
func readBibEntry(p *bibParser, kind, before string, parents map[string]map[string]string) (Entry, bool) {
	raw := p.raw
	raw.entry, raw.used = BibEntry{Type: writtenType(before)}, nil
	e := Entry{Line: p.line}
	var fields map[string]string
	e.Document, e.Err = guarded("line "+strconv.Itoa(e.Line), func() (source.Document, error) {
		var err error
		raw.entry.Key, fields, err = p.entry(kind)
		if err != nil || fields == nil {
			return source.Document{ExternalID: "-", Title: "-"}, err
		}
		inherit(fields, kind, parents)
		r := bibReference(raw.entry.Key, kind, fields)
		if r.title == "" && len(raw.entry.Fields) > 0 {
			r.title = untitled(kind, raw.entry.Fields, fields)
		}
		r.id = cmp.Or(r.id, r.title)
		return r.document(), nil
	})
	if e.Err == nil && fields == nil {
		return e, false
	}
	text := func(names ...string) string {
		for _, name := range names {
			if s := oneLine(delatex(fields[name])); s != "" {
				return s
			}
		}
		return ""
	}
	e.Volume, e.Issue, e.Pages = text("volume"), text("number", "issue"), text("pages")
	e.Publisher, e.Note = text("publisher", "school", "institution"), text("annote", "annotation")
	e.Keywords = keywordsIn(text("keywords", "keyword"))
	written := raw.entry
	if written.Preamble = raw.preambles; e.Err == nil {
		written.Strings = raw.strings()
	}
	e.BibTeX = &written
	return e, true
}

// untitled returns a title for an entry whose fields contain nothing that a reader would know it by: the first text,
// or the type.
func untitled(kind string, list []BibField, values map[string]string) string {
	for _, f := range list {
		if s := oneLine(delatex(values[strings.ToLower(f.Name)])); s != "" {
			return s
		}
	}
	return kind
}

// writtenType returns the last identifier in the text from the last entry to the opening brace.
func writtenType(before string) string {
	before = before[strings.LastIndexByte(before, '@')+1:]
	return strings.TrimSpace(strings.TrimRight(strings.TrimSpace(before), "{("))
}

func keywordsIn(s string) []string {
	return cleanNames(strings.FieldsFunc(s, func(c rune) bool { return c == ',' || c == ';' }))
}

// ReadRIS reads the references of a RIS file until yield returns an error. The error is that of yield or of the whole
// file.
func ReadRIS(ctx context.Context, f File, yield func(Entry) error) error {
	return f.read(ctx, func(b *budget.Budget) error {
		var stopped error
		err := readRISEntries(b, f.Reader, func() {}, func(r *risEntry) bool {
			e := Entry{Line: r.line}
			e.Document, e.Err = guarded("line "+strconv.Itoa(r.line), r.titled)
			e.Volume, e.Issue, e.Pages = r.first("VL"), r.first("IS"), r.first("SP")
			if last := r.first("EP"); last != "" && e.Pages != "" && last != e.Pages {
				e.Pages += "-" + last
			}
			e.Publisher, e.Note, e.Keywords = r.first("PB"), r.first("N1"), cleanNames(r.fields["KW"])
			if e.Err == nil {
				e.RIS = r.list()
			}
			stopped = give(b, yield, e)
			return stopped == nil
		})
		return cmp.Or(stopped, err)
	})
}
