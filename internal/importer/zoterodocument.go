package importer

import (
	"context"
	"path"
	"slices"
	"strings"

	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/source"
)

const (
	// maxItemText is the maximum text of an item with its notes and attachments, in bytes; a file has the same limit.
	maxItemText = 5 << 20
	// maxItemTags and maxItemTag are the limits of the tags of a document.
	maxItemTags = 50
	maxItemTag  = 100
)

// importItem stores an item with its notes and attachments as one document. The version is stored last, so that an
// interrupted import reads the item again.
func (q *zoteroQueue) importItem(ctx context.Context, w zoteroWork) (fileResult, error) {
	s := q.service
	o := fileResult{Name: w.key}
	old, err := s.store.FileByName(ctx, q.src.ID, w.key)
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		return o, err
	}
	item, err := q.items.get(w.key)
	if err != nil {
		o.Error = "The item can't be read: its data is not an object."
		return o, s.recordFailure(ctx, q.src, old, o, w.version)
	}
	stored, err := q.storedParts(ctx, old)
	if err != nil {
		return o, err
	}
	d, parts, again, err := q.document(ctx, item, stored, &o)
	if err != nil {
		return o, err
	}
	if again && old.Documents > 0 {
		o.Error, o.Problems, o.Skipped = o.Problems[0], nil, 0 // the document keeps the text of the last import
		return o, s.recordFailure(ctx, q.src, old, o, retryVersion(w.version))
	}
	now := s.clock.Now()
	file := File{
		ID: core.NewID(prefixFile), SourceID: q.src.ID, Name: w.key, Size: int64(len(d.Text)), Hash: []byte{},
		Documents: old.Documents, CreatedAt: now, UpdatedAt: now,
	}
	if file.ID, err = s.store.PutFile(ctx, file); err != nil {
		return o, err
	}
	d.File = file.ID
	one := func(yield func(source.Document, error) bool) { yield(d, nil) }
	imported, err := s.sources.AddDocuments(ctx, q.src, one, nil)
	if err != nil {
		return o, err
	}
	o.setImported(imported)
	o.Size, o.Unchanged = file.Size, imported.Unchanged > 0
	file.Documents, file.Skipped, file.Outcome, file.Parts = 1, o.Skipped, o.outcome(old), parts
	if file.Version = w.version; again {
		file.Version = retryVersion(w.version)
	}
	_, err = s.store.PutFile(ctx, file)
	return o, err
}

// document returns an item with the text of its abstract, notes and attachments. The original is the first attachment
// that could be read. Attachments that have not changed are taken from the stored document; parts says where the texts
// of attachments are. again is set if an attachment may be readable later.
func (q *zoteroQueue) document(
	ctx context.Context, item format.ZoteroItem, stored storedParts, o *fileResult,
) (d source.Document, parts string, again bool, err error) {
	d = item.Document()
	d.ExternalID = item.Key
	d.Tags = itemTags(append(slices.Clone(item.Tags), q.tagsOf(item.Collections)...))
	var notes []string
	var attachments []format.ZoteroItem
	for _, key := range append([]string{item.Key}, q.items.descendants(item.Key)...) {
		child, err := q.items.get(key)
		switch {
		case err != nil:
			o.skip("A note or an attachment can't be read: its data is not an object.")
		case child.ItemType == "attachment":
			attachments = append(attachments, child)
			notes = append(notes, format.PageText(ctx, child.Note))
		case child.ItemType == "note":
			notes = append(notes, format.PageText(ctx, child.Note))
		case child.ItemType == "annotation":
			notes = append(notes, child.Note)
		}
	}
	slices.SortStableFunc(attachments, func(a, b format.ZoteroItem) int { return attachmentRank(a) - attachmentRank(b) })
	texts := make([]string, 0, len(attachments))
	read := make([]readPart, 0, len(attachments))
	for i, a := range attachments {
		part, err := q.readPart(ctx, a, stored, i == 0, d.Original.Hash == "")
		if err != nil {
			return d, "", false, err
		}
		if part.problem != "" {
			o.skip(part.problem)
		}
		if again = again || part.again; part.original.Hash != "" {
			d.Original = part.original
		}
		text := part.text
		if text != "" && i > 0 {
			// Page breaks count the pages of the original, so that only its text has them.
			part.text = strings.ReplaceAll(text, "\f", "\n\n")
			text = "# " + cleanLine(a.Filename) + "\n\n" + part.text
		}
		texts, read = append(texts, text), append(read, part)
	}
	if item.ItemType == "note" {
		d.Title = noteTitle(notes, d.Title)
	}
	d.Text = itemText(d.Text, notes, item.Tags, texts)
	parts, err = locateParts(d.Text, read)
	return d, parts, again, err
}

// readPart returns an attachment, from the stored document if it has not changed.
func (q *zoteroQueue) readPart(
	ctx context.Context, a format.ZoteroItem, stored storedParts, first, keep bool,
) (readPart, error) {
	read, found := stored.find(a, first, keep)
	originals := q.service.options.Originals
	needsOriginal := keep && originals != nil && originals.Keeps()
	if found && (read.original.Hash != "" || !needsOriginal) {
		return readPart{read, a}, nil
	}
	read, err := q.readAttachment(ctx, a, keep)
	return readPart{read, a}, err
}

// itemText joins the parts of a text. An item without notes and attachments has the text of a reference: its abstract
// and its keywords.
func itemText(abstract string, notes, tags, attachments []string) string {
	nonEmpty := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return strings.TrimSpace(s) == "" })
	}
	notes, attachments = nonEmpty(notes), nonEmpty(attachments)
	var parts []string
	if abstract != "" && len(notes)+len(attachments) > 0 {
		abstract = "# Abstract\n\n" + abstract
	}
	if len(notes) > 0 && abstract != "" {
		notes[0] = "# Notes\n\n" + notes[0]
	}
	parts = append(append(parts, abstract), notes...)
	if len(tags) > 0 {
		parts = append(parts, "Keywords: "+strings.Join(tags, ", "))
	}
	text := strings.Join(nonEmpty(append(parts, attachments...)), "\n\n")
	if len(text) > maxItemText {
		text = strings.ToValidUTF8(text[:maxItemText], "")
	}
	return strings.TrimSpace(text)
}

// noteTitle returns the first line of a note, as Zotero does.
func noteTitle(notes []string, fallback string) string {
	for _, n := range notes {
		line, _, _ := strings.Cut(strings.TrimSpace(n), "\n")
		if line = cleanLine(strings.TrimLeft(line, "# ")); line != "" {
			return line
		}
	}
	return fallback
}

// itemTags returns tags within the limits of a document, each once.
func itemTags(tags []string) []string {
	var out []string
	for _, t := range tags {
		if r := []rune(t); len(r) > maxItemTag {
			t = strings.TrimSpace(string(r[:maxItemTag]))
		}
		if !slices.Contains(out, t) && len(out) < maxItemTags {
			out = append(out, t)
		}
	}
	return out
}

// attachmentRank orders attachments: the first that can be read is the original of the document.
func attachmentRank(a format.ZoteroItem) int {
	switch path.Ext(attachmentName(a)) {
	case ".pdf":
		return 0
	case ".epub":
		return 1
	case ".html":
		return 3
	}
	return 2
}
