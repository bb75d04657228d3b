package favourite

import (
	"bufio"
	"encoding/csv"
	"strconv"
	"strings"
	"unicode/utf8"
)

// csvHeader names the columns as a card names its fields.
var csvHeader = []string{
	"cardId", "type", "title", "authors", "year", "venue", "volume", "issue", "pages", "publisher", "doi", "url", "abstract",
}

// writeCSV writes a table as RFC 4180 has it. There is no byte order mark: it would become part of the first name
// for every reader but Excel.
func writeCSV(w *bufio.Writer, refs []reference) error {
	table := csv.NewWriter(w)
	table.UseCRLF = true
	if err := table.Write(csvHeader); err != nil {
		return err
	}
	for i := range refs {
		r := &refs[i]
		year := ""
		if r.year != 0 {
			year = strconv.Itoa(r.year)
		}
		authors := make([]string, len(r.authors))
		for i, n := range r.authors {
			authors[i] = n.inverted()
		}
		row := []string{
			r.id, r.rawType, r.title, strings.Join(authors, "; "), year, r.venue, r.volume, r.issue, r.pages, r.publisher,
			r.doi, r.url, r.abstract,
		}
		for i := range row {
			row[i] = csvCell(row[i])
		}
		if err := table.Write(row); err != nil {
			return err
		}
	}
	table.Flush()
	return table.Error()
}

// csvCell keeps a spreadsheet from running a cell as a formula: what starts like one gets an apostrophe, which
// spreadsheets take for "this is text". The wide forms are taken for the narrow ones by some of them.
func csvCell(s string) string {
	if first, _ := utf8.DecodeRuneInString(s); strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + s
	}
	return s
}
