package source

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"carrel/internal/core"
	"carrel/internal/search"
)

// Federated searches sources at query time.
type Federated interface {
	// Search returns the results of a source, best first. It applies the bounds on years itself and ends with the
	// context. Its error is a *Failure if the source is to blame.
	Search(ctx context.Context, r FederatedRequest) (FederatedReply, error)
}

// FederatedRequest is a search in one source. A year of 0 means no bound.
type FederatedRequest struct {
	Kind     string
	Settings Settings
	// Secret is the decrypted secret of the source.
	Secret           string
	Text             string
	Limit            int
	FromYear, ToYear int
}

// FederatedReply holds the results of a source, best first. It is cached as JSON.
type FederatedReply struct {
	// Documents have an external id and no id yet.
	Documents []Document
	// UndatedExcluded counts the results that were dropped because the request has bounds and their year is unknown.
	UndatedExcluded int
}

// Failure is the reason why a federated source could not be searched, for the user.
type Failure struct {
	// Code is a warning code.
	Code   string
	Detail string
	// refusal is set if Carrel refused the search, such as for a spend cap.
	refusal *core.Error
}

// Error returns the detail.
func (f *Failure) Error() string { return f.Detail }

// FederatedStore caches replies of federated sources and holds their documents, which expire unless they are kept.
type FederatedStore interface {
	// FederatedReply returns a cached reply that has not expired.
	FederatedReply(ctx context.Context, key []byte, now time.Time) ([]byte, error)
	PutFederatedReply(ctx context.Context, key, reply []byte, expires time.Time) error
	// PutFederatedDocuments stores documents that expire and returns the stored versions in the same order. Kept documents
	// are not changed.
	PutFederatedDocuments(ctx context.Context, sourceID string, docs []Document) ([]Document, error)
	// KeepDocuments removes the expiry of documents and enters them in the change log of the index.
	KeepDocuments(ctx context.Context, userID, agentID string, ids []string, now time.Time) error
	// PruneFederated deletes expired replies and documents.
	PruneFederated(ctx context.Context, now time.Time) error
}

const (
	// defaultFederatedTimeout is shorter than the time that a turn has for a search, so that the turn continues with
	// the other sources.
	defaultFederatedTimeout = 6 * time.Second
	// failureRetryAfter is the Retry-After of a failed search.
	failureRetryAfter = 30 * time.Second
	// replyTTL is how long a reply is cached.
	replyTTL = time.Hour
	// documentTTL is how long a result stays available if it is not opened, cited or saved. It exceeds replyTTL and
	// the duration of a turn, so that displayed results can be opened.
	documentTTL = 7 * 24 * time.Hour
)

// isFederated reports whether a source is federated.
func (s *Service) isFederated(src Source) bool {
	k, _ := s.kind(src.Kind)
	return k.Federated
}

// federatedResult is the result of a search in one federated source: cards, or a failure.
type federatedResult struct {
	cards           []Card
	undatedExcluded int
	failure         *Failure
}

func (r federatedResult) warning(src Source) Warning {
	return Warning{SourceID: src.ID, Code: r.failure.Code, Detail: r.failure.Detail}
}

// queryFederated searches federated sources concurrently. A source that fails is not an error; a failure to store its
// results is.
func (s *Service) queryFederated(
	ctx context.Context, buyer Buyer, sources []Source, q search.Query,
) ([]federatedResult, error) {
	out := make([]federatedResult, len(sources))
	limited, cancel := context.WithTimeout(ctx, s.federatedTimeout)
	defer cancel()
	var group errgroup.Group
	for i, src := range sources {
		group.Go(func() (err error) {
			out[i], err = s.querySource(ctx, limited, buyer, src, q)
			return err
		})
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // the request was cancelled; no source failed
	}
	return out, err
}

// querySource searches a source within the limited context and stores its results within ctx.
func (s *Service) querySource(
	ctx, limited context.Context, buyer Buyer, src Source, q search.Query,
) (federatedResult, error) {
	reply, err := s.cachedReply(ctx, limited, buyer, src, q)
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		return federatedResult{failure: failure}, nil
	case err != nil:
		return federatedResult{}, fmt.Errorf("search a source of kind %s: %w", src.Kind, err)
	}
	now := s.clock.Now()
	expires := now.Add(documentTTL)
	var hashes hasher
	for i := range reply.Documents {
		d := &reply.Documents[i]
		d.ID, d.SourceID = core.NewID(core.PrefixDocument), src.ID
		d.CreatedAt, d.UpdatedAt, d.ExpiresAt = now, now, &expires
		d.dropUnsafeLinks()
		if d.Hash, err = hashes.sum(*d); err != nil {
			return federatedResult{}, err
		}
		s.detectDocumentLanguage(d)
	}
	if src.Language == "" && len(reply.Documents) > 0 {
		if src.Language, err = s.detectLanguage(ctx, src, reply.Documents); err != nil {
			return federatedResult{}, err
		}
	}
	docs, err := s.store.PutFederatedDocuments(ctx, src.ID, reply.Documents)
	if err != nil {
		return federatedResult{}, err
	}
	q.Language = src.Language
	highlighter := search.NewHighlighter(q.Language, search.Parse(q))
	out := federatedResult{undatedExcluded: reply.UndatedExcluded}
	for rank, d := range docs {
		if !q.Covers(d.Year) { // the year of a kept document may have changed since
			continue
		}
		out.cards = append(out.cards, Card{
			Document: d, Snippet: highlighter.Snippet(d.Title, d.Text, search.BestPassage), Score: reciprocal(rank),
		})
	}
	return out, nil
}

// cachedReply returns the cached reply of a source to a query, or queries the source.
func (s *Service) cachedReply(
	ctx, limited context.Context, buyer Buyer, src Source, q search.Query,
) (FederatedReply, error) {
	r := FederatedRequest{Kind: src.Kind, Text: q.Text, Limit: q.Limit, FromYear: q.FromYear, ToYear: q.ToYear}
	var err error
	if r.Settings, err = src.SettingsOf(); err != nil {
		return FederatedReply{}, err
	}
	if r.Secret, err = s.Secret(src); err != nil {
		return FederatedReply{}, &Failure{
			Code:   WarnSourceRefused,
			Detail: "The key can't be used with this address. Enter it again in the settings of the source.",
		}
	}
	key := r.key()
	var reply FederatedReply
	cached, err := s.store.FederatedReply(ctx, key, s.clock.Now())
	if err == nil {
		return reply, json.Unmarshal(cached, &reply)
	}
	if !core.IsKind(err, core.KindNotFound) {
		return FederatedReply{}, err
	}
	if reply, err = s.query(ctx, limited, buyer, src, r); err != nil {
		return FederatedReply{}, err
	}
	if cached, err = json.Marshal(reply); err != nil {
		return FederatedReply{}, err
	}
	return reply, s.store.PutFederatedReply(ctx, key, cached, s.clock.Now().Add(replyTTL))
}

// query sends a request to a federated source and charges paid searches. All requests to federated sources pass
// through it.
func (s *Service) query(
	ctx, limited context.Context, buyer Buyer, src Source, r FederatedRequest,
) (FederatedReply, error) {
	if k, _ := s.kind(src.Kind); !k.Paid || s.payer == nil {
		return s.federated.Search(limited, r)
	}
	settle, err := s.payer.HoldSearch(ctx, buyer, src.Kind)
	if core.IsRefusal(err) {
		e := core.AsError(err)
		return FederatedReply{}, &Failure{Code: e.Code, Detail: e.Detail, refusal: e}
	}
	if err != nil {
		return FederatedReply{}, err
	}
	reply, err := s.federated.Search(limited, r)
	// A provider may charge for a search whose reply was lost, so every hold is settled.
	return reply, errors.Join(err, settle(context.WithoutCancel(ctx)))
}

// key is the cache key of a request. Sources with the same settings and secret share replies.
func (r FederatedRequest) key() []byte {
	secret := sha256.Sum256([]byte(r.Secret))
	// The values are strings and numbers, so Marshal cannot fail.
	b, _ := json.Marshal([]any{r.Kind, r.Settings, secret, r.Text, r.Limit, r.FromYear, r.ToYear})
	sum := sha256.Sum256(b)
	return sum[:]
}

// searchError returns the error of a search in which all sources failed.
func (f *Failure) searchError() error {
	if f.refusal != nil {
		return f.refusal
	}
	return &core.Error{
		Kind: core.KindUnavailable, Code: "unavailable", RetryAfter: failureRetryAfter,
		Detail: "The source could not be searched. " + f.Detail,
	}
}

// Keep removes the expiry of documents that federated sources found, because they were opened, cited or saved.
func (s *Service) Keep(ctx context.Context, userID, agentID string, ids []string) error {
	return s.store.KeepDocuments(ctx, userID, agentID, ids, s.clock.Now())
}

// KeepCard keeps the document of a card. It does nothing for a card without a document.
func (s *Service) KeepCard(ctx context.Context, userID, agentID, cardID string) error {
	id, ok := documentIDOfCard(cardID)
	if !ok {
		return nil
	}
	return s.Keep(ctx, userID, agentID, []string{id})
}

// openingLength is the length of the beginnings that Openings returns. It includes the abstract of an article.
const openingLength = 20_000

// Openings returns the beginnings of the texts of the documents of cards, by card id. Cards without a document, and
// those whose document the user cannot access, are left out.
func (s *Service) Openings(
	ctx context.Context, userID, agentID string, cardIDs []string,
) (map[string]string, error) {
	cards, ids := make(map[string]string, len(cardIDs)), make([]string, 0, len(cardIDs))
	for _, cardID := range cardIDs {
		if id, ok := documentIDOfCard(cardID); ok {
			cards[id] = cardID
			ids = append(ids, id)
		}
	}
	out := make(map[string]string, len(ids))
	for batch := range slices.Chunk(ids, 100) {
		texts, err := s.store.DocumentOpenings(ctx, userID, agentID, batch, openingLength)
		if err != nil {
			return nil, err
		}
		for id, text := range texts {
			out[cards[id]] = text
		}
	}
	return out, nil
}

// Prune deletes expired replies and documents of federated sources.
func (s *Service) Prune(ctx context.Context) error { return s.store.PruneFederated(ctx, s.clock.Now()) }
