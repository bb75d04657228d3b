package favourite

import (
	"bufio"
	"fmt"
	"strconv"
)

// writeRIS writes records of two-letter tags, a tag a line, as reference managers have exchanged them since the
// 1980s. Lines end in CRLF, and no value can hold a line break, so no text can start a tag of its own.
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
		tag("JO", r.venue) // older programs look for a journal here only
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
	// The end has a value that is empty, and the blank line after it is for people.
	_, _ = w.WriteString("ER  - \r\n\r\n")
}
