package favourite

import (
	"bufio"
	"encoding/json"
	"slices"
	"strings"

	"carrel/internal/core"
	"carrel/internal/format"
)

// entryOf returns the BibTeX entry in a card, or nil. Cards may come from anywhere, so an entry that would change the
// meaning of the file is ignored.
func entryOf(card []byte) *format.BibEntry {
	var c struct {
		BibTeX *format.BibEntry `json:"bibtex"`
	}
	if json.Unmarshal(card, &c) != nil || c.BibTeX == nil || !c.BibTeX.Valid() {
		return nil
	}
	return c.BibTeX
}

// bibHead holds the definitions that are in effect at a position of a file.
type bibHead struct {
	strings   map[string]string
	preambles map[string]bool
}

// write writes the definitions that an entry needs and that are not in effect. A later definition replaces an earlier
// one, so entries of files that define a name differently can be in one file.
func (h bibHead) write(w *bufio.Writer, e *format.BibEntry) {
	for _, content := range e.Preamble {
		if !h.preambles[content] {
			h.preambles[content] = true
			_, _ = w.WriteString("@preamble{" + content + "}\n\n")
		}
	}
	changed := false
	for _, f := range e.Strings {
		name := strings.ToLower(f.Name)
		// After a changed definition, those that may use it are repeated.
		if value, known := h.strings[name]; known && value == f.Value && !changed {
			continue
		}
		changed = true
		h.strings[name] = f.Value
		_, _ = w.WriteString("@string{" + f.Name + " = " + f.Value + "}\n\n")
	}
}

// writeImported writes an imported entry as it was, with the tags, the note and the abstract that were added since.
func writeImported(w *bufio.Writer, key string, r *reference) {
	e := r.entry
	_, _ = w.WriteString("@" + e.Type + "{" + key + ",\n")
	tags, note := tagsOf(r.imported.Keywords), core.OneLine(r.imported.Note)
	sameTags := slices.EqualFunc(tags, r.tags, func(a, b string) bool { return core.OneLine(a) == b })
	hasAbstract := false
	for _, f := range e.Fields {
		switch strings.ToLower(f.Name) {
		case "keywords", "keyword":
			if !sameTags {
				continue
			}
		case "annote", "annotation":
			if note != r.note {
				continue
			}
		case "abstract":
			hasAbstract = true
		}
		_, _ = w.WriteString("  " + f.Name + " = " + f.Value + ",\n")
	}
	add := func(name, value string) {
		if value != "" {
			_, _ = w.WriteString("  " + name + " = {" + bibText(value) + "},\n")
		}
	}
	if !sameTags {
		add("keywords", strings.Join(r.tags, ", "))
	}
	if note != r.note {
		add("annote", r.note)
	}
	if !hasAbstract {
		add("abstract", r.abstract)
	}
	_, _ = w.WriteString("}\n")
}
