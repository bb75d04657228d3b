package favourite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/format"
)

// Outcome is the result of importing one entry.
type Outcome string

// The outcomes.
const (
	OutcomeAdded     Outcome = "added"
	OutcomeUpdated   Outcome = "updated"
	OutcomeUnchanged Outcome = "unchanged"
	OutcomeRefused   Outcome = "refused"
)

// Imported is the result of one entry of an imported file.
type Imported struct {
	// Line is the line on which the entry begins.
	Line    int
	Key     string
	Title   string
	Outcome Outcome
	// CardID is the id of the favourite; empty if the entry was refused.
	CardID string
	// Detail is the reason for a refusal.
	Detail string
}

const (
	// MaxImport is the maximum size of an imported file in bytes. A library of 10,000 references with abstracts has about
	// that size.
	MaxImport = 16 << 20
	// MaxImported is the maximum number of entries of one file, whose results are one reply.
	MaxImported = 20_000
	// importBatch is the number of entries that are saved in one transaction.
	importBatch = 200
	// importMemory is the memory that concurrent imports share.
	importMemory = 256 << 20
)

// errManyEntries ends the import of a file after MaxImported entries.
var errManyEntries = errors.New("the file has more than 20,000 entries; import the rest as a file of its own")

// Import saves the entries of a BibTeX or RIS file as favourites. Keywords become tags. Importing a file again changes
// nothing, and an entry with the same key and the same work is updated. An entry that can't be saved is refused alone;
// if the file can't be read further, the last result says so. Entries are saved in batches while the file is read.
func (s *Service) Import(
	ctx context.Context, actor core.Actor, agentID string, f Format, content io.Reader, size int64,
) ([]Imported, error) {
	if err := s.allow(ctx, actor, core.OpImportFavourites, agentID); err != nil {
		return nil, err
	}
	read := format.ReadBibTeX
	switch f {
	case FormatBibTeX:
	case FormatRIS:
		read = format.ReadRIS
	default:
		return nil, core.InvalidField("/format", "Must be bibtex or ris.")
	}
	run := importRun{service: s, userID: actor.UserID, agentID: agentID, now: s.clock.Now(), seen: map[string]int{}}
	err := read(ctx, format.File{Reader: content, Size: size, Pool: s.imports}, func(e format.Entry) error {
		return run.add(ctx, e)
	})
	if run.failed == nil { // also if the file can't be read further
		run.failed = run.save(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case run.failed != nil:
		return nil, run.failed
	case err != nil && len(run.out) == 0:
		return nil, core.InvalidField("/content", "The file can't be read: "+err.Error()+".")
	case err != nil:
		last := run.out[len(run.out)-1].Line
		run.out = append(run.out, Imported{
			Line: last, Outcome: OutcomeRefused, Detail: "The rest of the file was not imported: " + err.Error() + ".",
		})
	case len(run.out) == 0:
		return nil, core.InvalidField("/content", "The file contains no entries.")
	}
	return run.out, nil
}

// importRun is the import of one file.
type importRun struct {
	service         *Service
	userID, agentID string
	now             time.Time
	// seen counts the entries with the same id.
	seen map[string]int
	out  []Imported
	// batch holds favourites that are not saved yet, and positions those of their results.
	batch     []Favourite
	positions []int
	// failed is the error of a transaction.
	failed error
}

func (r *importRun) add(ctx context.Context, e format.Entry) error {
	i := len(r.out)
	if i == MaxImported {
		return errManyEntries
	}
	result := Imported{Line: e.Line, Title: e.Document.Title, Outcome: OutcomeRefused}
	if e.BibTeX != nil {
		result.Key = e.BibTeX.Key
	}
	f, err := favouriteOf(e, r.seen)
	if err != nil {
		result.Detail = detailOf(err)
		r.out = append(r.out, result)
		return nil
	}
	r.out = append(r.out, result)
	// Lists and exports are newest first; a millisecond between entries keeps the order of the file.
	f.CreatedAt, f.UpdatedAt = r.now.Add(-time.Duration(i)*time.Millisecond), r.now
	r.batch, r.positions = append(r.batch, f), append(r.positions, i)
	if len(r.batch) == importBatch {
		r.failed = r.save(ctx)
	}
	return r.failed
}

// save saves the batch and sets the results of its entries.
func (r *importRun) save(ctx context.Context) error {
	if len(r.batch) == 0 {
		return nil
	}
	outcomes, err := r.service.store.ImportFavourites(ctx, r.userID, r.agentID, r.batch)
	if err != nil {
		return err
	}
	for n, i := range r.positions {
		r.out[i].Outcome, r.out[i].CardID = outcomes[n], r.batch[n].CardID
	}
	r.batch, r.positions = r.batch[:0], r.positions[:0]
	return nil
}

// detailOf returns the reason of a refusal. Errors of the parser begin with the line.
func detailOf(err error) string {
	var record *format.RecordError
	if errors.As(err, &record) {
		return "The entry " + record.Reason + "."
	}
	if e := core.AsError(err); len(e.Fields) > 0 {
		return e.Fields[0].Detail
	}
	return "The entry " + err.Error() + "."
}

// importedCard is the card of an imported entry.
type importedCard struct {
	CardID      string            `json:"cardId"`
	Title       string            `json:"title"`
	Authors     []string          `json:"authors"`
	Year        int               `json:"year,omitempty"`
	PublishedAt string            `json:"publishedAt,omitempty"`
	Venue       string            `json:"venue,omitempty"`
	Type        string            `json:"type,omitempty"`
	Volume      string            `json:"volume,omitempty"`
	Issue       string            `json:"issue,omitempty"`
	Pages       string            `json:"pages,omitempty"`
	Publisher   string            `json:"publisher,omitempty"`
	DOI         string            `json:"doi,omitempty"`
	URL         string            `json:"url,omitempty"`
	Abstract    string            `json:"abstract,omitempty"`
	Keywords    []string          `json:"keywords,omitempty"`
	Annotation  string            `json:"annotation,omitempty"`
	BibTeX      *format.BibEntry  `json:"bibtex,omitempty"`
	RIS         []format.RISField `json:"ris,omitempty"`
}

// favouriteOf returns the favourite of an entry. seen counts the entries of the file with the same id, so that an entry
// that repeats the key of another is a favourite of its own.
func favouriteOf(e format.Entry, seen map[string]int) (Favourite, error) {
	if e.Err != nil {
		return Favourite{}, e.Err
	}
	d := e.Document
	card := importedCard{
		Title: d.Title, Authors: slices.Concat([]string{}, d.Authors), Year: d.Year, PublishedAt: d.PublishedAt,
		Venue: d.Venue, Type: d.Type, Volume: e.Volume, Issue: e.Issue, Pages: e.Pages, Publisher: e.Publisher,
		DOI: d.DOI, URL: core.WebLink(d.URL), Keywords: e.Keywords, Annotation: e.Note, BibTeX: e.BibTeX, RIS: e.RIS,
		Abstract: strings.TrimSpace(keywordLine.ReplaceAllString(d.Text, "")),
	}
	if strings.HasPrefix(d.Text, "Keywords: ") {
		card.Abstract = ""
	}
	identity := d.ExternalID + "\n" + cmp.Or(strings.ToLower(d.DOI), titleKey(d.Title)+"\n"+strconv.Itoa(d.Year))
	seen[identity]++
	sum := sha256.Sum256([]byte(identity + "\n" + strconv.Itoa(seen[identity])))
	card.CardID = "ref_" + base58(sum[:])
	encoded, err := json.Marshal(card)
	if err != nil {
		return Favourite{}, err
	}
	if _, err := CardID(encoded); err != nil {
		return Favourite{}, err
	}
	note := e.Note
	if utf8.RuneCountInString(note) > maxNote {
		note = string([]rune(note)[:maxNote])
	}
	return Favourite{CardID: card.CardID, Card: encoded, Tags: tagsOf(e.Keywords), Note: note}, nil
}

// tagsOf returns the keywords of an entry that can be tags.
func tagsOf(keywords []string) []string {
	var tags []string
	for _, word := range keywords {
		if word = core.OneLine(word); word != "" && utf8.RuneCountInString(word) <= core.MaxTag && len(tags) < core.MaxTags {
			tags = append(tags, word)
		}
	}
	tags, _ = core.CleanTags(tags)
	return tags
}
