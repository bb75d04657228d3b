// Package source manages the sources of agents and their documents, and searches them.
package source

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/search"
)

// Source is a searchable collection of documents of an agent.
type Source struct {
	ID        string
	AgentID   string
	Name      string
	Kind      string
	Default   bool
	Documents int
	Status    string
	// Language is the ISO 639-1 code of the documents, set by the owner or detected at the first import. Empty means
	// unknown.
	Language string
	// Settings is JSON, or empty; see SettingsOf.
	Settings string
	// Sealed is the encrypted secret, bound to its receiver; see Service.Secret.
	Sealed []byte
	// SecretRemoved is set by Service.Change when the secret was dropped because the settings name another receiver.
	// It is not stored.
	SecretRemoved bool
	// SyncedAt is the time of the last sync, NextSyncAt of the next one.
	SyncedAt, NextSyncAt *time.Time
	CreatedAt            time.Time
	UpdatedAt            time.Time
}

// Document is an item of a source, from parsing to storage. Parsers set the descriptive fields; AddDocuments sets the
// id, hash and times.
type Document struct {
	ID         string
	SourceID   string
	ExternalID string
	Title      string
	Authors    []string
	Text       string
	// Year is 0 if it is unknown.
	Year  int
	URL   string
	DOI   string
	Venue string
	Type  string
	// PublishedAt is an RFC 3339 date or date-time, or empty.
	PublishedAt string
	// CitationCount is nil if it is unknown.
	CitationCount *int
	OpenAccessURL string
	// Language is the ISO 639-1 code of a known language, or empty if it is unknown. Parsers set it to the language that
	// the file names, in any form; AddDocuments replaces it by its code.
	Language string
	// File is the id of the imported file, or empty.
	File string
	// Original is the file that the document was read from, if it was kept.
	Original Original
	// Tags are set by people and programs, not by parsers.
	Tags []string
	// Edits are the fields that a person has set.
	Edits Edits
	// Completed names the fields that a public catalogue has filled.
	Completed Completion
	// Note says which part of the file could not be read. The import reports it; it is not stored.
	Note string
	Hash []byte
	// ExpiresAt is set for a result of a federated source until the document is kept; nil means never.
	ExpiresAt *time.Time
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Original is a stored file; see package blob. The zero value means none.
type Original struct {
	// Hash is the SHA-256 of the content in hex.
	Hash string
	// Name is the name of the file without folders.
	Name string
	Size int64
}

// Completion names the catalogue that has filled fields of a document, and the fields. The zero value means none.
type Completion struct {
	From   string   `json:"from"`
	Fields []string `json:"fields"`
}

// CardID returns the id of the document's result card. It depends on the document alone, so that a document has the
// same card in every search, thread and favourite.
func (d Document) CardID() string {
	return prefixCard + strings.TrimPrefix(d.ID, core.PrefixDocument+"_")
}

const prefixCard = "card_"

// HeadLength is the length of a document's beginning in code points; see Service.Heads.
const HeadLength = 4000

// documentIDOfCard returns the id of a card's document, or false if the card has none.
func documentIDOfCard(cardID string) (string, bool) {
	rest, ok := strings.CutPrefix(cardID, prefixCard)
	id := core.PrefixDocument + "_" + rest
	return id, ok && core.IsID(core.PrefixDocument, id)
}

// Store persists sources and documents.
type Store interface {
	// InsertSource adds a source to an agent of the user, and makes it the default if s.Default is set.
	InsertSource(ctx context.Context, userID string, s Source) error
	Sources(ctx context.Context, userID, agentID string) ([]Source, error)
	// SetDefaultSource replaces the default source of an agent.
	SetDefaultSource(ctx context.Context, agentID, sourceID string) error
	// UpdateSource stores a source's name, settings, secret and next sync.
	UpdateSource(ctx context.Context, s Source) error
	// DeleteSource deletes a source with its documents and files. If it was the default, the successor becomes the
	// default; without a successor it returns a conflict.
	DeleteSource(ctx context.Context, agentID, sourceID, successorID string) error
	// PutDocuments stores a batch in one transaction. A document with a known external id is updated and keeps its
	// id, unless its hash is unchanged. It returns the numbers of added and updated documents.
	PutDocuments(ctx context.Context, sourceID string, docs []Document) (added, updated int, err error)
	// DocumentsByID returns the documents with these ids in the sources, in any order.
	DocumentsByID(ctx context.Context, sources, ids []string) ([]Document, error)
	// DocumentSummaries is DocumentsByID without the texts.
	DocumentSummaries(ctx context.Context, sources, ids []string) ([]Document, error)
	// DocumentHeads returns the first n documents of a source that do not expire, published in the years from and to
	// (0 means no limit), with the first HeadLength code points of their texts.
	DocumentHeads(ctx context.Context, sourceID string, from, to, n int) ([]Document, error)
	// Document returns a document of an agent of the user.
	Document(ctx context.Context, userID, agentID, documentID string) (Document, error)
	// DocumentOpenings returns the first n characters of the texts of documents, by id. Documents that do not exist or
	// that the user cannot access are left out.
	DocumentOpenings(ctx context.Context, userID, agentID string, ids []string, n int) (map[string]string, error)
	// SetSourceLanguage sets the language of a source and returns the language in effect: a detected language does
	// not replace a known one. A change marks the documents for indexing.
	SetSourceLanguage(ctx context.Context, sourceID, language string, guessed bool, now time.Time) (string, error)
	// SealedSources returns all sources that have a secret, of all users.
	SealedSources(ctx context.Context) ([]Source, error)
	// ReplaceSecret stores a re-encrypted secret, unless the secret or the settings have changed since before was
	// read.
	ReplaceSecret(ctx context.Context, before Source, sealed []byte) error
	// AddSearches adds to the daily search counts of users.
	AddSearches(ctx context.Context, counts []Searches) error
	FederatedStore
	DocumentStore
}

// Agents decides whether an actor may carry out an operation on an agent.
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

// Deps are the dependencies of a Service. Store, Agents, Engine and Clock are required.
type Deps struct {
	Store  Store
	Agents Agents
	Engine Engine
	Clock  core.Clock
	// GuessLanguage returns the language of a text, or "". Nil disables detection.
	GuessLanguage func(text string) string `dep:"optional"`
	// ParseLanguage returns the code of the language that a tag or name in a file denotes, or "". Nil ignores them.
	ParseLanguage func(tag string) string `dep:"optional"`
	// Languages are the allowed languages; nil allows any code.
	Languages []string `dep:"optional"`
	// Kinds are the kinds of sources that can be created; nil means StoredKinds.
	Kinds []Kind `dep:"optional"`
	// Federated searches the federated kinds; it is required if Kinds has any.
	Federated Federated `dep:"optional"`
	// FederatedTimeout limits all federated searches of a request together; 0 means the default.
	FederatedTimeout time.Duration
	// Payer enforces spend caps on paid searches; nil means no caps.
	Payer Payer `dep:"optional"`
	// Sealer encrypts the secrets of sources; without it, sources can't have secrets.
	Sealer Sealer `dep:"optional"`
	// Originals opens the original files of documents; without it, documents have none.
	Originals Originals `dep:"optional"`
}

// Sealer encrypts secrets, bound to associated data that is called place.
type Sealer interface {
	Seal(plain []byte, place string) []byte
	Open(sealed []byte, place string) ([]byte, error)
}

// Service manages and searches sources.
type Service struct {
	store            Store
	agents           Agents
	engine           Engine
	clock            core.Clock
	guessLanguage    func(text string) string
	parseLanguage    func(tag string) string
	languages        []string
	kinds            []Kind
	federated        Federated
	federatedTimeout time.Duration
	payer            Payer
	sealer           Sealer
	originals        Originals
	meter            meter
}

// NewService returns a Service. It panics if a required dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	if d.Kinds == nil {
		d.Kinds = StoredKinds()
	}
	if d.Federated == nil && slices.ContainsFunc(d.Kinds, func(k Kind) bool { return k.Federated }) {
		panic("source.Deps.Federated is required for federated kinds")
	}
	return &Service{
		store:            d.Store,
		agents:           d.Agents,
		engine:           d.Engine,
		clock:            d.Clock,
		guessLanguage:    d.GuessLanguage,
		parseLanguage:    d.ParseLanguage,
		languages:        d.Languages,
		kinds:            d.Kinds,
		federated:        d.Federated,
		federatedTimeout: cmp.Or(d.FederatedTimeout, defaultFederatedTimeout),
		payer:            d.Payer,
		sealer:           d.Sealer,
		originals:        d.Originals,
	}
}

// New holds the properties of a source to create.
type New struct {
	Name string
	// Language is an ISO 639-1 code; empty means that it is detected at the first import.
	Language string
	// Default makes it the source that is searched when a request names none.
	Default bool
	// Kind defaults to upload.
	Kind     string
	Settings Settings
	// Secret is stored encrypted and never returned.
	Secret string
}

var nameRule = core.TextRule{Min: 1, Max: 100}

// check trims and validates the fields.
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

// Add creates a source.
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
		if err := allowAdmin(actor); err != nil {
			return Source{}, err
		}
	}
	now := s.clock.Now()
	src := Source{
		ID: core.NewIDIn(ctx, core.PrefixSource), AgentID: agentID, Name: n.Name, Kind: k.Name,
		Default: n.Default, Status: StatusReady, Language: n.Language, NextSyncAt: nextSync(n.Settings, now),
		CreatedAt: now, UpdatedAt: now,
	}
	kept, bad := s.checkSettings(k, n.Settings, n.Secret)
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
	names := make([]string, len(s.kinds))
	for i, k := range s.kinds {
		names[i] = k.Name
	}
	return names
}

// AddOrFind returns the agent's source with this name, or creates it. The default and the language of an existing
// source are updated if n sets them.
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
			return s.applyDefaultAndLanguage(ctx, src, n)
		}
	}
	return s.Add(ctx, actor, agentID, n)
}

func (s *Service) applyDefaultAndLanguage(ctx context.Context, src Source, n New) (_ Source, err error) {
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

// Default returns the default source of an agent.
func (s *Service) Default(ctx context.Context, actor core.Actor, agentID string) (Source, error) {
	if err := s.agents.Allow(ctx, actor, core.OpListSources, agentID); err != nil {
		return Source{}, err
	}
	return s.pick(ctx, actor, agentID, "")
}
