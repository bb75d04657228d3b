package source

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"carrel/internal/core"
	"carrel/internal/search"
)

// Live asks sources that are searched at question time.
type Live interface {
	// Ask returns what a source finds, best first. It keeps to the request's years itself and ends with the context. Its
	// error is a *Failure where the source is to blame.
	Ask(ctx context.Context, r LiveRequest) (LiveAnswer, error)
}

// LiveRequest is what a live source is asked. A year of 0 is no bound.
type LiveRequest struct {
	Kind     string
	Settings Settings
	// Secret is the source's, in the clear.
	Secret           string
	Text             string
	Limit            int
	FromYear, ToYear int
}

// LiveAnswer is what a live source has found, best first.
type LiveAnswer struct {
	// Documents have no id yet, and the id that the source knows them by.
	Documents []Document
	// UndatedExcluded is how many were left out because the request has bounds and nobody knows their year.
	UndatedExcluded int
}

// Failure is why a live source could not be searched, fit to be shown to its user.
type Failure struct {
	// Code is one of the codes of warnings.
	Code   string
	Detail string
	// refusal is ours, where it is not the source that failed.
	refusal *core.Error
}

// Error returns the sentence.
func (f *Failure) Error() string { return f.Detail }

// LiveStore keeps what live sources answered: the answers as they came, so that nobody is asked the same twice in a
// while, and the documents in them, which go again unless somebody keeps them.
type LiveStore interface {
	// LiveAnswer returns an answer that was put under the key and has not expired.
	LiveAnswer(ctx context.Context, key []byte, now time.Time) ([]byte, error)
	PutLiveAnswer(ctx context.Context, key, answer []byte, expires time.Time) error
	// PutLiveDocuments stores the documents in their source until they expire, and returns them as they are stored, in the
	// same order. Those that are kept stay as they are.
	PutLiveDocuments(ctx context.Context, sourceID string, docs []Document) ([]Document, error)
	// KeepDocuments lets those of the documents stay that would expire, as documents of their sources like any other.
	KeepDocuments(ctx context.Context, userID, agentID string, ids []string, now time.Time) error
	// PruneLive throws away what has expired.
	PruneLive(ctx context.Context, now time.Time) error
}

const (
	// liveTime is how long live sources may take unless the options say otherwise: less than a search of a turn has, so that the turn
	// goes on with what the others said.
	liveTime = 6 * time.Second
	// askAgain is when a source that failed may be asked again.
	askAgain = 30 * time.Second
	// answerLife is how long an answer is good for the same question.
	answerLife = time.Hour
	// resultLife is how long a result that nobody opened, cited or saved can still be. It is far longer than answerLife and
	// than a turn takes, so that what is shown can be opened.
	resultLife = 7 * 24 * time.Hour
)

// isLive reports whether a source is asked at question time.
func (s *Service) isLive(src Source) bool {
	k, _ := s.kind(src.Kind)
	return k.Live
}

// heard is what came of asking a live source: cards, or why there are none.
type heard struct {
	cards           []Card
	undatedExcluded int
	failure         *Failure
}

func (h heard) warning(src Source) Warning {
	return Warning{SourceID: src.ID, Code: h.failure.Code, Detail: h.failure.Detail}
}

// askAll asks live sources at the same time and returns what came of each. A source that fails is no error; what can't be
// stored here is.
func (s *Service) askAll(ctx context.Context, buyer Buyer, sources []Source, q search.Query) ([]heard, error) {
	out := make([]heard, len(sources))
	limited, cancel := context.WithTimeout(ctx, s.options.LiveTime)
	defer cancel()
	var group errgroup.Group
	for i, src := range sources {
		group.Go(func() (err error) {
			out[i], err = s.ask(ctx, limited, buyer, src, q)
			return err
		})
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // the one who asked has gone: nobody failed
	}
	return out, err
}

// ask asks one live source within the limited context, and stores what it found in the whole one.
func (s *Service) ask(ctx, limited context.Context, buyer Buyer, src Source, q search.Query) (heard, error) {
	answer, err := s.answer(ctx, limited, buyer, src, q)
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		return heard{failure: failure}, nil
	case err != nil:
		return heard{}, fmt.Errorf("ask a source of kind %s: %w", src.Kind, err)
	}
	now := s.clock.Now()
	expires := now.Add(resultLife)
	var hashes hasher
	for i := range answer.Documents {
		d := &answer.Documents[i]
		d.ID, d.SourceID, d.CreatedAt, d.UpdatedAt, d.ExpiresAt = core.NewID(core.PrefixDocument), src.ID, now, now, &expires
		d.dropUnsafeLinks()
		if d.Hash, err = hashes.of(*d); err != nil {
			return heard{}, err
		}
	}
	if src.Language == "" && len(answer.Documents) > 0 {
		if src.Language, err = s.guess(ctx, src, answer.Documents); err != nil {
			return heard{}, err
		}
	}
	docs, err := s.store.PutLiveDocuments(ctx, src.ID, answer.Documents)
	if err != nil {
		return heard{}, err
	}
	q.Language = src.Language
	highlighter := search.NewHighlighter(q.Language, search.Parse(q))
	out := heard{undatedExcluded: answer.UndatedExcluded}
	for rank, d := range docs {
		if !q.Covers(d.Year) { // a kept document may since have been given another year
			continue
		}
		out.cards = append(out.cards, Card{Document: d, Snippet: highlighter.Snippet(d.Title, d.Text, search.BestPassage), Score: reciprocal(rank)})
	}
	return out, nil
}

// answer returns what a source says to a query, or said to it a while ago.
func (s *Service) answer(ctx, limited context.Context, buyer Buyer, src Source, q search.Query) (LiveAnswer, error) {
	r := LiveRequest{Kind: src.Kind, Text: q.Text, Limit: q.Limit, FromYear: q.FromYear, ToYear: q.ToYear}
	var err error
	if r.Settings, err = src.SettingsOf(); err != nil {
		return LiveAnswer{}, err
	}
	if r.Secret, err = s.Secret(src); err != nil {
		return LiveAnswer{}, &Failure{
			Code:   WarnSourceRefused,
			Detail: "Its key can't be used with this address. Enter the key again in the settings of the source.",
		}
	}
	key := r.key()
	var answer LiveAnswer
	kept, err := s.store.LiveAnswer(ctx, key, s.clock.Now())
	if err == nil {
		return answer, json.Unmarshal(kept, &answer)
	}
	if !core.IsKind(err, core.KindNotFound) {
		return LiveAnswer{}, err
	}
	if answer, err = s.asked(ctx, limited, buyer, src, r); err != nil {
		return LiveAnswer{}, err
	}
	if kept, err = json.Marshal(answer); err != nil {
		return LiveAnswer{}, err
	}
	return answer, s.store.PutLiveAnswer(ctx, key, kept, s.clock.Now().Add(answerLife))
}

// asked asks a source, and has the buyer pay for it where that costs. It is the only place where sources are asked.
func (s *Service) asked(ctx, limited context.Context, buyer Buyer, src Source, r LiveRequest) (LiveAnswer, error) {
	if k, _ := s.kind(src.Kind); !k.Paid || s.options.Payer == nil {
		return s.options.Live.Ask(limited, r)
	}
	settle, err := s.options.Payer.HoldSearch(ctx, buyer, src.Kind)
	if core.IsRefusal(err) {
		e := core.AsError(err)
		return LiveAnswer{}, &Failure{Code: e.Code, Detail: e.Detail, refusal: e}
	}
	if err != nil {
		return LiveAnswer{}, err
	}
	answer, err := s.options.Live.Ask(limited, r)
	// The provider may charge for a search whose answer was lost, so each that was made is settled.
	return answer, errors.Join(err, settle(context.WithoutCancel(ctx)))
}

// key tells requests apart that may have different answers. Sources that would ask the same with the same key share
// answers: public catalogues are everybody's.
func (r LiveRequest) key() []byte {
	secret := sha256.Sum256([]byte(r.Secret))
	b, _ := json.Marshal([]any{r.Kind, r.Settings, secret, r.Text, r.Limit, r.FromYear, r.ToYear}) // strings and numbers
	sum := sha256.Sum256(b)
	return sum[:]
}

// failed is the answer to a search when all sources that were asked have failed and there is nothing else to show.
func (f *Failure) failed() error {
	if f.refusal != nil {
		return f.refusal
	}
	return &core.Error{
		Kind: core.KindUnavailable, Code: "unavailable", RetryAfter: askAgain, Detail: "The source could not be searched. " + f.Detail,
	}
}

// Keep lets documents stay that live sources found and that would be thrown away after a while: they were opened, cited
// or saved, and belong to their sources from then on.
func (s *Service) Keep(ctx context.Context, userID, agentID string, ids []string) error {
	return s.store.KeepDocuments(ctx, userID, agentID, ids, s.clock.Now())
}

// KeepCard is Keep for the document of a card. A card of something else is nothing to keep.
func (s *Service) KeepCard(ctx context.Context, userID, agentID, cardID string) error {
	id, ok := documentOf(cardID)
	if !ok {
		return nil
	}
	return s.Keep(ctx, userID, agentID, []string{id})
}

// Prune throws away answers and results of live sources that are too old.
func (s *Service) Prune(ctx context.Context) error { return s.store.PruneLive(ctx, s.clock.Now()) }
