package format

import (
	"bytes"
	"context"
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
	entry     BibEntry
	macros    map[string]BibField
	uses      map[string][]string
	used      []string
	preambles []string
}

func (r *bibRaw) field(name, assigned string) {
	if r != nil {
		r.entry.Fields = append(r.entry.Fields, BibField{name, expression(assigned)})
	}
}

func (r *bibRaw) macro(name, assigned string) {
	if r != nil {
		r.macros[name] = BibField{name, expression(assigned)}
		r.uses[name] = r.used
		r.used = nil
	}
}

func (r *bibRaw) use(name string) {
	if r != nil {
		r.used = append(r.used, name)
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

// strings returns the definitions that names use, each after those that it uses.
func (r *bibRaw) strings(names []string, out []BibField) []BibField {
	for _, name := range names {
		f := r.macros[name]
		if slices.Contains(out, f) {
			continue
		}
		out = r.strings(r.uses[name], out)
		out = append(out, f)
	}
	return out
}

// ReadBibTeX reads the entries of a BibTeX file, as documents and as written. The error is that of the whole file.
func ReadBibTeX(ctx context.Context, data []byte) (entries []Entry, err error) {
	b := budget.New(ctx, budget.Default, int64(len(data)), nil)
	err = budget.Catch(func() error {
		content, err := readListed(b, bytes.NewReader(data))
		if err != nil {
			return err
		}
		raw := &bibRaw{macros: map[string]BibField{}, uses: map[string][]string{}}
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
				entries = append(entries, e)
			}
		}
		return b.Err()
	})
	return entries, err
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
		return bibReference(raw.entry.Key, kind, fields).document(), nil
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
	written.Strings, written.Preamble = raw.strings(raw.used, nil), raw.preambles
	e.BibTeX = &written
	return e, true
}

// writtenType returns the last identifier in the text from the last entry to the opening brace.
func writtenType(before string) string {
	before = before[strings.LastIndexByte(before, '@')+1:]
	return strings.TrimSpace(strings.TrimRight(strings.TrimSpace(before), "{("))
}

func keywordsIn(s string) []string {
	return cleanNames(strings.FieldsFunc(s, func(c rune) bool { return c == ',' || c == ';' }))
}

// ReadRIS reads the references of a RIS file. The error is that of the whole file.
func ReadRIS(ctx context.Context, data []byte) (entries []Entry, err error) {
	b := budget.New(ctx, budget.Default, int64(len(data)), nil)
	err = budget.Catch(func() error {
		return readRISEntries(b, bytes.NewReader(data), func() {}, func(r *risEntry) bool {
			e := Entry{Line: r.line}
			e.Document, e.Err = guarded("line "+strconv.Itoa(r.line), r.document)
			e.Volume, e.Issue, e.Pages = r.first("VL"), r.first("IS"), r.first("SP")
			if last := r.first("EP"); last != "" && e.Pages != "" && last != e.Pages {
				e.Pages += "-" + last
			}
			e.Publisher, e.Note, e.Keywords = r.first("PB"), r.first("N1"), cleanNames(r.fields["KW"])
			entries = append(entries, e)
			return true
		})
	})
	return entries, err
}
