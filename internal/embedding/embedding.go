// Package embedding computes vectors for the passages of documents with an endpoint, by which search finds texts with
// the same meaning in other words. It is optional: without an endpoint, the search index uses vectors of the built-in
// model.
//
// Vectors cost money, so they are stored in the database for all nodes, and a text is embedded once even if several
// documents contain it. One task per installation computes missing vectors.
package embedding

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/search"
	"carrel/internal/task"
)

// Space identifies comparable vectors by model and length.
type Space struct {
	Model string
	Dims  int
}

// Document is a document whose passages may lack vectors.
type Document struct {
	ID, SourceID string
	// Seq is its position in the change log.
	Seq         uint64
	Title, Text string
	Owner       Owner
}

// Embedded holds the new vectors of a document.
type Embedded struct {
	ID, SourceID string
	// Seq is its position in the change log when it was read.
	Seq uint64
	// Hashes are the hashes of all its texts.
	Hashes []string
	// New are the vectors to add, packed, by the hash of their text.
	New map[string][]byte
	// Complete is set if all texts of the document then have vectors.
	Complete bool
}

// Store persists vectors. A vector belongs to a document and is deleted with it.
type Store interface {
	// EmbeddingDims returns the length of the model's stored vectors, or 0.
	EmbeddingDims(ctx context.Context, model string) (int, error)
	// Head returns the last position in the change log, EmbeddedThrough the one up to which all documents are
	// complete.
	Head(ctx context.Context) (uint64, error)
	EmbeddedThrough(ctx context.Context, s Space) (uint64, error)
	// UnembeddedDocuments returns documents that may lack vectors, in the order of the change log from after
	// (exclusive) to through, without the documents of some users. It stops after n documents, or after the document
	// whose text exceeds bytes in total.
	UnembeddedDocuments(
		ctx context.Context, s Space, after, through uint64, n, bytes int, without ...string,
	) ([]Document, error)
	// KnownEmbeddings returns the stored vectors of texts in any document, by hash.
	KnownEmbeddings(ctx context.Context, s Space, hashes []string) (map[string][]byte, error)
	// PutEmbeddings stores vectors and deletes the vectors of texts that a complete document no longer has. In the same
	// transaction it moves complete documents with new vectors to the end of the change log, where indexes find them,
	// and records that all documents up to through are complete. A document that was changed or deleted meanwhile is
	// not counted as complete.
	PutEmbeddings(ctx context.Context, s Space, docs []Embedded, through uint64, now time.Time) error
	// Embeddings returns the vectors of documents, by id and by the hash of their text.
	Embeddings(ctx context.Context, s Space, ids []string) (map[string]map[string][]byte, error)
	// ActiveTask returns the running task of a key, or the first queued one.
	ActiveTask(ctx context.Context, key string) (task.Task, error)
}

// Tasks submits durable tasks.
type Tasks interface {
	Submit(ctx context.Context, s task.Spec) (task.Task, error)
}

// Service computes and returns vectors.
type Service struct {
	store    Store
	embedder model.Embedder
	// queries embeds search queries, with a circuit breaker.
	queries *model.Breaker
	tasks   Tasks
	clock   core.Clock
	log     *slog.Logger
	payer   Payer
	// price is in dollars per million tokens.
	price    float64
	maxSteps int
	// failing is set while a failure lasts, so that it is logged once.
	failing atomic.Bool
}

// Deps are the dependencies of a Service. All are required.
type Deps struct {
	Store    Store
	Embedder model.Embedder
	Tasks    Tasks
	// Payer charges the owners of documents.
	Payer Payer
	Clock core.Clock
	Log   *slog.Logger
}

// NewService returns a Service whose vectors cost price dollars per million tokens. It panics when a dependency is
// missing. The caller registers Kind with the task engine.
func NewService(d Deps, price float64) *Service {
	core.RequireDeps(d)
	return &Service{
		store: d.Store, embedder: d.Embedder, queries: model.NewBreaker(d.Embedder, d.Clock), tasks: d.Tasks,
		payer: d.Payer,
		clock: d.Clock, log: d.Log, price: price, maxSteps: maxSteps,
	}
}

// Model returns the name of the model.
func (s *Service) Model() string { return s.embedder.Model() }

// Query returns the vector of a query within two seconds. On an error the caller searches by words alone and adds a
// warning.
func (s *Service) Query(ctx context.Context, text string) ([]float32, error) {
	out, err := s.queries.Embed(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	return out.Vectors[0], nil
}

// Vectors returns the stored vectors of documents, by id. Each belongs to exactly the current text of its passage: a
// changed passage has none until the task has run.
func (s *Service) Vectors(ctx context.Context, docs []search.Document) (map[string]*search.Vectors, error) {
	space, err := s.space(ctx)
	if err != nil || space.Dims == 0 || len(docs) == 0 {
		return nil, err
	}
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	stored, err := s.store.Embeddings(ctx, space, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*search.Vectors, len(stored))
	for _, d := range docs {
		packed := stored[d.ID]
		if len(packed) == 0 {
			continue
		}
		texts := passageTexts(d.Title, d.Text)
		v := &search.Vectors{Model: space.Model, Dims: space.Dims, Passages: make([][]float32, len(texts))}
		for i, text := range texts {
			v.Passages[i] = Unpack(packed[hashOf(text)])
		}
		out[d.ID] = v
	}
	return out, nil
}

// space returns the model and the length of its vectors. Until the endpoint has replied, it is the length of the
// stored vectors; 0 means unknown.
func (s *Service) space(ctx context.Context) (Space, error) {
	space := Space{Model: s.embedder.Model(), Dims: s.embedder.Dims()}
	if space.Dims != 0 {
		return space, nil
	}
	var err error
	space.Dims, err = s.store.EmbeddingDims(ctx, space.Model)
	return space, err
}
