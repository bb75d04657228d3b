package format

import (
	"io"
	"path"
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// Limits on the bytes read from one file. Texts are small; files with embedded pictures are not.
const (
	maxFile   = 20 << 20
	maxBinary = 100 << 20
	maxListed = 64 << 20
)

// documentParser reads one file as one document. name is the file's path in its folder, used where the content has no
// title. The caller sets the document's id.
type documentParser func(b *budget.Budget, name string, data []byte) (source.Document, error)

// recordReader reads a file that holds many documents. It passes each to yield until yield returns false, calls
// progress after each record, and returns an error if the file ends early or is malformed as a whole.
type recordReader func(b *budget.Budget, r io.Reader, progress func(), yield func(source.Document, error) bool) error

// fileFormat describes one supported file format. Either one or many is set.
type fileFormat struct {
	// extensions are the lower-case endings of file names.
	extensions []string
	// mediaTypes are the Content-Types under which web servers send this format.
	mediaTypes []string
	one        documentParser
	many       recordReader
	// attached is one for files with attachments, which become documents of their own.
	attached func(b *budget.Budget, name string, data []byte) (source.Document, []attachment, error)
	// limit is the maximum size of a file that is one document.
	limit int64
	// weight multiplies the memory that is reserved for a document; 0 means 1.
	weight int64
}

const archiveExtension = ".zip"

// formats lists the supported file formats. Messages, help texts, the media types of web pages and the contract's list
// are derived from it or compared with it. It is set by init, because readers of mail look up the formats of
// attachments.
var (
	formats     []fileFormat
	byExtension map[string]fileFormat
	byMediaType map[string]string
)

func init() {
	formats = allFormats()
	byExtension, byMediaType = indexFormats()
}

func allFormats() []fileFormat {
	return []fileFormat{
		{extensions: []string{".pdf"}, mediaTypes: []string{"application/pdf"}, one: parsePDF, limit: maxBinary},
		{
			extensions: []string{".docx", ".docm"}, one: parseDOCX, limit: maxBinary,
			mediaTypes: []string{"application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		},
		{
			extensions: []string{".pptx", ".pptm", ".ppsx"}, one: parsePPTX, limit: maxBinary,
			mediaTypes: []string{"application/vnd.openxmlformats-officedocument.presentationml.presentation"},
		},
		{
			extensions: []string{".xlsx", ".xlsm"}, one: parseXLSX, limit: maxBinary,
			mediaTypes: []string{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
		},
		{
			extensions: []string{".odt", ".ods", ".odp"}, one: parseODF, limit: maxBinary,
			mediaTypes: []string{
				"application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.spreadsheet",
				"application/vnd.oasis.opendocument.presentation",
			},
		},
		{extensions: []string{".rtf"}, mediaTypes: []string{"application/rtf", "text/rtf"}, one: parseRTF, limit: maxBinary},
		{extensions: []string{".epub"}, mediaTypes: []string{"application/epub+zip"}, one: parseEPUB, limit: maxBinary},
		{
			extensions: []string{".html", ".htm", ".xhtml"}, one: parseHTML, limit: maxFile,
			mediaTypes: []string{"text/html", "application/xhtml+xml"},
		},
		{
			extensions: []string{".md", ".markdown"}, one: parseMarkdown, limit: maxFile, weight: weightTree,
			mediaTypes: []string{"text/markdown"},
		},
		{
			extensions: []string{".ipynb"}, one: parseNotebook, limit: maxFile, weight: weightTree,
			mediaTypes: []string{"application/x-ipynb+json"},
		},
		{
			extensions: []string{".tex", ".latex"}, one: parseTeX, limit: maxFile,
			mediaTypes: []string{"application/x-tex", "text/x-tex", "application/x-latex"},
		},
		{extensions: []string{".txt", ".text"}, mediaTypes: []string{"text/plain"}, one: parsePlain, limit: maxFile},
		{extensions: []string{".eml"}, one: parseMail, attached: readMail, limit: maxMessage},
		{
			extensions: []string{".msg"}, one: parseMSG, attached: readMSG, limit: maxMessage,
			mediaTypes: []string{"application/vnd.ms-outlook"},
		},
		{extensions: []string{".mbox"}, many: readMbox},
		{extensions: []string{".jsonl", ".ndjson"}, many: readLines},
		{extensions: []string{".csv", ".tsv"}, many: readCSV},
		{extensions: []string{".bib", ".bibtex"}, many: readBibTeX},
		{extensions: []string{".ris"}, many: readRIS},
		{extensions: []string{".rdf"}, many: readRDF},
		{extensions: []string{".json"}, many: readCSL},
	}
}

func indexFormats() (byExtension map[string]fileFormat, byMediaType map[string]string) {
	byExtension, byMediaType = map[string]fileFormat{}, map[string]string{}
	for _, f := range formats {
		for _, extension := range f.extensions {
			byExtension[extension] = f
		}
		for _, mediaType := range f.mediaTypes {
			byMediaType[mediaType] = f.extensions[0]
		}
	}
	return byExtension, byMediaType
}

// Extensions returns the endings of the names of all files that can be read, archives included.
func Extensions() []string {
	var out []string
	for _, f := range formats {
		out = append(out, f.extensions...)
	}
	return append(out, archiveExtension)
}

// ExtensionList returns Extensions as text for messages.
func ExtensionList() string { return strings.Join(Extensions(), ", ") }

// ExtensionOf returns the extension of files of a media type, without parameters, that web pages may have.
func ExtensionOf(mediaType string) (extension string, ok bool) {
	extension, ok = byMediaType[mediaType]
	return extension, ok
}

// Costs in work units of the budget, proportional to the measured CPU time.
const (
	workRecord = 250 // per record: its place, hash and possible error
	workText   = 1   // per byte of text
	workJSON   = 2   // per byte of JSON
	workTable  = 2   // per byte of a table or bibliography
	workHTML   = 12  // per byte of HTML
	workXML    = 16  // per byte of XML
	workToken  = 100 // per tag or text node of XML
)

// formatOf returns the format of a file by its name, and whether the file is compressed with gzip, which only files of
// many records may be.
func formatOf(name string) (f fileFormat, gzipped, ok bool) {
	name = strings.ToLower(name)
	if inner, isGzip := strings.CutSuffix(name, ".gz"); isGzip {
		f = byExtension[path.Ext(inner)]
		return f, true, f.many != nil
	}
	f, ok = byExtension[path.Ext(name)]
	return f, false, ok
}

// Reads reports whether a file with this name can be read, including archives.
func Reads(name string) bool {
	_, _, ok := formatOf(name)
	return ok || IsArchive(name)
}

// IsArchive reports whether a file with this name is an archive of other files.
func IsArchive(name string) bool { return strings.EqualFold(path.Ext(name), archiveExtension) }

// HoldsRecords reports whether a file with this name holds many records, each with its own id.
func HoldsRecords(name string) bool {
	f, _, _ := formatOf(name)
	return f.many != nil
}
