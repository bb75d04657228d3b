package favourite

import (
	"bufio"
	"encoding/csv"
	"strconv"
	"strings"
	"unicode/utf8"
)

// csvHeader names the columns after the fields of a card.
var csvHeader = []string{
	"cardId", "type", "title", "authors", "year", "venue", "volume", "issue", "pages", "publisher", "doi", "url",
	"abstract", "tags", "note",
}

// writeCSV writes RFC 4180. There is no byte order mark, which every reader but Excel would take for a part of the
// first column name.
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
			r.id, r.rawType, r.title, strings.Join(authors, "; "), year, r.venue, r.volume, r.issue, r.pages,
			r.publisher,
			r.doi, r.url, r.abstract, strings.Join(r.tags, "; "), r.note,
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

// csvCell prevents spreadsheets from evaluating a cell as a formula: a cell that starts like one is prefixed with an
// apostrophe, which marks text. Some spreadsheets also accept the full-width forms.
func csvCell(s string) string {
	if first, _ := utf8.DecodeRuneInString(s); strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + s
	}
	return s
}
