package importer

import (
	"context"
	"encoding/json"
	"strings"
	"unicode"

	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/source"
)

// attachmentPart says where the text of an attachment is in the text of its item's document. The attachment is not
// downloaded again while its checksum in Zotero stays the same.
type attachmentPart struct {
	Key string `json:"key"`
	// Content is the checksum of the file with the name that decides its format.
	Content string `json:"content"`
	// First is set for the first attachment, whose text has page breaks.
	First  bool `json:"first,omitempty"`
	Offset int  `json:"offset"`
	Length int  `json:"length"`
	// Sum is the hash of the text, because the document may have been replaced since.
	Sum      string           `json:"sum"`
	Original *source.Original `json:"original,omitempty"`
	Problem  string           `json:"problem,omitempty"`
}

// attachmentContent identifies the content of an attachment; empty if Zotero has no checksum of it.
func attachmentContent(a format.ZoteroItem) string {
	if a.MD5 == "" {
		return ""
	}
	return a.MD5 + " " + attachmentName(a)
}

// storedParts are the attachments of an item at its last import, with the text of its document.
type storedParts struct {
	parts []attachmentPart
	text  string
}

// storedParts returns the parts of a file. It returns none if the file shall be read again in any case.
func (q *zoteroQueue) storedParts(ctx context.Context, f File) (out storedParts, err error) {
	if f.Parts == "" || q.state == nil || !q.readsFiles {
		return out, nil
	}
	_ = json.Unmarshal([]byte(f.Parts), &out.parts) // unreadable parts are downloaded
	out.text, err = q.service.store.FileText(ctx, q.src.ID, f.ID)
	if core.IsKind(err, core.KindNotFound) {
		return storedParts{}, nil
	}
	return out, err
}

// find returns an attachment as it was read at the last import, with keep including its original.
func (s storedParts) find(a format.ZoteroItem, first, keep bool) (attachmentRead, bool) {
	content := attachmentContent(a)
	for _, p := range s.parts {
		if content == "" || p.Key != a.Key || p.Content != content || p.First != first || p.Offset < 0 ||
			p.Length < 0 || p.Offset > len(s.text)-p.Length {
			continue
		}
		text := s.text[p.Offset : p.Offset+p.Length]
		if hashText(text) != p.Sum {
			continue
		}
		read := attachmentRead{text: text, problem: p.Problem, fromFile: true}
		if keep && p.Original != nil {
			read.original = *p.Original
		}
		return read, true
	}
	return attachmentRead{}, false
}

// locateParts returns the parts of a text as JSON. The parts are at its end, in their order. A part that the text
// contains only in part is left out.
func locateParts(text string, read []readPart) (string, error) {
	var parts []attachmentPart
	end := len(text)
	for i := len(read) - 1; i >= 0; i-- {
		r := read[i]
		body := strings.TrimRightFunc(r.text, unicode.IsSpace)
		at := strings.LastIndex(text[:end], body)
		if body == "" || at < 0 {
			continue
		}
		end = at
		content := attachmentContent(r.item)
		if content == "" || !r.fromFile || r.again {
			continue
		}
		p := attachmentPart{
			Key: r.item.Key, Content: content, First: i == 0, Offset: at, Length: len(body), Sum: hashText(body),
			Problem: r.problem,
		}
		if r.original.Hash != "" {
			p.Original = &r.original
		}
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		return "", nil
	}
	encoded, err := json.Marshal(parts)
	return string(encoded), err
}

// readPart is an attachment of an item with its text.
type readPart struct {
	attachmentRead
	item format.ZoteroItem
}
