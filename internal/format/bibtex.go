package format

import (
	"io"
	"strconv"
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// readBibTeX reads BibTeX entries. An entry that is not closed ends where the next begins.
func readBibTeX(b *budget.Budget, r io.Reader, tell func(), yield func(source.Document, error) bool) (err error) {
	waited := b.Document(maxListed, func() { err = readEntries(b, r, tell, yield) })
	if waited != nil {
		return waited
	}
	return err
}

func readEntries(b *budget.Budget, r io.Reader, tell func(), yield func(source.Document, error) bool) error {
	content, err := readListed(b, r)
	if err != nil {
		return err
	}
	tell()
	p := &bibParser{s: content, line: 1, macros: map[string]string{}, b: b}
	parents := bibParents(b, content)
	seen := make(idSet)
	for entries := 0; ; entries++ {
		if err := b.Err(); err != nil {
			return err
		}
		b.Work(workRecord)
		kind, ok := p.nextEntry()
		if !ok && entries == 0 && strings.TrimSpace(content) != "" {
			return &RecordError{"the file", "holds no entry: in BibTeX each begins as @article{ does"}
		}
		if !ok {
			return nil
		}
		line := p.line
		place := "line " + strconv.Itoa(line)
		var fields map[string]string
		var key string
		d, err := guarded(place, func() (source.Document, error) {
			var err error
			if key, fields, err = p.entry(kind); err != nil || fields == nil {
				return source.Document{ExternalID: "-", Title: "-"}, err
			}
			inherit(fields, kind, parents)
			return bibReference(key, kind, fields).document(), nil
		})
		if err == nil && fields == nil {
			continue // a macro or comment
		}
		if err == nil {
			d, err = seen.once(d, place, line)
		}
		if !yield(d, err) {
			return nil
		}
	}
}

// memoryBibEntry is the memory of an entry's fields beyond their text, which is shared with the file.
const memoryBibEntry = 1500

// bibParents returns the fields of all entries by key in lower case, if an entry refers to another. The other may come
// later in the file.
func bibParents(b *budget.Budget, content string) map[string]map[string]string {
	if !strings.Contains(content, "crossref") && !strings.Contains(content, "Crossref") &&
		!strings.Contains(content, "CROSSREF") {
		return nil
	}
	p := &bibParser{s: content, line: 1, macros: map[string]string{}, b: b}
	parents := map[string]map[string]string{}
	for {
		b.Work(workRecord)
		kind, ok := p.nextEntry()
		if !ok {
			return parents
		}
		key, fields, err := p.entry(kind)
		if err != nil || fields == nil {
			continue // reported when the entries are read
		}
		b.Hold(memoryBibEntry)
		if _, again := parents[strings.ToLower(key)]; !again {
			parents[strings.ToLower(key)] = fields
		}
	}
}

// notInherited are fields that describe an entry alone.
var notInherited = map[string]bool{
	"title": true, "subtitle": true, "abstract": true, "doi": true, "url": true, "keywords": true, "keyword": true,
	"crossref": true, "author": true, "pages": true, "note": true, "file": true, "ids": true, "key": true, "eprint": true,
}

// maxInherited limits the chain of references.
const maxInherited = 3

// inherit adds the fields that an entry lacks from the entry that its crossref names. The title of a book or of
// proceedings becomes the booktitle.
func inherit(fields map[string]string, kind string, parents map[string]map[string]string) {
	key := fields["crossref"]
	for range maxInherited {
		key = strings.ToLower(strings.TrimSpace(key))
		parent := parents[key]
		if key == "" || parent == nil { // an entry without a key is not a parent
			return
		}
		adopt := func(name, value string) {
			if fields[name] == "" && value != "" {
				fields[name] = value
			}
		}
		for name, value := range parent {
			if !notInherited[name] {
				adopt(name, value)
			}
		}
		adopt("booktitle", parent["title"])
		if kind == "inbook" || kind == "suppbook" {
			adopt("author", parent["author"])
		}
		key = parent["crossref"]
	}
}

// once rejects a document whose id occurred on an earlier line.
func (s idSet) once(d source.Document, place string, line int) (source.Document, error) {
	if first, again := s.add(d.ExternalID, line); again {
		return source.Document{}, &RecordError{place, "repeats the id of line " + strconv.Itoa(first)}
	}
	return d, nil
}

// readListed reads a file of records that is parsed as a whole.
func readListed(b *budget.Budget, r io.Reader) (string, error) {
	return readListedAs(b, r, decodeText)
}

func readListedAs(b *budget.Budget, r io.Reader, decode func([]byte) (string, error)) (string, error) {
	data, err := b.ReadAll(r, maxListed, 0)
	if err != nil {
		return "", err
	}
	b.Hold(len(data)) // for the string
	if len(data) > maxListed {
		return "", &RecordError{"the file", "is larger than 64 MiB; split it"}
	}
	s, err := decode(data)
	if err != nil {
		return "", &RecordError{"the file", err.Error()}
	}
	return s, nil
}

type bibParser struct {
	s      string
	pos    int
	line   int
	macros map[string]string
	b      *budget.Budget
	// size is the length of the current entry's values.
	size int
	// raw collects the entry as written, for ReadBibTeX; nil otherwise.
	raw *bibRaw
}

// maxMacro limits a macro. Macros may contain macros, so without a limit each could double the previous one.
const maxMacro = 64 << 10

// nextEntry advances to the next "@kind{" and returns the kind in lower case.
func (p *bibParser) nextEntry() (string, bool) {
	for {
		at := strings.IndexByte(p.s[p.pos:], '@')
		if at < 0 {
			return "", false
		}
		p.advance(at + 1)
		kind := strings.ToLower(p.identifier())
		p.skipSpace()
		if kind != "" && (p.peek() == '{' || p.peek() == '(') {
			p.advance(1)
			return kind, true
		}
	}
}

func (p *bibParser) advance(n int) {
	p.b.Work(workTable * n)
	p.line += strings.Count(p.s[p.pos:p.pos+n], "\n")
	p.pos += n
}

func (p *bibParser) peek() byte {
	if p.pos < len(p.s) {
		return p.s[p.pos]
	}
	return 0
}

func (p *bibParser) skipSpace() {
	n := len(p.s[p.pos:]) - len(strings.TrimLeft(p.s[p.pos:], " \t\n"))
	p.advance(n)
}

func (p *bibParser) identifier() string {
	start := p.pos
	for p.pos < len(p.s) && !strings.ContainsRune(" \t\n{}(),=\"#%", rune(p.s[p.pos])) {
		p.pos++
	}
	return p.s[start:p.pos]
}

const errBibEntry = fault("is not closed, has a field without a value, or is longer than 16 MiB")

// entry parses the body of an entry. Entries that are not references have no fields.
func (p *bibParser) entry(kind string) (key string, fields map[string]string, err error) {
	p.size = 0
	switch kind {
	case "preamble":
		p.raw.preamble(p)
		return "", nil, nil // nextEntry skips the rest
	case "comment":
		return "", nil, nil
	case "string":
		p.skipSpace()
		name := strings.ToLower(p.identifier())
		start := p.pos
		value, ok := p.assigned()
		if ok && len(value) <= maxMacro {
			p.macros[name] = value
			p.raw.macro(name, p.s[start:p.pos])
		}
		return "", nil, nil
	}
	key = p.key()
	fields = map[string]string{}
	for {
		p.skipSpace()
		switch p.peek() {
		case ',':
			p.advance(1)
			continue
		case '}', ')':
			p.advance(1)
			return key, fields, nil
		}
		written := p.identifier()
		name := strings.ToLower(written)
		if name == "" {
			return key, fields, errBibEntry
		}
		start := p.pos
		value, ok := p.assigned()
		if !ok {
			return key, fields, errBibEntry
		}
		p.raw.field(written, p.s[start:p.pos])
		if _, again := fields[name]; !again {
			fields[name] = value
		}
	}
}

// key parses the key of an entry, which may contain any character but white space, a comma and a closing brace. An
// entry without a key begins with a field.
func (p *bibParser) key() string {
	p.skipSpace()
	start := p.pos
	for p.pos < len(p.s) && strings.IndexByte(" \t\n,}", p.s[p.pos]) < 0 {
		p.pos++
	}
	key := p.s[start:p.pos]
	p.skipSpace()
	if p.peek() == '=' || strings.Contains(key, "=") {
		p.pos = start
		return ""
	}
	return key
}

// assigned parses "= value # value".
func (p *bibParser) assigned() (string, bool) {
	p.skipSpace()
	if p.peek() != '=' {
		return "", false
	}
	p.advance(1)
	var out strings.Builder
	for {
		p.skipSpace()
		part, ok := p.value()
		if !ok {
			return "", false
		}
		if p.size += len(part); p.size > maxLine {
			return "", false
		}
		out.WriteString(part)
		p.skipSpace()
		if p.peek() != '#' {
			return out.String(), true
		}
		p.advance(1)
	}
}

// value parses a value: in braces, in quotes, a number, or a macro name.
func (p *bibParser) value() (string, bool) {
	switch open := p.peek(); open {
	case '{', '"':
		p.advance(1)
		return p.delimited(open)
	}
	word := p.identifier()
	if word == "" {
		return "", false
	}
	if s, ok := p.macros[strings.ToLower(word)]; ok {
		p.raw.use(strings.ToLower(word))
		return s, true
	}
	if s, ok := bibMonths[strings.ToLower(word)]; ok {
		return s, true
	}
	return word, true
}

// delimited parses up to the closing brace or quote. Braces nest. BibTeX counts braces after a backslash too, as in a
// path that ends in one, but files of other programs escape single braces. So such a brace closes the value only if it
// is followed by what follows a value.
func (p *bibParser) delimited(open byte) (string, bool) {
	// all is the depth with escaped braces.
	depth, all := 0, 0
	for i := p.pos; i < len(p.s); i++ {
		c := p.s[i]
		if (i-p.pos)&1023 == 1023 {
			// Charged even if the value is not closed, because its text is parsed again for the next entry.
			p.b.Work(workTable * 1024)
		}
		switch {
		case c == '\\':
			i++
			if open == '{' && all == 0 && p.has(i, '}') && p.endsValue(i+1) {
				return p.take(i), true
			}
			all += p.nesting(i)
		case c == '}' && depth == 0 && open == '{', c == '"' && depth == 0 && open == '"':
			return p.take(i), true
		case c == '{' || c == '}':
			depth += p.nesting(i)
			all += p.nesting(i)
		case c == '@' && i > 0 && p.s[i-1] == '\n' && depth >= 0 && looksLikeEntry(p.s[i:]):
			return "", false // not closed: the next entry begins
		}
	}
	return "", false
}

func (p *bibParser) has(at int, c byte) bool { return at < len(p.s) && p.s[at] == c }

// nesting returns the change of the depth at a character.
func (p *bibParser) nesting(at int) int {
	switch {
	case p.has(at, '{'):
		return 1
	case p.has(at, '}'):
		return -1
	}
	return 0
}

// take returns the text before a closing brace or quote and advances beyond it.
func (p *bibParser) take(end int) string {
	value := p.s[p.pos:end]
	p.advance(end + 1 - p.pos)
	return value
}

// endsValue reports whether the text at a position can follow a value.
func (p *bibParser) endsValue(at int) bool {
	rest := strings.TrimLeft(p.s[at:min(len(p.s), at+80)], " \t\n")
	return rest == "" || strings.IndexByte(",})#", rest[0]) >= 0
}

func looksLikeEntry(s string) bool {
	word, _, found := strings.Cut(s[1:min(len(s), 40)], "{")
	return found && word != "" && strings.Trim(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz ") == ""
}

var bibMonths = map[string]string{
	"jan": "01", "feb": "02", "mar": "03", "apr": "04", "may": "05", "jun": "06",
	"jul": "07", "aug": "08", "sep": "09", "oct": "10", "nov": "11", "dec": "12",
}

func bibReference(key, kind string, f map[string]string) reference {
	text := func(names ...string) string {
		for _, n := range names {
			if s := strings.TrimSpace(delatex(f[n])); s != "" {
				return s
			}
		}
		return ""
	}
	r := reference{
		id:       key,
		title:    text("title", "maintitle", "booktitle", "shorttitle", "chapter", "note", "howpublished"),
		abstract: text("abstract"),
		url:      texEscapes.Replace(f["url"]), doi: texEscapes.Replace(f["doi"]), kind: kindOfReference(kind),
		venue: text("journal", "journaltitle", "booktitle", "publisher", "school", "institution", "howpublished"),
		year:  yearOfDate(text("year", "date", "issued")), date: text("date"),
		language: text("langid", "language", "hyphenation"),
	}
	people := firstOf(f["author"], f["editor"])
	for _, name := range splitAtAnd(people) {
		if name = delatex(name); name != "others" { // "and others" stands for et al.
			r.authors = append(r.authors, turnName(name))
		}
	}
	if k := text("keywords", "keyword"); k != "" {
		r.keywords = strings.FieldsFunc(k, func(c rune) bool { return c == ',' || c == ';' })
	}
	if r.title == "" {
		// Entries without a title are rare and have at least names or a label.
		r.title = strings.TrimSpace(strings.Join(cleanNames(r.authors), ", ") + " " + text("year", "date"))
		r.title = firstOf(r.title, text("journal", "journaltitle", "url"), key)
	}
	if r.id == "" {
		r.id = firstOf(bareDOI(r.doi), r.title)
	}
	return r
}

// splitAtAnd splits names at "and" outside braces, because names of companies in braces may contain it.
func splitAtAnd(s string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		if i > start && strings.IndexByte(" \n\t", s[i]) >= 0 && strings.IndexByte(" \n\t", s[i-1]) >= 0 {
			continue // skip white space
		}
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ' ', '\n', '\t':
			rest := strings.TrimLeft(s[i:], " \n\t")
			if depth == 0 && len(rest) > 4 && strings.EqualFold(rest[:3], "and") &&
				strings.IndexByte(" \n\t", rest[3]) >= 0 {
				out = append(out, s[start:i])
				i = len(s) - len(rest) + 3
				start = i
			}
		}
	}
	return append(out, s[start:])
}
