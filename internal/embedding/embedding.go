// Package embedding gives the passages of documents vectors, by which texts are found that say the same in other words.
// It is optional: without an endpoint for embeddings nothing of it runs, and search goes by words alone.
//
// Vectors cost money, so they are kept in the database, where every node finds them, and a text that has one is never
// sent again, whichever document it stands in. What lacks vectors is worked off by a task, one for the installation.
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

// Space is where vectors can be compared: those of one model and length.
type Space struct {
	Model string
	Dims  int
}

// Document is a document whose passages may lack vectors.
type Document struct {
	ID, SourceID string
	// Seq is its place in the change log.
	Seq         uint64
	Title, Text string
	Owner       Owner
}

// Embedded is what was made of a document.
type Embedded struct {
	ID, SourceID string
	// Seq is the place that it had in the change log when it was read.
	Seq uint64
	// Hashes are those of all its texts.
	Hashes []string
	// New are vectors that the document did not have, as Pack makes them, by the hash of their text.
	New map[string][]byte
	// Complete says that with these all its texts have vectors.
	Complete bool
}

// Store keeps vectors. A vector belongs to a document and goes with it.
type Store interface {
	// EmbeddingDims returns how long the model's vectors were when they were last stored, or 0.
	EmbeddingDims(ctx context.Context, model string) (int, error)
	// Head returns the newest place in the change log, and EmbeddedThrough the one up to which nothing lacks vectors.
	Head(ctx context.Context) (uint64, error)
	EmbeddedThrough(ctx context.Context, s Space) (uint64, error)
	// UnembeddedDocuments returns documents that are to be looked at, in the order of the change log from after
	// (exclusive) to through, those of some users left out: up to n, and no more after the first that makes their texts
	// longer than bytes.
	UnembeddedDocuments(ctx context.Context, s Space, after, through uint64, n, bytes int, without ...string) ([]Document, error)
	// KnownEmbeddings returns the vectors of texts, by hash, whichever document they stand in.
	KnownEmbeddings(ctx context.Context, s Space, hashes []string) (map[string][]byte, error)
	// PutEmbeddings stores vectors and deletes those of texts that a complete document does not have any more. In the
	// same transaction it moves complete documents with new vectors to a new place in the change log, where indexes find
	// them, and notes that nothing up to through lacks vectors. A document that was changed or deleted meanwhile is not
	// taken as complete.
	PutEmbeddings(ctx context.Context, s Space, docs []Embedded, through uint64, now time.Time) error
	// Embeddings returns the vectors of documents, by id and by the hash of their text.
	Embeddings(ctx context.Context, s Space, ids []string) (map[string]map[string][]byte, error)
	// ActiveTask returns the task of a key that runs or, if none does, waits first.
	ActiveTask(ctx context.Context, key string) (task.Task, error)
}

// Tasks takes work that is to be done.
type Tasks interface {
	Submit(ctx context.Context, s task.Spec) (task.Task, error)
}

// Service makes vectors and gives them out.
type Service struct {
	store    Store
	embedder model.Embedder
	// queries is for those who wait.
	queries *model.Breaker
	tasks   Tasks
	clock   core.Clock
	log     *slog.Logger
	// price is in dollars for a million tokens.
	price float64
	// payer is nil where nobody pays.
	payer    Payer
	maxSteps int
	// failing says that the log has heard of the failure that lasts.
	failing atomic.Bool
}

// NewService returns a service on this store that asks this embedder. Its kind of task must be registered with the
// engine. The price is in dollars for a million tokens.
func NewService(store Store, e model.Embedder, tasks Tasks, clock core.Clock, log *slog.Logger, price float64) *Service {
	return &Service{
		store: store, embedder: e, queries: model.NewBreaker(e, clock), tasks: tasks, clock: clock, log: log, price: price,
		maxSteps: maxSteps,
	}
}

// Model returns the name of the model.
func (s *Service) Model() string { return s.embedder.Model() }

// Query returns the vector of a query, within two seconds. Whoever gets an error searches by words alone, and says so.
func (s *Service) Query(ctx context.Context, text string) ([]float32, error) {
	out, err := s.queries.Embed(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	return out.Vectors[0], nil
}

// Vectors returns the vectors of documents, by id, as far as there are any. A vector is returned for exactly the text
// that it was made of: passages that were changed since then have none until the task has been there.
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

// space returns where the vectors lie: as long as the endpoint has not said how long they are, they are taken to be as
// they were. Dims is 0 when nobody knows.
func (s *Service) space(ctx context.Context) (Space, error) {
	space := Space{Model: s.embedder.Model(), Dims: s.embedder.Dims()}
	if space.Dims != 0 {
		return space, nil
	}
	var err error
	space.Dims, err = s.store.EmbeddingDims(ctx, space.Model)
	return space, err
}
