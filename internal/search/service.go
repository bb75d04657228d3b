package search

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"carrel/internal/core"
)

// Embedder computes the embedding of a query.
type Embedder interface {
	Query(ctx context.Context, text string) ([]float32, error)
	// Model names the embedding model.
	Model() string
}

// queryEmbeddingTimeout is how long a search waits for the embedding of its query.
const queryEmbeddingTimeout = 2 * time.Second

// Service searches with the engine that is open, and adds embeddings to queries. Before Open and after Shut, as in
// administrative commands, searches fail as unavailable.
type Service struct {
	engine   atomic.Pointer[Engine]
	embedder Embedder
	weight   float64
	log      *slog.Logger
}

// NewService returns a service without an engine. The embedder may be nil. Weight is the weight of embeddings in the
// ranking, also of those that the engine computes.
func NewService(embedder Embedder, weight float64, log *slog.Logger) *Service {
	return &Service{embedder: embedder, weight: weight, log: log}
}

// Open makes the service search with an engine.
func (s *Service) Open(e Engine) { s.engine.Store(&e) }

// Shut makes the service unavailable again. It does not close the engine.
func (s *Service) Shut() { s.engine.Store(nil) }

// Search returns the documents that match a query.
func (s *Service) Search(ctx context.Context, q Query) (Result, error) {
	engine, err := s.current()
	if err != nil {
		return Result{}, err
	}
	q.VectorWeight = s.weight
	embedded := s.embedder == nil || q.Plain || s.embed(ctx, &q)
	result, err := engine.Search(ctx, q)
	result.EmbeddingFailed = !embedded
	return result, unavailable(err)
}

// embed adds the embedding of the query and reports whether it could.
func (s *Service) embed(ctx context.Context, q *Query) bool {
	ctx, cancel := context.WithTimeout(ctx, queryEmbeddingTimeout)
	defer cancel()
	vector, err := s.embedder.Query(ctx, q.Text)
	if err != nil {
		s.log.DebugContext(ctx, "query embedding failed; searching by words alone", slog.Any("error", err))
		return false
	}
	q.Vector, q.Model = vector, s.embedder.Model()
	return true
}

// Statistics counts the passages of the sources that hold each term.
func (s *Service) Statistics(ctx context.Context, sources, terms []string) (Statistics, error) {
	engine, err := s.current()
	if err != nil {
		return Statistics{}, err
	}
	statistics, err := engine.Statistics(ctx, sources, terms)
	return statistics, unavailable(err)
}

// Status describes the engine, and reports false while none is open.
func (s *Service) Status() (Status, bool) {
	engine, err := s.current()
	if err != nil {
		return Status{}, false
	}
	return engine.Status(), true
}

// Indexed returns how many documents of a source searches can find, and false while no engine is open.
func (s *Service) Indexed(sourceID string) (int, bool) {
	status, ok := s.Status()
	return status.Sources[sourceID], ok
}

// unavailableRetry is when a client should try again after the service of an engine did not answer.
const unavailableRetry = 5 * time.Second

// unavailable returns the error for clients if the service of the engine is not available, and other errors unchanged.
func unavailable(err error) error {
	if !errors.Is(err, ErrUnavailable) {
		return err
	}
	return (&core.Error{
		Kind: core.KindUnavailable, Code: "search_unavailable", RetryAfter: unavailableRetry,
		Detail: "The search service is not available; try again in a moment. Other requests work.",
	}).Because(err)
}

func (s *Service) current() (Engine, error) {
	if e := s.engine.Load(); e != nil {
		return *e, nil
	}
	return nil, &core.Error{
		Kind: core.KindUnavailable, Code: "unavailable", RetryAfter: time.Second,
		Detail: "The search index is not open; try again in a moment.",
	}
}
