package format

import (
	"encoding/xml"
	"path"
	"strings"

	"carrel/internal/lazyregexp"
	"carrel/internal/source"
)

// maxRelations limits the relationships of a part.
const maxRelations = 20_000

// relation is a relationship of a part to another part (ECMA-376, part 2).
type relation struct{ id, kind, target string }

// relations returns the relationships of a part in the order of the file; "" stands for the package.
func (o *office) relations(part string) []relation {
	var out []relation
	// Files without relationships, or with damaged ones, are read by the usual names of parts.
	name := strings.TrimPrefix(path.Base(part), ".") + ".rels"
	_, _ = o.tokens(path.Join(path.Dir(part), "_rels", name), func(t xml.Token) {
		e, ok := t.(xml.StartElement)
		if !ok || e.Name.Local != "Relationship" || len(out) >= maxRelations || attribute(e, "TargetMode") == "External" {
			return
		}
		target := attribute(e, "Target")
		if !strings.HasPrefix(target, "/") {
			target = path.Join("/", path.Dir(part), target)
		}
		out = append(out, relation{attribute(e, "Id"), path.Base(attribute(e, "Type")), strings.TrimPrefix(target, "/")})
	})
	return out
}

// related returns the first part that is related to a part in this way, or the fallback.
func related(relations []relation, kind, fallback string) string {
	for _, r := range relations {
		if r.kind == kind {
			return r.target
		}
	}
	return fallback
}

// mainPart returns the name of the document's main part.
func (o *office) mainPart(fallback string) string {
	relations := o.relations("")
	if len(relations) == 0 {
		return fallback
	}
	return related(relations, "officeDocument", fallback)
}

// coreProperties returns the Dublin Core metadata of the file.
func (o *office) coreProperties() dublinCore {
	core := coreReader{values: dublinCore{}}
	// The metadata is optional; values before an error are kept.
	_, _ = o.tokens(related(o.relations(""), "core-properties", "docProps/core.xml"), core.visit)
	return core.values
}

// officeTitle matches titles that Office programs write into new files.
var officeTitle = lazyregexp.New(
	`(?i)^(?:powerpoint[- ]pr(?:e|ä)sentation|présentation powerpoint|presentación de powerpoint|` +
		`slide \d+|word document)$`,
)

// describe fills the metadata of a document from Dublin Core. Values printed in the text take precedence over the date
// of the file.
func (dc dublinCore) describe(d *source.Document, printedTitle, name string) {
	title := oneLine(dc.first("title"))
	if !saysSomething(title) || officeTitle.MatchString(title) {
		title = ""
	}
	d.Title = oneLine(firstOf(title, printedTitle, titleLine(d.Text), stem(name)))
	d.Authors = splitNames(firstOf(dc.first("creator"), dc.first("initial-creator")))
	d.Language = oneLine(dc.first("language"))
	d.DOI = doiIn(d.Text)
	for _, id := range dc["identifier"] {
		d.DOI = firstOf(d.DOI, bareDOI(id))
	}
	if d.Year == 0 {
		d.Year = yearIn(d.Text)
	}
	for _, date := range []string{"issued", "date", "created", "creation-date"} {
		if d.Year == 0 {
			d.Year = yearOfDate(dc.first(date))
		}
	}
}
