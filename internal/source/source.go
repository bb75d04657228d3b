// Package source holds what an agent searches: sources and their documents.
package source

import (
	"cmp"
	"context"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/search"
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
	// Language is that of its documents (ISO 639-1): what the owner said, or a guess at the first import. Empty means
	// that it is not known.
	Language string
	// Settings are JSON, or empty; see SettingsOf.
	Settings string
	// Sealed is the encrypted secret, bound to its receiver; see Service.Secret.
	Sealed []byte
	// SecretRemoved is set by Service.Change when the secret was dropped because the settings name another receiver.
	// It is not stored.
	SecretRemoved bool
	// SyncedAt is when it was last brought up to date, and NextSyncAt when it is due.
	SyncedAt, NextSyncAt *time.Time
	CreatedAt            time.Time
	UpdatedAt            time.Time
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
	Year  int
	URL   string
	DOI   string
	Venue string
	Type  string
	// PublishedAt is a full-date or a date-time of RFC 3339 as it came, or empty.
	PublishedAt string
	// CitationCount is nil when nobody said how often it was cited.
	CitationCount *int
	OpenAccessURL string
	// File is the id of the file that it came from, or empty.
	File string
	Hash []byte
	// ExpiresAt is when a result of a live source goes again unless somebody keeps it; nil is for what stays.
	ExpiresAt *time.Time
	CreatedAt time.Time
	UpdatedAt time.Time
}

// CardID names the result card of a document. It depends on the document alone, so that the same document is the
// same card in every search, conversation and favourite.
func (d Document) CardID() string {
	return prefixCard + strings.TrimPrefix(d.ID, core.PrefixDocument+"_")
}

const prefixCard = "card_"

// documentOf returns the id of the document that a card is of, if it is the card of one.
func documentOf(cardID string) (string, bool) {
	rest, ok := strings.CutPrefix(cardID, prefixCard)
	id := core.PrefixDocument + "_" + rest
	return id, ok && core.IsID(core.PrefixDocument, id)
}

// Store keeps sources and documents.
type Store interface {
	// InsertSource adds a source to an agent of the user, as its default where it says so.
	InsertSource(ctx context.Context, userID string, s Source) error
	Sources(ctx context.Context, userID, agentID string) ([]Source, error)
	// SetDefaultSource makes a source of the agent its default, in place of the one before.
	SetDefaultSource(ctx context.Context, agentID, sourceID string) error
	// UpdateSource stores a source's name, settings, secret and next sync.
	UpdateSource(ctx context.Context, s Source) error
	// DeleteSource removes a source with all that is in it. The successor, if one is named, becomes the default where the
	// source was; a default without one stays, which is a conflict.
	DeleteSource(ctx context.Context, agentID, sourceID, successorID string) error
	// PutDocuments stores a batch in one transaction: a document whose external id the source knows is updated and
	// keeps its id, unless its hash is the same. It returns how many were added and how many updated.
	PutDocuments(ctx context.Context, sourceID string, docs []Document) (added, updated int, err error)
	// DocumentsByID returns those of the documents that the sources have, in no set order.
	DocumentsByID(ctx context.Context, sources, ids []string) ([]Document, error)
	// Document returns a document of one of the sources of an agent of the user.
	Document(ctx context.Context, userID, agentID, documentID string) (Document, error)
	// SetSourceLanguage sets a language and returns the one that holds then: a guess gives way to a language that is
	// known already. Where it changes, the documents are indexed again.
	SetSourceLanguage(ctx context.Context, sourceID, language string, guessed bool, now time.Time) (string, error)
	// SealedSources returns the sources of all users that have a secret.
	SealedSources(ctx context.Context) ([]Source, error)
	// ReplaceSecret stores a secret that was sealed again, unless the secret or the settings of the source changed
	// meanwhile.
	ReplaceSecret(ctx context.Context, before Source, sealed []byte) error
	// AddSearches adds to the numbers of searches of users and days.
	AddSearches(ctx context.Context, counts []Searches) error
	LiveStore
}

// Agents says whether an actor reaches an agent.
type Agents interface {
	Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error
}

// Engine searches the stored documents; see search.Service.
type Engine interface {
	Search(ctx context.Context, q search.Query) (search.Result, error)
	// Indexed returns how many documents of a source can be found, and false if that is not known.
	Indexed(sourceID string) (documents int, known bool)
	Statistics(ctx context.Context, sources, terms []string) (search.Statistics, error)
}

// Options are what a service is told about the installation.
type Options struct {
	// Guess returns the language of a text, or nothing. Nil leaves languages to the owner.
	Guess func(text string) string
	// Languages are those that a source can have; nil allows any code.
	Languages []string
	// Kinds are the sorts of sources that can be made; nil are the stored ones.
	Kinds []Kind
	// Live asks sources of the live kinds; it is needed where Kinds has such. LiveTime is how long all of them together may
	// take; 0 is a few seconds.
	Live     Live
	LiveTime time.Duration
	// Payer holds paid searches to the caps of users; nil lets everybody search.
	Payer Payer
	// Sealer keeps the secrets of sources; without one there are none.
	Sealer Sealer
}

// Sealer encrypts what must be read again, for one place.
type Sealer interface {
	Seal(plain []byte, place string) []byte
	Open(sealed []byte, place string) ([]byte, error)
}

// Service is the door to sources.
type Service struct {
	store   Store
	agents  Agents
	engine  Engine
	clock   core.Clock
	options Options
	meter   meter
}

// NewService returns a service on this store that searches with this engine.
func NewService(store Store, agents Agents, engine Engine, clock core.Clock, o Options) *Service {
	if o.Kinds == nil {
		o.Kinds = StoredKinds()
	}
	if o.LiveTime == 0 {
		o.LiveTime = liveTime
	}
	return &Service{store: store, agents: agents, engine: engine, clock: clock, options: o}
}

// New is a source to be made.
type New struct {
	Name string
	// Language is an ISO 639-1 code; empty leaves it to a guess at the first import.
	Language string
	// Default makes it the source that is searched when none is named.
	Default bool
	// Kind is upload unless it says otherwise.
	Kind     string
	Settings Settings
	// Secret is kept sealed and never shown again.
	Secret string
}

var nameRule = core.TextRule{Min: 1, Max: 100}

// check trims the fields and returns what is wrong with them.
func (s *Service) check(n *New) error {
	n.Name, n.Language = strings.TrimSpace(n.Name), strings.TrimSpace(n.Language)
	var bad []core.FieldError
	if detail := nameRule.Check(n.Name); detail != "" {
		bad = append(bad, core.FieldError{Pointer: "/name", Detail: detail})
	}
	if detail := s.checkLanguage(n.Language); n.Language != "" && detail != "" {
		bad = append(bad, core.FieldError{Pointer: "/language", Detail: detail})
	}
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

// Add gives an agent a source.
func (s *Service) Add(ctx context.Context, actor core.Actor, agentID string, n New) (Source, error) {
	if err := s.agents.Allow(ctx, actor, core.OpCreateSource, agentID); err != nil {
		return Source{}, err
	}
	if err := s.check(&n); err != nil {
		return Source{}, err
	}
	k, known := s.kind(cmp.Or(n.Kind, KindUpload))
	if !known {
		return Source{}, core.InvalidField("/kind", "Must be one of "+strings.Join(s.kindNames(), ", ")+".")
	}
	if k.Admin {
		if err := mayAdmin(actor); err != nil {
			return Source{}, err
		}
	}
	now := s.clock.Now()
	src := Source{
		ID: core.NewIDIn(ctx, core.PrefixSource), AgentID: agentID, Name: n.Name, Kind: k.Name,
		Default: n.Default, Status: StatusReady, Language: n.Language, NextSyncAt: nextSync(n.Settings, now), CreatedAt: now, UpdatedAt: now,
	}
	kept, bad := s.settings(k, n.Settings, n.Secret)
	src.Settings = kept
	if bad = append(bad, s.setSecret(&src, k, n.Secret)...); bad != nil {
		return Source{}, core.Invalid(bad...)
	}
	if err := s.store.InsertSource(ctx, actor.UserID, src); err != nil {
		return Source{}, err
	}
	return src, nil
}

func (s *Service) kindNames() []string {
	names := make([]string, len(s.options.Kinds))
	for i, k := range s.options.Kinds {
		names[i] = k.Name
	}
	return names
}

// AddOrFind returns the agent's source of this name, made where there is none. One that is there becomes the default
// and gets the language where that is asked for, and else stays as it is.
func (s *Service) AddOrFind(ctx context.Context, actor core.Actor, agentID string, n New) (Source, error) {
	if err := s.agents.Allow(ctx, actor, core.OpCreateSource, agentID); err != nil {
		return Source{}, err
	}
	if err := s.check(&n); err != nil {
		return Source{}, err
	}
	sources, err := s.store.Sources(ctx, actor.UserID, agentID)
	if err != nil {
		return Source{}, err
	}
	for _, src := range sources {
		if src.Name == n.Name {
			return s.adjust(ctx, src, n)
		}
	}
	return s.Add(ctx, actor, agentID, n)
}

// adjust gives a source what is asked for.
func (s *Service) adjust(ctx context.Context, src Source, n New) (_ Source, err error) {
	if n.Default && !src.Default {
		if err := s.store.SetDefaultSource(ctx, src.AgentID, src.ID); err != nil {
			return Source{}, err
		}
		src.Default = true
	}
	if n.Language != "" {
		if src.Language, err = s.store.SetSourceLanguage(ctx, src.ID, n.Language, false, s.clock.Now()); err != nil {
			return Source{}, err
		}
	}
	return src, nil
}

// Default returns the source of an agent that is searched when none is named.
func (s *Service) Default(ctx context.Context, actor core.Actor, agentID string) (Source, error) {
	if err := s.agents.Allow(ctx, actor, core.OpListSources, agentID); err != nil {
		return Source{}, err
	}
	return s.pick(ctx, actor, agentID, "")
}
