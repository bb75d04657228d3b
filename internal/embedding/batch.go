package embedding

import (
	"context"
	"errors"
	"fmt"
	"time"

	"carrel/internal/model"
)

// probe is embedded to learn the length of the model's vectors, and to tell a refused text from a failing endpoint.
const probe = "Carrel"

// stopGrace is how long storing may continue after the node was told to stop.
const stopGrace = 2 * time.Second

// runBatch computes and stores the vectors of one request's worth of texts.
func (s *Service) runBatch(ctx context.Context, size int) (batch, error) {
	space, err := s.space(ctx)
	if err != nil {
		return batch{}, err
	}
	// Documents whose owner has reached a spend cap are skipped. If only those are left, the batch is retried later.
	var waiting unpaid
	for {
		docs, through, err := s.missing(ctx, space, fullSize, waiting.users...)
		switch {
		case err != nil:
			return batch{}, err
		case len(docs) == 0 && waiting.why != nil:
			return batch{}, waiting.why
		case len(docs) == 0 && space.Dims == 0:
			return batch{Done: true}, nil
		case len(docs) == 0:
			return batch{Done: true}, s.store.PutEmbeddings(ctx, space, nil, through, s.clock.Now())
		case space.Dims == 0:
			out, err := s.embedder.Embed(ctx, []string{probe})
			if err != nil {
				return batch{}, err
			}
			space.Dims = len(out.Vectors[0])
		}
		w, err := s.plan(ctx, space, docs, size)
		if err != nil {
			return batch{}, err
		}
		held, err := s.hold(ctx, w)
		if isCap(err) {
			waiting.add(w.payer, err)
			continue
		}
		if err != nil {
			return batch{}, err
		}
		err = s.embedAndStore(ctx, w, held, waiting)
		return w.did, err
	}
}

// embedAndStore requests the vectors of a batch and stores them.
func (s *Service) embedAndStore(ctx context.Context, w *work, held string, waiting unpaid) error {
	failure := s.embed(ctx, w, w.texts)
	failure = errors.Join(failure, s.settle(ctx, w, held, failure != nil))
	// Vectors that were paid for are stored even if a later request failed.
	embedded, through := w.result()
	err := withStopGrace(ctx, func(ctx context.Context) error {
		return s.store.PutEmbeddings(ctx, w.space, embedded, waiting.through(through), s.clock.Now())
	})
	if err != nil {
		w.did = batch{}
	}
	return errors.Join(failure, err)
}

// withStopGrace runs do with a context that outlasts ctx by stopGrace.
func withStopGrace(ctx context.Context, do func(context.Context) error) error {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		// A timer instead of a waiting goroutine, which would outlive the work.
		timer := time.AfterFunc(stopGrace, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	defer stop()
	return do(longer)
}

// work is the state of one batch.
type work struct {
	space Space
	docs  []planned
	// texts are the texts to embed. All belong to the owner of payer, the first document with a missing vector.
	texts []string
	payer Document
	// vectors holds the vectors known so far, by the hash of their text.
	vectors map[string][]byte
	did     batch
	// probed is set when the endpoint has accepted the probe after it refused a text.
	probed bool
}

// planned is a document with its texts, their hashes, and its stored vectors.
type planned struct {
	Document
	texts, hashes []string
	has           map[string][]byte
}

// plan determines the texts without vectors and picks as many as fit one request.
func (s *Service) plan(ctx context.Context, space Space, docs []Document, size int) (*work, error) {
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	has, err := s.store.Embeddings(ctx, space, ids)
	if err != nil {
		return nil, err
	}
	w := &work{space: space, docs: make([]planned, len(docs))}
	var lacking []string
	for i, d := range docs {
		p := planned{Document: d, texts: passageTexts(d.Title, d.Text), has: has[d.ID]}
		for _, text := range p.texts {
			hash := hashOf(text)
			p.hashes = append(p.hashes, hash)
			if _, ok := p.has[hash]; !ok {
				lacking = append(lacking, hash)
			}
		}
		w.docs[i] = p
	}
	if w.vectors, err = s.store.KnownEmbeddings(ctx, space, lacking); err != nil {
		return nil, err
	}
	w.did.Reused = len(w.vectors)
	w.pick(size)
	return w, nil
}

// pick chooses the texts to embed, in document order, until the request is full. All belong to one owner, who is
// charged; the rest is left to the next step.
func (w *work) pick(size int) {
	picked := map[string]bool{}
	for _, d := range w.docs {
		for i, hash := range d.hashes {
			_, has := d.has[hash]
			_, known := w.vectors[hash]
			switch {
			case has, known, picked[hash]:
				continue
			case blank(d.texts[i]):
				w.vectors[hash] = refused
				continue
			case len(w.texts) == 0:
				w.payer = d.Document
			case d.Owner.UserID != w.payer.Owner.UserID:
				continue
			}
			w.texts = append(w.texts, d.texts[i])
			if len(w.texts) > size || model.EmbeddingBatch(w.texts) < len(w.texts) {
				w.texts = w.texts[:len(w.texts)-1]
				return
			}
			picked[hash] = true
		}
	}
}

// result returns the vectors to store, and the position in the change log up to which all documents will be complete.
func (w *work) result() ([]Embedded, uint64) {
	through, all := w.docs[0].Seq-1, true
	out := make([]Embedded, 0, len(w.docs))
	for _, d := range w.docs {
		e := Embedded{
			ID: d.ID, SourceID: d.SourceID, Seq: d.Seq, Hashes: d.hashes, New: map[string][]byte{}, Complete: true,
		}
		for _, hash := range d.hashes {
			_, has := d.has[hash]
			v, known := w.vectors[hash]
			switch {
			case has:
			case known:
				e.New[hash] = v
			default:
				e.Complete = false
			}
		}
		if e.Complete {
			w.did.Documents++
		}
		if all = all && e.Complete; all {
			through = d.Seq
		}
		if e.Complete || len(e.New) > 0 {
			out = append(out, e)
		}
	}
	return out, through
}

// embed requests the vectors of texts. If the endpoint refuses them, it halves the batch until the refused texts are
// found.
func (s *Service) embed(ctx context.Context, w *work, texts []string) error {
	if len(texts) == 0 {
		return nil
	}
	out, err := s.embedder.Embed(ctx, texts)
	if err == nil {
		return w.take(texts, out)
	}
	var failure *model.EmbeddingError
	if !errors.As(err, &failure) || !failure.Suspect || ctx.Err() != nil {
		return err
	}
	if !w.probed {
		// An endpoint that refuses the probe has another problem than these texts.
		if _, probeErr := s.embedder.Embed(ctx, []string{probe}); probeErr != nil {
			return err
		}
		w.probed = true
	}
	if len(texts) == 1 {
		return s.embedPart(ctx, w, texts[0])
	}
	half := len(texts) / 2
	if err := s.embed(ctx, w, texts[:half]); err != nil {
		return err
	}
	return s.embed(ctx, w, texts[half:])
}

// shortest is the length in code points below which a refused text is not shortened further.
const shortest = 200

// embedPart embeds the longest accepted beginning of a refused text, because most texts are refused for their length.
// If no beginning is accepted, the text is marked as refused.
func (s *Service) embedPart(ctx context.Context, w *work, text string) error {
	for runes := []rune(text); len(runes) > shortest; {
		runes = runes[:len(runes)/2]
		out, err := s.embedder.Embed(ctx, []string{string(runes)})
		if err == nil {
			return w.take([]string{text}, out)
		}
		var failure *model.EmbeddingError
		if !errors.As(err, &failure) || !failure.Suspect || ctx.Err() != nil {
			return err
		}
	}
	// The probe makes sure that the text is refused and the endpoint has not failed meanwhile.
	if _, err := s.embedder.Embed(ctx, []string{probe}); err != nil {
		return err
	}
	w.vectors[hashOf(text)] = refused
	w.did.Refused++
	return nil
}

// take stores the vectors of texts in w.
func (w *work) take(texts []string, out model.Embeddings) error {
	w.did.Passages += len(texts)
	w.did.Tokens += out.Tokens
	for i, text := range texts {
		v := out.Vectors[i]
		if len(v) != w.space.Dims {
			return fmt.Errorf(
				"vectors of %s have %d dimensions, stored ones have %d", w.space.Model, len(v), w.space.Dims,
			)
		}
		w.vectors[hashOf(text)] = Pack(v)
	}
	return nil
}
