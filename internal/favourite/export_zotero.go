package favourite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/core"
)

// maxZoteroTag is the maximum length of a tag in Zotero.
const maxZoteroTag = 255

// ZoteroWork is a work of saved cards, as an item of Zotero.
type ZoteroWork struct {
	// Favourites are the favourites of the work. Their order is that of the list.
	Favourites []Favourite
	// DocumentIDs are the documents of the cards.
	DocumentIDs []string
	// Data is the editable JSON of an item without its collections.
	Data map[string]any

	reference reference
}

// ZoteroSelection selects favourites to write to a Zotero library.
type ZoteroSelection struct {
	Filter
	// AgentID limits the favourites to those with an agent, Cards to those with these cards; empty means all.
	AgentID string
	Cards   []string
}

// ZoteroWorks returns the selected favourites, of those with agents that the actor may read, as works, newest first.
func (s *Service) ZoteroWorks(ctx context.Context, actor core.Actor, z ZoteroSelection) ([]ZoteroWork, error) {
	if err := z.check(); err != nil {
		return nil, err
	}
	selection, err := s.selection(ctx, actor.UserID, actor.Agents, z.Filter)
	if err != nil {
		return nil, err
	}
	selection.Cards = z.Cards
	matcher := NewMatcher(z.Query)
	all, err := s.read(ctx, selection, func(f Favourite) bool {
		_, ok := matcher.scoreOf(f)
		return ok && (z.AgentID == "" || f.AgentID == z.AgentID)
	})
	if err != nil {
		return nil, err
	}
	cards, err := s.Cards(ctx, actor, all)
	if err != nil {
		return nil, err
	}
	refs := make([]reference, len(cards))
	for i, c := range cards {
		refs[i] = parseReference(c)
		refs[i].cards = []int{i}
	}
	refs = mergeWorks(refs)
	works := make([]ZoteroWork, len(refs))
	for i := range refs {
		r := &refs[i]
		works[i] = ZoteroWork{Data: zoteroData(r), reference: *r}
		slices.Sort(r.cards)
		for _, at := range r.cards {
			works[i].Favourites = append(works[i].Favourites, all[at])
			if id := parseReference(cards[at]).documentID; id != "" {
				works[i].DocumentIDs = append(works[i].DocumentIDs, id)
			}
		}
	}
	return works, nil
}

// zoteroData returns the editable JSON of an item. Types without a field for the DOI have it in the field Extra, where
// Zotero finds it; the note is there as well, like the variable note of CSL.
func zoteroData(r *reference) map[string]any {
	data := map[string]any{
		"itemType": r.kind.zotero, "title": r.title, "creators": zoteroCreators(r.authors), "tags": zoteroTags(r.tags),
		"relations": map[string]any{},
	}
	has := strings.Fields(r.kind.zoteroFields)
	var extra []string
	if r.doi != "" && !slices.Contains(has, "DOI") {
		extra = append(extra, "DOI: "+r.doi)
	}
	if r.note != "" {
		extra = append(extra, r.note)
	}
	for name, value := range map[string]string{
		"abstractNote": r.abstract, "url": r.url, "date": zoteroDate(r), "extra": strings.Join(extra, "\n"),
		r.kind.zoteroVenue: r.venue,
	} {
		if value != "" {
			data[name] = value
		}
	}
	for name, value := range map[string]string{
		"volume": r.volume, "issue": r.issue, "pages": r.pages, "publisher": r.publisher, "DOI": r.doi,
	} {
		if value != "" && slices.Contains(has, name) {
			data[name] = value
		}
	}
	if data[r.kind.zoteroVenue] == nil && r.publisher != "" &&
		slices.Contains([]kind{kindReport, kindThesis, kindOther}, r.kind) {
		data[r.kind.zoteroVenue] = r.publisher // the institution is the publisher of these types
	}
	return data
}

func zoteroDate(r *reference) string {
	switch {
	case r.year == 0:
		return ""
	case r.month == 0:
		return fmt.Sprintf("%04d", r.year)
	case r.day == 0:
		return fmt.Sprintf("%04d-%02d", r.year, r.month)
	}
	return fmt.Sprintf("%04d-%02d-%02d", r.year, r.month, r.day)
}

func zoteroCreators(authors []name) []map[string]string {
	out := make([]map[string]string, 0, len(authors))
	for _, n := range authors {
		if n.family == "" {
			out = append(out, map[string]string{"creatorType": "author", "name": cmp.Or(n.literal, n.given)})
			continue
		}
		given := n.given
		if n.suffix != "" {
			given += ", " + n.suffix
		}
		out = append(out, map[string]string{"creatorType": "author", "firstName": given, "lastName": n.family})
	}
	return out
}

func zoteroTags(tags []string) []map[string]string {
	out := make([]map[string]string, 0, len(tags))
	for _, t := range tags {
		if r := []rune(t); len(r) > maxZoteroTag {
			t = string(r[:maxZoteroTag])
		}
		out = append(out, map[string]string{"tag": t})
	}
	return out
}

// WorkIndex finds the key of a work in a library by the properties that identify it, as exports do.
type WorkIndex struct {
	byKey map[string][]indexedWork
}

type indexedWork struct {
	key       string
	reference reference
}

// NewWorkIndex returns an empty index.
func NewWorkIndex() *WorkIndex { return &WorkIndex{byKey: map[string][]indexedWork{}} }

// Indexed are the properties that identify a work.
type Indexed struct {
	Title   string   `json:"title"`
	Authors []string `json:"authors"`
	Year    int      `json:"year,omitempty"`
	DOI     string   `json:"doi"`
}

// Add adds a work with its key.
func (x *WorkIndex) Add(key string, w Indexed) {
	card, _ := json.Marshal(w) // has only texts and a number
	r := parseReference(Card{JSON: card})
	for _, k := range workKeys(&r) {
		x.byKey[k] = append(x.byKey[k], indexedWork{key, r})
	}
}

// Find returns the keys of a work, in the order in which they were added.
func (x *WorkIndex) Find(w ZoteroWork) []string {
	var keys []string
	r := w.reference
	r.entry = nil // an entry of a file is the same work as an item of a library
	for _, k := range workKeys(&r) {
		for _, o := range x.byKey[k] {
			if sameWork(&o.reference, &r) && !slices.Contains(keys, o.key) {
				keys = append(keys, o.key)
			}
		}
	}
	return keys
}
