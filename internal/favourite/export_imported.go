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

// linesOf returns the RIS reference in a card, or nil. Like an entry, it is ignored if it would change the meaning of
// the file.
func linesOf(card []byte) []format.RISField {
	var c struct {
		RIS []format.RISField `json:"ris"`
	}
	if json.Unmarshal(card, &c) != nil || len(c.RIS) == 0 || c.RIS[0].Tag != "TY" || c.RIS[0].Value == "" ||
		core.OneLine(c.RIS[0].Value) != c.RIS[0].Value ||
		slices.ContainsFunc(c.RIS[1:], func(f format.RISField) bool { return !f.Valid() }) {
		return nil
	}
	return c.RIS
}

// writeImportedRIS writes an imported reference as it was, with the tags, the note and the abstract that were added
// since. A changed note replaces the first one, which is the note of the favourite.
func writeImportedRIS(tag func(name, value string), r *reference) {
	sameTags, sameNote := r.unchanged()
	hasAbstract, noteSeen := false, false
	for _, f := range r.lines {
		switch {
		case f.Tag == "KW" && !sameTags:
			continue
		case f.Tag == "N1" && !sameNote && !noteSeen:
			noteSeen = true
			continue
		case f.Tag == "AB" || f.Tag == "N2":
			hasAbstract = true
		}
		tag(f.Tag, f.Value)
	}
	if !hasAbstract {
		tag("AB", r.abstract)
	}
	if !sameTags {
		for _, word := range r.tags {
			tag("KW", word)
		}
	}
	if !sameNote {
		tag("N1", r.note)
	}
}

// unchanged reports whether the tags and the note are those of the imported file.
func (r *reference) unchanged() (tags, note bool) {
	tags = slices.EqualFunc(tagsOf(r.imported.Keywords), r.tags, func(a, b string) bool { return core.OneLine(a) == b })
	return tags, core.OneLine(r.imported.Note) == r.note
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
	sameTags, sameNote := r.unchanged()
	hasAbstract := false
	for _, f := range e.Fields {
		switch strings.ToLower(f.Name) {
		case "keywords", "keyword":
			if !sameTags {
				continue
			}
		case "annote", "annotation":
			if !sameNote {
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
	if !sameNote {
		add("annote", r.note)
	}
	if !hasAbstract {
		add("abstract", r.abstract)
	}
	_, _ = w.WriteString("}\n")
}
