// Package source holds what an agent searches: sources and their documents.
package source

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"carrel/internal/core"
)

// Source is one searchable collection of an agent.
type Source struct {
	ID        string
	AgentID   string
	Name      string
	Kind      string
	Default   bool
	Documents int
	Status    string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Document is one text of a source. ExternalID is the id it came with, unique in its source.
type Document struct {
	ID         string
	SourceID   string
	ExternalID string
	Title      string
	Authors    []string
	Text       string
	// Year is 0 when the document has none.
	Year      int
	URL       string
	DOI       string
	Venue     string
	Type      string
	Hash      []byte
	CreatedAt time.Time
	UpdatedAt time.Time
}

// CardID names the result card of a document. It depends on the document alone, so that the same document is the
// same card in every search, conversation and favourite.
func (d Document) CardID() string { return "card_" + strings.TrimPrefix(d.ID, core.PrefixDocument+"_") }

// Store keeps sources and documents.
type Store interface {
	// InsertSource adds a source to an agent of the user, as its default where it says so.
	InsertSource(ctx context.Context, userID string, s Source) error
	Sources(ctx context.Context, userID, agentID string) ([]Source, error)
	// SetDefaultSource makes a source of the agent its default, in place of the one before.
	SetDefaultSource(ctx context.Context, agentID, sourceID string) error
	// PutDocuments stores a batch in one transaction: a document whose external id the source knows is updated and
	// keeps its id, unless its hash is the same. It returns how many were added and how many updated.
	PutDocuments(ctx context.Context, sourceID string, docs []Document) (added, updated int, err error)
	// ScanDocuments walks over all documents of a source, in the order of their ids.
	ScanDocuments(ctx context.Context, sourceID string) iter.Seq2[Document, error]
	// DocumentsByID returns those of the documents that the source has, in no set order.
	DocumentsByID(ctx context.Context, sourceID string, ids []string) ([]Document, error)
}

// Agents says whether an actor reaches an agent.
type Agents interface {
	Reach(ctx context.Context, actor core.Actor, agentID string) error
}

// Ranker finds the documents of a source that match a query.
type Ranker interface {
	Rank(ctx context.Context, docs iter.Seq2[Document, error], q Query) (Ranking, error)
	// Snippets returns a function that gives the part of a document that shows best why it matches the query.
	Snippets(query string) func(Document) (string, []Span)
}

// Service is the door to sources.
type Service struct {
	store  Store
	agents Agents
	ranker Ranker
	clock  core.Clock
}

// NewService returns a service on this store that searches with this ranker.
func NewService(store Store, agents Agents, ranker Ranker, clock core.Clock) *Service {
	return &Service{store: store, agents: agents, ranker: ranker, clock: clock}
}

var nameRule = core.TextRule{Min: 1, Max: 100}

// Add gives an agent a source for documents that are handed to it.
func (s *Service) Add(ctx context.Context, actor core.Actor, agentID, name string, makeDefault bool) (Source, error) {
	if err := actor.Allow(core.OpManageAgents); err != nil {
		return Source{}, err
	}
	if err := s.agents.Reach(ctx, actor, agentID); err != nil {
		return Source{}, err
	}
	name = strings.TrimSpace(name)
	if detail := nameRule.Check(name); detail != "" {
		return Source{}, core.InvalidField("/name", detail)
	}
	now := s.clock.Now()
	src := Source{
		ID: core.NewIDIn(ctx, core.PrefixSource), AgentID: agentID, Name: name, Kind: "upload",
		Default: makeDefault, Status: "ready", CreatedAt: now, UpdatedAt: now,
	}
	if err := s.store.InsertSource(ctx, actor.UserID, src); err != nil {
		return Source{}, err
	}
	return src, nil
}

// AddOrFind returns the agent's source of this name, made where there is none. With makeDefault it is the agent's
// default from then on.
func (s *Service) AddOrFind(ctx context.Context, actor core.Actor, agentID, name string, makeDefault bool) (Source, error) {
	if err := actor.Allow(core.OpManageAgents); err != nil {
		return Source{}, err
	}
	if err := s.agents.Reach(ctx, actor, agentID); err != nil {
		return Source{}, err
	}
	sources, err := s.store.Sources(ctx, actor.UserID, agentID)
	if err != nil {
		return Source{}, err
	}
	for _, src := range sources {
		if src.Name != strings.TrimSpace(name) {
			continue
		}
		if makeDefault && !src.Default {
			src.Default = true
			return src, s.store.SetDefaultSource(ctx, agentID, src.ID)
		}
		return src, nil
	}
	return s.Add(ctx, actor, agentID, name, makeDefault)
}

// Default returns the source of an agent that is searched when none is named.
func (s *Service) Default(ctx context.Context, actor core.Actor, agentID string) (Source, error) {
	if err := actor.Allow(core.OpReadAgents); err != nil {
		return Source{}, err
	}
	if err := s.agents.Reach(ctx, actor, agentID); err != nil {
		return Source{}, err
	}
	return s.pick(ctx, actor, agentID, "")
}

// Imported counts what became of documents handed to a source.
type Imported struct {
	Added, Updated, Unchanged int
}

// Total is how many documents were looked at.
func (i Imported) Total() int { return i.Added + i.Updated + i.Unchanged }

// importBatch is how many documents share a transaction: enough to make the sync to disk cheap, few enough to
// leave the writer to others in between.
const importBatch = 500

// Import stores documents in a source. Those that are there unchanged are left alone; progress is told after each
// batch. A failure leaves the batches before it in place, and the same import run again goes on from there.
func (s *Service) Import(ctx context.Context, actor core.Actor, src Source, docs iter.Seq2[Document, error], progress func(Imported)) (Imported, error) {
	var done Imported
	if err := actor.Allow(core.OpManageAgents); err != nil {
		return done, err
	}
	if err := s.agents.Reach(ctx, actor, src.AgentID); err != nil {
		return done, err
	}
	batch := make([]Document, 0, importBatch)
	flush := func() error {
		added, updated, err := s.store.PutDocuments(ctx, src.ID, batch)
		if err != nil {
			return fmt.Errorf("store documents: %w", err)
		}
		done.Added += added
		done.Updated += updated
		done.Unchanged += len(batch) - added - updated
		batch = batch[:0]
		if progress != nil {
			progress(done)
		}
		return nil
	}
	for d, err := range docs {
		if err != nil {
			return done, err
		}
		now := s.clock.Now()
		d.ID, d.SourceID, d.CreatedAt, d.UpdatedAt = core.NewID(core.PrefixDocument), src.ID, now, now
		if d.Hash, err = d.hash(); err != nil {
			return done, err
		}
		if batch = append(batch, d); len(batch) == importBatch {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	if len(batch) == 0 {
		return done, nil
	}
	return done, flush()
}

// hash tells whether a document that comes again has changed.
func (d Document) hash() ([]byte, error) {
	b, err := json.Marshal([]any{d.Title, d.Authors, d.Text, d.Year, d.URL, d.DOI, d.Venue, d.Type})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return sum[:16], nil
}
