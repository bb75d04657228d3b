package favourite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
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

// Import saves the entries of a BibTeX or RIS file as favourites. Keywords become tags. Importing a file again changes
// nothing, and an entry with the same key and the same work is updated.
func (s *Service) Import(
	ctx context.Context, actor core.Actor, agentID string, f Format, content string,
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
	if core.HasNUL(content) {
		return nil, core.InvalidField("/content", "Must not contain a NUL character.")
	}
	entries, err := read(ctx, []byte(content))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, core.InvalidField("/content", "The file can't be read: "+err.Error()+".")
	}
	if len(entries) == 0 {
		return nil, core.InvalidField("/content", "The file contains no entries.")
	}
	return s.importEntries(ctx, actor, agentID, entries)
}

func (s *Service) importEntries(
	ctx context.Context, actor core.Actor, agentID string, entries []format.Entry,
) ([]Imported, error) {
	out := make([]Imported, len(entries))
	var saved []Favourite
	var positions []int
	now, seen := s.clock.Now(), map[string]int{}
	for i, e := range entries {
		out[i] = Imported{Line: e.Line, Title: e.Document.Title, Outcome: OutcomeRefused}
		if e.BibTeX != nil {
			out[i].Key = e.BibTeX.Key
		}
		f, err := favouriteOf(e, seen)
		if err != nil {
			out[i].Detail = detailOf(err)
			continue
		}
		// Lists and exports are newest first; a millisecond between entries keeps the order of the file.
		f.CreatedAt, f.UpdatedAt = now.Add(-time.Duration(i)*time.Millisecond), now
		saved, positions = append(saved, f), append(positions, i)
	}
	outcomes, err := s.store.ImportFavourites(ctx, actor.UserID, agentID, saved)
	if err != nil {
		return nil, err
	}
	for n, i := range positions {
		out[i].Outcome, out[i].CardID = outcomes[n], saved[n].CardID
	}
	return out, nil
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
	CardID      string           `json:"cardId"`
	Title       string           `json:"title"`
	Authors     []string         `json:"authors"`
	Year        int              `json:"year,omitempty"`
	PublishedAt string           `json:"publishedAt,omitempty"`
	Venue       string           `json:"venue,omitempty"`
	Type        string           `json:"type,omitempty"`
	Volume      string           `json:"volume,omitempty"`
	Issue       string           `json:"issue,omitempty"`
	Pages       string           `json:"pages,omitempty"`
	Publisher   string           `json:"publisher,omitempty"`
	DOI         string           `json:"doi,omitempty"`
	URL         string           `json:"url,omitempty"`
	Abstract    string           `json:"abstract,omitempty"`
	Keywords    []string         `json:"keywords,omitempty"`
	Annotation  string           `json:"annotation,omitempty"`
	BibTeX      *format.BibEntry `json:"bibtex,omitempty"`
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
		DOI: d.DOI, URL: core.WebLink(d.URL), Keywords: e.Keywords, Annotation: e.Note, BibTeX: e.BibTeX,
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
		if word = core.OneLine(word); word != "" && utf8.RuneCountInString(word) <= maxTag && len(tags) < maxTags {
			tags = append(tags, word)
		}
	}
	tags, _ = cleanTags(tags)
	return tags
}
