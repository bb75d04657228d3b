package format

import (
	"cmp"
	"encoding/json"
	"strings"

	"carrel/internal/source"
)

// ZoteroItem is the editable JSON of an item of a Zotero library: a reference, a note, an attachment or an annotation.
// A field of an unexpected type is empty.
type ZoteroItem struct {
	Key          string
	ItemType     string
	ParentItem   string
	DateAdded    string
	DateModified string
	// Trashed is set for an item in the trash.
	Trashed     bool
	Collections []string
	Tags        []string
	// Note is the HTML of a note, or the text and comment of an annotation.
	Note string
	// Filename, LinkMode, ContentType and MD5 describe the file of an attachment.
	Filename, LinkMode, ContentType, MD5 string

	reference reference
}

// zoteroFields are the fields of all types of items by name. Creators, tags and collections are lists.
type zoteroFields map[string]json.RawMessage

func (f zoteroFields) text(names ...string) string {
	for _, name := range names {
		var t cslText
		raw := f[name]
		if len(raw) == 0 || t.UnmarshalJSON(raw) != nil {
			continue
		}
		if s := strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(string(t), "\x00", ""), "")); s != "" {
			return s
		}
	}
	return ""
}

// ReadZoteroItem decodes an item.
func ReadZoteroItem(data []byte) (ZoteroItem, error) {
	var f zoteroFields
	if err := json.Unmarshal(data, &f); err != nil {
		return ZoteroItem{}, err
	}
	i := ZoteroItem{
		Key: f.text("key"), ItemType: f.text("itemType"), ParentItem: f.text("parentItem"),
		DateAdded: f.text("dateAdded"), DateModified: f.text("dateModified"),
		Note: f.text("note"), Filename: f.text("filename", "path"), LinkMode: f.text("linkMode"),
		ContentType: strings.ToLower(f.text("contentType")), MD5: strings.ToLower(f.text("md5")),
	}
	switch string(f["deleted"]) {
	case "", "0", "false", "null":
	default:
		i.Trashed = true
	}
	_ = json.Unmarshal(f["collections"], &i.Collections) // an item without collections is at the top of the library
	i.Tags = f.tags()
	if i.ItemType == "annotation" {
		i.Note = strings.TrimSpace(f.text("annotationText") + "\n" + f.text("annotationComment"))
	}
	i.reference = f.reference(i)
	return i, nil
}

func (f zoteroFields) tags() []string {
	var list []struct {
		Tag cslText `json:"tag"`
	}
	_ = json.Unmarshal(f["tags"], &list) // tags are optional
	var out []string
	for _, t := range list {
		out = append(out, string(t.Tag))
	}
	return cleanNames(out)
}

// zoteroVenues are the fields that name where an item was published, the most specific first.
var zoteroVenues = []string{
	"publicationTitle", "proceedingsTitle", "bookTitle", "encyclopediaTitle", "dictionaryTitle", "websiteTitle",
	"blogTitle", "forumTitle", "programTitle", "conferenceName", "meetingName", "university", "institution", "repository",
	"publisher", "label", "studio", "network", "court",
}

func (f zoteroFields) reference(i ZoteroItem) reference {
	r := reference{
		id:       i.Key,
		title:    f.text("title", "caseName", "nameOfAct", "subject", "shortTitle"),
		abstract: f.text("abstractNote"), url: f.text("url"), doi: f.text("DOI"), venue: f.text(zoteroVenues...),
		kind: firstOf(zoteroKinds[i.ItemType], kindOfReference(i.ItemType)),
		date: f.text("date", "dateDecided", "dateEnacted", "issueDate"), authors: f.authors(),
	}
	// Types without a field for the DOI have it in the field Extra, one value on a line.
	for line := range strings.Lines(f.text("extra")) {
		if name, value, ok := strings.Cut(line, ":"); ok && r.doi == "" && strings.EqualFold(strings.TrimSpace(name), "doi") {
			r.doi = strings.TrimSpace(value)
		}
	}
	return r
}

// authors returns the authors, or else the editors, or else all creators.
func (f zoteroFields) authors() []string {
	var creators []struct {
		Type  cslText `json:"creatorType"`
		First cslText `json:"firstName"`
		Last  cslText `json:"lastName"`
		Name  cslText `json:"name"`
	}
	_ = json.Unmarshal(f["creators"], &creators) // creators are optional
	byType := map[string][]string{}
	var all []string
	for _, c := range creators {
		name := cmp.Or(string(c.Name), strings.TrimSpace(string(c.First)+" "+string(c.Last)))
		byType[string(c.Type)] = append(byType[string(c.Type)], name)
		all = append(all, name)
	}
	for _, kind := range []string{"author", "editor"} {
		if len(byType[kind]) > 0 {
			return byType[kind]
		}
	}
	return all
}

// Document returns the item as a document without its tags and collections. Its text is the abstract.
func (i ZoteroItem) Document() source.Document {
	d := i.reference.document()
	if d.Title == "" {
		d.Title = oneLine(cmp.Or(i.Filename, d.DOI, d.URL, "Untitled "+i.Key))
	}
	return d
}
