package favourite

import (
	"bufio"
	"fmt"
	"strconv"
)

// writeRIS writes RIS records, one tag per line. Lines end in CRLF, and values contain no line break, so no text can
// start a tag.
func writeRIS(w *bufio.Writer, refs []reference) error {
	for i := range refs {
		writeRISRecord(w, &refs[i])
	}
	return nil
}

func writeRISRecord(w *bufio.Writer, r *reference) {
	tag := func(name, value string) {
		if value != "" {
			_, _ = w.WriteString(name + "  - " + value + "\r\n")
		}
	}
	if r.lines != nil {
		writeImportedRIS(tag, r)
		_, _ = w.WriteString(risEnd)
		return
	}
	tag("TY", r.kind.ris)
	tag("ID", r.id)
	tag("TI", r.title)
	for _, n := range r.authors {
		tag("AU", n.inverted())
	}
	if r.year != 0 {
		tag("PY", strconv.Itoa(r.year))
	}
	if r.month != 0 {
		day := ""
		if r.day != 0 {
			day = fmt.Sprintf("%02d", r.day)
		}
		tag("DA", fmt.Sprintf("%04d/%02d/%s", r.year, r.month, day))
	}
	tag("T2", r.venue)
	if r.kind == kindArticle {
		tag("JO", r.venue) // older programs read the journal from here only
	}
	tag("VL", r.volume)
	tag("IS", r.issue)
	if first, last, ok := pageRange(r.pages); ok {
		tag("SP", first)
		tag("EP", last)
	} else {
		tag("SP", r.pages)
	}
	tag("PB", r.publisher)
	tag("DO", r.doi)
	tag("UR", r.url)
	tag("AB", r.abstract)
	for _, word := range r.tags {
		tag("KW", word)
	}
	tag("N1", r.note)
	_, _ = w.WriteString(risEnd)
}

// risEnd is the end tag, which has an empty value. The blank line is for readability.
const risEnd = "ER  - \r\n\r\n"
