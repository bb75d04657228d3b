package format

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// csvColumns maps the column names of reference managers and databases to fields.
var csvColumns = map[string]string{
	"id": "id", "key": "id", "eid": "id", "citation key": "id", "item id": "id",
	"title": "title", "document title": "title", "article title": "title", "name": "title",
	"text": "text", "abstract": "text", "abstract note": "text", "content": "text", "body": "text",
	"description": "text", "summary": "text",
	"authors": "authors", "author": "authors", "author full names": "authors", "creators": "authors",
	"year": "year", "publication year": "year", "date": "year", "publication date": "year", "published": "year",
	"url": "url", "link": "url", "pdf link": "url",
	"doi":   "doi",
	"venue": "venue", "journal": "venue", "source title": "venue", "publication title": "venue", "booktitle": "venue",
	"type": "type", "item type": "type", "document type": "type",
	"language": "language", "lang": "language", "language of original document": "language",
}

const (
	// maxColumns limits the columns of a table.
	maxColumns = 2000
	// maxCommas limits the separators in one row, including those in quoted text, because encoding/csv allocates 40
	// bytes per field before it returns the row.
	maxCommas = 500_000
)

// readCSV reads a table whose first row names the columns. Unknown columns become part of the text.
func readCSV(b *budget.Budget, r io.Reader, tell func(), yield func(source.Document, error) bool) error {
	bounded := &recordBound{r: r}
	buffered := bufio.NewReaderSize(bounded, readBuffer)
	if mark, _ := buffered.Peek(3); bytes.Equal(mark, utf8BOM) {
		_, _ = buffered.Discard(3) // the byte order mark
	}
	table := csv.NewReader(buffered)
	head, _ := buffered.Peek(4096)
	table.Comma = csvComma(head)
	bounded.comma, bounded.commas = byte(table.Comma), maxCommas
	table.FieldsPerRecord, table.LazyQuotes, table.ReuseRecord = -1, true, true
	columns, err := readColumns(table)
	if err != nil || columns == nil {
		return err
	}
	seen := make(idSet)
	for row := 1; ; row++ {
		if err := b.Err(); err != nil {
			return err
		}
		bounded.left, bounded.commas = maxLine, maxCommas
		offset := table.InputOffset()
		values, err := table.Read()
		tell()
		b.Work(workRecord + workTable*int(table.InputOffset()-offset))
		if errors.Is(err, io.EOF) {
			return nil
		}
		line, _ := 0, 0
		if err == nil {
			line, _ = table.FieldPos(0)
		}
		place := "line " + strconv.Itoa(line)
		if err != nil {
			place = "row " + strconv.Itoa(row)
		}
		d, recordErr := guarded(place, func() (source.Document, error) {
			if _, is := errors.AsType[*csv.ParseError](err); is {
				return source.Document{}, fault("is not a row of a table")
			}
			if err != nil {
				return source.Document{}, err
			}
			return csvDocument(columns, values, row)
		})
		if errors.Is(err, errLongLine) {
			return &RecordError{place, "is longer than 16 MiB; a quote may be open, so the rest is not read"}
		}
		if errors.Is(err, errManyFields) {
			return &RecordError{place, "holds more than 500,000 separators; the rest is not read"}
		}
		if recordErr == nil {
			d, recordErr = seen.once(d, place, line)
		}
		_, goesOn := errors.AsType[*RecordError](recordErr)
		if !yield(d, recordErr) || recordErr != nil && !goesOn {
			return nil
		}
	}
}

// readColumns reads the header row. An empty table has no columns.
func readColumns(table *csv.Reader) ([]csvColumn, error) {
	names, err := table.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil || len(names) > maxColumns {
		return nil, &RecordError{"line 1", "does not name the columns of a table"}
	}
	columns := csvHead(names)
	if !slices.ContainsFunc(columns, func(c csvColumn) bool { return c.field == "title" || c.field == "text" }) {
		return nil, &RecordError{"line 1", "names no column title or text; the first row must name the columns"}
	}
	return columns, nil
}

// recordBound limits the length of a record, with some slack for read-ahead.
type recordBound struct {
	r    io.Reader
	left int
	// commas is the number of separators that may still be read.
	comma  byte
	commas int
}

const errManyFields = fault("holds too many separators")

func (b *recordBound) Read(p []byte) (int, error) {
	if b.left < -readBuffer {
		return 0, errLongLine
	}
	if b.commas < -readBuffer {
		return 0, errManyFields
	}
	n, err := b.r.Read(p)
	b.left -= n
	if b.comma != 0 {
		b.commas -= bytes.Count(p[:n], []byte{b.comma})
	}
	return n, err
}

// csvComma guesses the separator: the most frequent candidate in the first line.
func csvComma(head []byte) rune {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	best, most := ',', bytes.Count(line, []byte(","))
	for _, c := range []rune{';', '\t'} {
		if n := bytes.Count(line, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
}

type csvColumn struct{ name, field string }

func csvHead(names []string) []csvColumn {
	out := make([]csvColumn, len(names))
	taken := map[string]bool{}
	for i, n := range names {
		if decoded, err := decodeValue(n); err == nil {
			n = decoded
		}
		n = strings.TrimSpace(strings.ToValidUTF8(n, ""))
		field := csvColumns[strings.ToLower(n)]
		if taken[field] {
			field = ""
		}
		taken[field] = true
		out[i] = csvColumn{strings.Clone(n), field}
	}
	return out
}

func csvDocument(columns []csvColumn, values []string, row int) (source.Document, error) {
	fields := map[string]string{}
	var rest strings.Builder
	for i, v := range values {
		v = strings.TrimSpace(v)
		v, err := decodeValue(v)
		if err != nil {
			return source.Document{}, fault("is not valid UTF-8; save the table as UTF-8")
		}
		switch {
		case v == "" || i >= len(columns):
		case columns[i].field != "":
			fields[columns[i].field] = v
		case columns[i].name != "":
			rest.WriteString(columns[i].name + ": " + v + "\n")
		}
	}
	r := reference{
		id: fields["id"], title: fields["title"], abstract: strings.TrimSpace(fields["text"] + "\n\n" + rest.String()),
		url: fields["url"],
		doi: fields["doi"], venue: fields["venue"], kind: firstOf(kindOfReference(fields["type"]), fields["type"]),
		date: fields["year"], language: fields["language"],
	}
	r.authors = splitNames(fields["authors"])
	r.id = firstOf(r.id, bareDOI(r.doi), "row "+strconv.Itoa(row))
	return r.document(), nil
}
