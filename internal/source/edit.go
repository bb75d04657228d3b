package source

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
)

// Edits are the fields of a document that a person has set; nil means not set. An import does not change them.
type Edits struct {
	Title   *string   `json:"title,omitempty"`
	Authors *[]string `json:"authors,omitempty"`
	// Year 0 means that the year is unknown.
	Year  *int      `json:"year,omitempty"`
	Venue *string   `json:"venue,omitempty"`
	DOI   *string   `json:"doi,omitempty"`
	URL   *string   `json:"url,omitempty"`
	Tags  *[]string `json:"tags,omitempty"`
	// Language "" means that the language is unknown.
	Language *string `json:"language,omitempty"`
}

// editField is an edited field: its name, whether it is set, and how it is copied.
type editField struct {
	name string
	set  func(e Edits) bool
	// merge copies the field to other edits, apply to a document.
	merge func(from Edits, to *Edits)
	apply func(e Edits, d *Document)
}

var editFields = []editField{
	{
		"title", func(e Edits) bool { return e.Title != nil }, func(f Edits, t *Edits) { t.Title = f.Title },
		func(e Edits, d *Document) { d.Title = *e.Title },
	},
	{
		"authors", func(e Edits) bool { return e.Authors != nil }, func(f Edits, t *Edits) { t.Authors = f.Authors },
		func(e Edits, d *Document) { d.Authors = *e.Authors },
	},
	{
		"year", func(e Edits) bool { return e.Year != nil }, func(f Edits, t *Edits) { t.Year = f.Year },
		func(e Edits, d *Document) { d.Year = *e.Year },
	},
	{
		"venue", func(e Edits) bool { return e.Venue != nil }, func(f Edits, t *Edits) { t.Venue = f.Venue },
		func(e Edits, d *Document) { d.Venue = *e.Venue },
	},
	{
		"doi", func(e Edits) bool { return e.DOI != nil }, func(f Edits, t *Edits) { t.DOI = f.DOI },
		func(e Edits, d *Document) { d.DOI = *e.DOI },
	},
	{
		"url", func(e Edits) bool { return e.URL != nil }, func(f Edits, t *Edits) { t.URL = f.URL },
		func(e Edits, d *Document) { d.URL = *e.URL },
	},
	{
		"tags", func(e Edits) bool { return e.Tags != nil }, func(f Edits, t *Edits) { t.Tags = f.Tags },
		func(e Edits, d *Document) { d.Tags = *e.Tags },
	},
	{
		"language", func(e Edits) bool { return e.Language != nil }, func(f Edits, t *Edits) { t.Language = f.Language },
		func(e Edits, d *Document) { d.Language = *e.Language },
	},
}

// Names returns the names of the edited fields.
func (e Edits) Names() []string {
	var names []string
	for _, f := range editFields {
		if f.set(e) {
			names = append(names, f.name)
		}
	}
	return names
}

// Merge returns the edits with those of a later change.
func (e Edits) Merge(later Edits) Edits {
	for _, f := range editFields {
		if f.set(later) {
			f.merge(later, &e)
		}
	}
	return e
}

// Apply sets the edited fields of a document.
func (e Edits) Apply(d *Document) {
	for _, f := range editFields {
		if f.set(e) {
			f.apply(e, d)
		}
	}
	d.Edits = e
}

// Limits of the fields of a document that the API sets.
const (
	maxListed    = 500 // authors
	maxTags      = 50
	maxWebLink   = 2000
	maxDocuments = 500
)

var (
	titleRule  = core.TextRule{Min: 1, Max: 1000}
	authorRule = core.TextRule{Min: 1, Max: 200}
	venueRule  = core.TextRule{Max: 500}
	doiRule    = core.TextRule{Max: 300}
	urlRule    = core.TextRule{Max: maxWebLink}
	tagRule    = core.TextRule{Min: 1, Max: 100}
)

// checker collects the errors of fields below a pointer.
type checker struct {
	at  string
	bad []core.FieldError
}

func (c *checker) add(field, detail string) {
	if detail != "" {
		c.bad = append(c.bad, core.FieldError{Pointer: c.at + "/" + field, Detail: detail})
	}
}

func (c *checker) text(field string, s *string, rule core.TextRule) {
	if s != nil {
		var detail string
		*s, detail = rule.Clean(*s)
		c.add(field, detail)
	}
}

func (c *checker) list(field string, list *[]string, limit int, rule core.TextRule) {
	if list == nil {
		return
	}
	if len(*list) > limit {
		c.add(field, "Has too many entries.")
		return
	}
	clean := slices.Clone(*list)
	for i := range clean {
		var detail string
		if clean[i], detail = rule.Clean(clean[i]); detail != "" {
			c.add(field+"/"+strconv.Itoa(i), detail)
			return
		}
	}
	*list = clean
}

func (c *checker) year(year *int) {
	if year != nil && (*year < 0 || *year > 2200) {
		c.add("year", "Must be a year from 1 to 2200, or 0 if it is unknown.")
	}
}

func (c *checker) link(field string, s *string) {
	c.text(field, s, urlRule)
	if s != nil && *s != "" && core.WebLink(*s) == "" {
		c.add(field, "Must be an http or https URL.")
	}
}

func (c *checker) language(code *string, rule func(code string) (detail string)) {
	if code == nil {
		return
	}
	if *code = strings.TrimSpace(*code); *code != "" {
		c.add("language", rule(*code))
	}
}

// checkEdits validates and cleans edits.
func (s *Service) checkEdits(e *Edits) error {
	c := &checker{}
	c.text("title", e.Title, titleRule)
	c.list("authors", e.Authors, maxListed, authorRule)
	c.year(e.Year)
	c.text("venue", e.Venue, venueRule)
	c.text("doi", e.DOI, doiRule)
	c.link("url", e.URL)
	c.list("tags", e.Tags, maxTags, tagRule)
	c.language(e.Language, s.checkLanguage)
	if c.bad != nil {
		return core.Invalid(c.bad...)
	}
	return nil
}

// ChangeDocument sets fields of a document. They are kept when the document is imported again.
func (s *Service) ChangeDocument(
	ctx context.Context, actor core.Actor, agentID, documentID string, e Edits,
) (Document, error) {
	if err := s.agents.Allow(ctx, actor, core.OpChangeDocument, agentID); err != nil {
		return Document{}, err
	}
	if err := s.checkEdits(&e); err != nil {
		return Document{}, err
	}
	d, err := s.documentFor(ctx, actor, core.OpChangeDocument, agentID, documentID)
	if err != nil || len(e.Names()) == 0 {
		return d, err
	}
	if d.ExpiresAt != nil {
		if err := s.Keep(ctx, actor.UserID, agentID, []string{d.ID}); err != nil {
			return Document{}, err
		}
	}
	return s.store.EditDocument(ctx, d.SourceID, d.ID, e, s.clock.Now())
}

// documentFor returns a document after it has checked that the actor may carry out the operation on its source.
func (s *Service) documentFor(
	ctx context.Context, actor core.Actor, op core.Operation, agentID, documentID string,
) (Document, error) {
	if err := s.agents.Allow(ctx, actor, op, agentID); err != nil {
		return Document{}, err
	}
	d, err := s.DocumentOf(ctx, actor.UserID, agentID, documentID)
	if err != nil {
		return Document{}, err
	}
	_, err = s.For(ctx, actor, op, agentID, d.SourceID)
	return d, err
}

// DeleteDocument deletes a document. The next import of a changed file that contains it adds it again.
func (s *Service) DeleteDocument(ctx context.Context, actor core.Actor, agentID, documentID string) error {
	d, err := s.documentFor(ctx, actor, core.OpDeleteDocument, agentID, documentID)
	if err != nil {
		return err
	}
	_, err = s.store.DeleteDocumentsByID(ctx, actor.UserID, d.SourceID, []string{d.ID}, s.clock.Now())
	return err
}

// DeleteDocuments deletes documents of a source.
func (s *Service) DeleteDocuments(
	ctx context.Context, actor core.Actor, agentID, sourceID string, ids []string,
) (core.Deletion, error) {
	if _, err := s.For(ctx, actor, core.OpDeleteDocuments, agentID, sourceID); err != nil {
		return core.Deletion{}, err
	}
	if err := core.CheckBatch(ids); err != nil {
		return core.Deletion{}, err
	}
	deleted, err := s.store.DeleteDocumentsByID(ctx, actor.UserID, sourceID, ids, s.clock.Now())
	return core.NewDeletion(ids, deleted), err
}

// DocumentStore lists and changes single documents.
type DocumentStore interface {
	// ListDocuments returns up to n documents of a source, newest first, starting after the document with the id
	// before, if set. A document without a year has the first GuessedText characters of its text, the others have no
	// text. Results that expire are left out.
	ListDocuments(ctx context.Context, sourceID string, f DocumentFilter, before string, n int) ([]Document, error)
	// CountUndated returns the number of documents of a source without a year. Results that expire are left out.
	CountUndated(ctx context.Context, sourceID string) (int, error)
	// EditDocument stores fields that a person has set and returns the document.
	EditDocument(ctx context.Context, sourceID, id string, e Edits, now time.Time) (Document, error)
	// DeleteDocumentsByID deletes documents of a source for a user and returns the ids of those that existed.
	DeleteDocumentsByID(ctx context.Context, userID, sourceID string, ids []string, now time.Time) ([]string, error)
	// UndetectedDocuments returns up to n documents whose language has not been detected yet, with the first HeadLength
	// code points of their texts, and SetDetectedLanguages stores their languages.
	UndetectedDocuments(ctx context.Context, n int) ([]Document, error)
	SetDetectedLanguages(ctx context.Context, docs []Document) error
	// StoreDocuments is PutDocuments with the result of each document.
	StoreDocuments(ctx context.Context, sourceID string, docs []Document) ([]Stored, error)
}

// Outcome is the result of storing a document.
type Outcome string

// The outcomes of storing a document.
const (
	OutcomeAdded     Outcome = "added"
	OutcomeUpdated   Outcome = "updated"
	OutcomeUnchanged Outcome = "unchanged"
)

// Stored is a document that was stored.
type Stored struct {
	ID, ExternalID string
	Outcome        Outcome
}

// PutDocuments creates or updates documents by their external ids. Repeating a request changes nothing.
func (s *Service) PutDocuments(
	ctx context.Context, actor core.Actor, agentID, sourceID string, docs []Document,
) ([]Stored, error) {
	src, err := s.For(ctx, actor, core.OpPutDocuments, agentID, sourceID)
	if err != nil {
		return nil, err
	}
	if src.Kind != KindUpload {
		return nil, core.Conflict("conflict",
			"Documents can be stored in a source of kind upload only. Create one, or change the documents of this source.")
	}
	if len(docs) == 0 || len(docs) > maxDocuments {
		return nil, core.InvalidField("/documents", "Must have 1 to 500 documents.")
	}
	if err := s.checkDocuments(docs); err != nil {
		return nil, err
	}
	var hashes hasher
	now := s.clock.Now()
	for i := range docs {
		d := &docs[i]
		d.ID, d.SourceID, d.CreatedAt, d.UpdatedAt = core.NewID(core.PrefixDocument), src.ID, now, now
		if d.Hash, err = hashes.sum(*d); err != nil {
			return nil, err
		}
		s.detectDocumentLanguage(d)
	}
	if src.Language == "" {
		if _, err := s.detectLanguage(ctx, src, docs); err != nil {
			return nil, err
		}
	}
	return s.store.StoreDocuments(ctx, src.ID, docs)
}

var (
	externalIDRule = core.TextRule{Min: 1, Max: 500}
	fullTextRule   = core.TextRule{Max: 1_000_000}
	typeRule       = core.TextRule{Max: 100}
	publishedRule  = core.TextRule{Max: 40}
)

// checkDocuments validates and cleans the documents of a request.
func (s *Service) checkDocuments(docs []Document) error {
	seen := map[string]bool{}
	var bad []core.FieldError
	for i := range docs {
		d := &docs[i]
		c := &checker{at: "/documents/" + strconv.Itoa(i)}
		c.text("externalId", &d.ExternalID, externalIDRule)
		c.text("title", &d.Title, core.TextRule{Max: titleRule.Max})
		c.text("text", &d.Text, fullTextRule)
		c.list("authors", &d.Authors, maxListed, authorRule)
		c.year(&d.Year)
		c.text("venue", &d.Venue, venueRule)
		c.text("doi", &d.DOI, doiRule)
		c.text("type", &d.Type, typeRule)
		c.text("publishedAt", &d.PublishedAt, publishedRule)
		c.link("url", &d.URL)
		c.list("tags", &d.Tags, maxTags, tagRule)
		c.language(&d.Language, s.checkLanguage)
		switch {
		case d.Title == "" && d.Text == "":
			c.add("title", "Is required if there is no text.")
		case seen[d.ExternalID]:
			c.add("externalId", "Must be unique in the request.")
		}
		if d.PublishedAt != "" && !isDate(d.PublishedAt) {
			c.add("publishedAt", "Must be a date or a date-time (RFC 3339).")
		}
		seen[d.ExternalID] = true
		bad = append(bad, c.bad...)
	}
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

func isDate(s string) bool {
	if _, err := time.Parse(time.DateOnly, s); err == nil {
		return true
	}
	_, err := time.Parse(time.RFC3339, strings.ToUpper(s))
	return err == nil
}
