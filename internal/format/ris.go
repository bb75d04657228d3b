package format

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// readRIS reads RIS references as documents.
func readRIS(b *budget.Budget, r io.Reader, tell func(), yield func(source.Document, error) bool) error {
	seen := make(idSet)
	return readRISEntries(b, r, tell, func(e *risEntry) bool {
		place := "line " + strconv.Itoa(e.line)
		d, err := guarded(place, e.document)
		if err == nil {
			d, err = seen.once(d, place, e.line)
		}
		return yield(d, err)
	})
}

// readRISEntries reads RIS references: lines such as "TI  - The title", from "TY" to "ER".
func readRISEntries(b *budget.Budget, r io.Reader, tell func(), yield func(*risEntry) bool) error {
	lines := lineReader{r: bufio.NewReaderSize(r, readBuffer)}
	var e *risEntry
	entries, blank := 0, true
	give := func() bool {
		if e == nil {
			return true
		}
		done := e
		e = nil
		return yield(done)
	}
	for {
		if err := b.Err(); err != nil {
			return err
		}
		line, err := lines.nextFilled()
		tell()
		b.Work(workRecord/4 + workTable*len(line))
		if errors.Is(err, io.EOF) {
			give()
			if entries == 0 && !blank {
				return &RecordError{"the file", "holds no reference: in RIS each begins with a line TY  -"}
			}
			return nil
		}
		blank = blank && len(line) == 0 && err == nil
		tag, value, isTag := risLine(line)
		switch {
		case err != nil && !errors.Is(err, errLongLine):
			return err
		case err != nil:
			if e != nil {
				e.wrong = errLongLine
			}
		case isTag && tag == "TY":
			if !give() {
				return nil
			}
			entries++
			b.Work(4 * workRecord)
			e = &risEntry{line: lines.n, fields: map[string][]string{"TY": {value}}, tags: []string{"TY"}}
		case isTag && tag == "ER":
			if !give() {
				return nil
			}
		case e == nil:
		case isTag:
			e.add(tag, value)
		default:
			e.lengthen(string(line))
		}
	}
}

// risLine splits a line into tag and value.
func risLine(line []byte) (tag, value string, ok bool) {
	if len(line) < 5 || line[2] != ' ' || !upper(line[0]) || !upper(line[1]) && (line[1] < '0' || line[1] > '9') {
		return "", "", false
	}
	dash := strings.TrimLeft(string(line[2:]), " ")
	if !strings.HasPrefix(dash, "-") {
		return "", "", false
	}
	return string(line[:2]), strings.TrimSpace(dash[1:]), true
}

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

// risEntry collects the lines of a reference.
type risEntry struct {
	line   int
	fields map[string][]string
	// tags are the tags of all values in the order of the file.
	tags []string
	last string
	// more holds continuation lines of the last value, which are joined once to avoid copying the value for each.
	more  []string
	size  int
	wrong error
}

func (e *risEntry) add(tag, value string) {
	if e.size += len(value) + 16; e.size > maxLine {
		e.wrong = errLongLine
		return
	}
	e.join()
	e.last = tag
	if value != "" {
		e.fields[tag] = append(e.fields[tag], value)
		e.tags = append(e.tags, tag)
	}
}

// list returns the values in the order of the file.
func (e *risEntry) list() []RISField {
	next := map[string]int{}
	out := make([]RISField, len(e.tags))
	for i, tag := range e.tags {
		out[i] = RISField{tag, oneLine(e.fields[tag][next[tag]])}
		next[tag]++
	}
	return out
}

// lengthen adds a line without a tag to the last value.
func (e *risEntry) lengthen(s string) {
	if e.size += len(s) + 16; e.size > maxLine {
		e.wrong = errLongLine
	} else if len(e.fields[e.last]) > 0 && s != "" {
		e.more = append(e.more, s)
	}
}

// join appends the continuation lines to the last value.
func (e *risEntry) join() {
	if values := e.fields[e.last]; len(values) > 0 && len(e.more) > 0 {
		values[len(values)-1] += " " + strings.Join(e.more, " ")
	}
	e.more = e.more[:0]
}

func (e *risEntry) first(tags ...string) string {
	for _, tag := range tags {
		if v := e.fields[tag]; len(v) > 0 {
			return v[0]
		}
	}
	return ""
}

// titled is document with a title for a reference that has none: its first text.
func (e *risEntry) titled() (source.Document, error) {
	d, err := e.document()
	if err == nil && d.Title == "" && len(e.tags) > 1 {
		d.Title = e.list()[1].Value
		d.ExternalID = firstOf(d.ExternalID, d.Title)
	}
	return d, err
}

func (e *risEntry) document() (source.Document, error) {
	if e.wrong != nil {
		return source.Document{}, e.wrong
	}
	e.join()
	for _, values := range e.fields {
		for i, v := range values {
			decoded, err := decodeValue(v)
			if err != nil {
				return source.Document{}, fault("is not valid UTF-8")
			}
			values[i] = decoded
		}
	}
	r := reference{
		title: e.first("TI", "T1", "CT", "BT", "T2", "ST"), abstract: e.first("AB", "N2"), url: e.first("UR", "L2"),
		doi:   e.first("DO", "M3"),
		venue: e.first("JO", "JF", "T2", "JA", "J2", "PB"), kind: kindOfReference(e.first("TY")),
		keywords: e.fields["KW"], language: e.first("LA"),
		date: strings.ReplaceAll(strings.Trim(e.first("DA", "Y1", "PY"), "/"), "/", "-"),
	}
	r.year = yearOfDate(e.first("PY", "Y1", "DA"))
	for _, tag := range []string{"AU", "A1", "A2", "ED"} {
		for _, name := range e.fields[tag] {
			r.authors = append(r.authors, turnName(name))
		}
		if len(r.authors) > 0 {
			break
		}
	}
	r.id = firstOf(e.first("ID"), bareDOI(r.doi), e.first("AN"), r.title)
	return r.document(), nil
}
