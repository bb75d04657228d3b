package format

import (
	"io"
	"path"
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// How much of one file is read. A text is small, however long; a file with pictures in it need not be.
const (
	maxFile   = 20 << 20
	maxBinary = 100 << 20
	maxListed = 64 << 20
)

// format makes a document of one file's content. The name is the file's path in its folder, for what the content
// does not say; the id is set by the caller.
type format func(b *budget.Budget, name string, data []byte) (source.Document, error)

// records reads a file that holds many documents. It gives each to yield until that has enough, tells after each how
// far it is, and returns what ended the reading too early.
type records func(b *budget.Budget, r io.Reader, tell func(), yield func(source.Document, error) bool) error

// kind is how one sort of file is read: as one document, or as many.
type kind struct {
	one  format
	many records
	// limit is how large a file of one document may be.
	limit int64
	// weight is how many times as much memory as others a document takes; 0 means once.
	weight int64
}

// kinds are the sorts of files by the end of their names.
var kinds = map[string]kind{
	".md": {one: parseMarkdown, limit: maxFile, weight: weightTree}, ".markdown": {one: parseMarkdown, limit: maxFile, weight: weightTree},
	".txt": {one: parsePlain, limit: maxFile}, ".text": {one: parsePlain, limit: maxFile},
	".html": {one: parseHTML, limit: maxFile}, ".htm": {one: parseHTML, limit: maxFile},
	".xhtml": {one: parseHTML, limit: maxFile},
	".pdf":   {one: parsePDF, limit: maxBinary},
	".docx":  {one: parseDOCX, limit: maxBinary},
	".epub":  {one: parseEPUB, limit: maxBinary},
	".eml":   {one: parseMail, limit: maxMessage},
	".jsonl": {many: readLines}, ".ndjson": {many: readLines},
	".csv": {many: readCSV}, ".tsv": {many: readCSV},
	".bib": {many: readBibTeX}, ".bibtex": {many: readBibTeX},
	".ris":  {many: readRIS},
	".json": {many: readCSL},
	".mbox": {many: readMbox},
}

// Steps of the budget that parsers take, by how long each takes.
const (
	workRecord = 250 // a record: its place, its hash, and the error that it may be
	workText   = 1   // a byte of text
	workJSON   = 2   // a byte of JSON
	workTable  = 2   // a byte of a table, or of a bibliography
	workHTML   = 12  // a byte of HTML
	workXML    = 16  // a byte of XML
	workToken  = 100 // a tag or a text of XML
)

// kindOf returns how a file is read by its name, and whether it is packed with gzip, as files of many records may be.
func kindOf(name string) (k kind, packed, known bool) {
	name = strings.ToLower(name)
	if inner, isPacked := strings.CutSuffix(name, ".gz"); isPacked {
		k = kinds[path.Ext(inner)]
		return k, true, k.many != nil
	}
	k, known = kinds[path.Ext(name)]
	return k, false, known
}

// Reads reports whether a file of this name can be read, an archive of such files included.
func Reads(name string) bool {
	_, _, known := kindOf(name)
	return known || isArchive(name)
}

func isArchive(name string) bool { return strings.EqualFold(path.Ext(name), ".zip") }

// Archive reports whether a file of this name is an archive of others.
func Archive(name string) bool { return isArchive(name) }

// Lists reports whether a file of this name holds many records with ids of their own.
func Lists(name string) bool {
	k, _, _ := kindOf(name)
	return k.many != nil
}
