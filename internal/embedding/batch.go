package embedding

import (
	"context"
	"errors"
	"fmt"
	"time"

	"carrel/internal/model"
)

// probe is sent to learn how long vectors are, and whether an endpoint that refuses texts takes any.
const probe = "Carrel"

// putPatience is how long storing may take once the node was told to stop.
const putPatience = 2 * time.Second

// batch gives one request's worth of texts their vectors and stores them.
func (s *Service) batch(ctx context.Context, size int) (batch, error) {
	space, err := s.space(ctx)
	if err != nil {
		return batch{}, err
	}
	// Whoever can't pay waits, and holds nobody else up. When there is nobody else, all of it is tried again later.
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
		err = s.make(ctx, w, held, waiting)
		return w.did, err
	}
}

// make asks for the vectors of a step and stores them.
func (s *Service) make(ctx context.Context, w *work, held string, waiting unpaid) error {
	failure := s.embed(ctx, w, w.texts)
	failure = errors.Join(failure, s.settle(ctx, w, held, failure != nil))
	// What was paid for is stored, whatever failed besides.
	embedded, through := w.result()
	err := outlasting(ctx, func(ctx context.Context) error {
		return s.store.PutEmbeddings(ctx, w.space, embedded, waiting.through(through), s.clock.Now())
	})
	if err != nil {
		w.did = batch{}
	}
	return errors.Join(failure, err)
}

// outlasting does something that is not cut off at once when the node is told to stop.
func outlasting(ctx context.Context, do func(context.Context) error) error {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		// Without a goroutine that waits: the timer is of no more use once the work is done.
		timer := time.AfterFunc(putPatience, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	defer stop()
	return do(longer)
}

// work is that of one step.
type work struct {
	space Space
	docs  []planned
	// texts are to be sent, and payer is the first document that has some of them: all are its owner's.
	texts []string
	payer Document
	// vectors are those that are known by now, by the hash of their text.
	vectors map[string][]byte
	did     batch
	// probed says that the endpoint took some text after it had refused others.
	probed bool
}

// planned is a document with its texts, their hashes, and the vectors that it has already.
type planned struct {
	Document
	texts, hashes []string
	has           map[string][]byte
}

// plan finds out which texts of the documents lack vectors, and picks as many as go into one request.
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

// pick chooses the texts to send, in the order of the documents, until a request is full. They are all of one owner, who
// pays for them. What comes after that is left for the next step.
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

// result returns what is to be stored, and the place in the change log up to which nothing will lack vectors then.
func (w *work) result() ([]Embedded, uint64) {
	through, all := w.docs[0].Seq-1, true
	out := make([]Embedded, 0, len(w.docs))
	for _, d := range w.docs {
		e := Embedded{ID: d.ID, SourceID: d.SourceID, Seq: d.Seq, Hashes: d.hashes, New: map[string][]byte{}, Complete: true}
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

// embed asks for the vectors of texts. When the endpoint refuses some of them it is asked for fewer at a time, until
// those are found that it does not take.
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
		// An endpoint that takes nothing at all has another problem than these texts.
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

// shortest is what a text is not cut below, in code points.
const shortest = 200

// embedPart makes the vector of a text that the model does not take of as much of its beginning as it takes: most often
// a text is refused because it is too long. One that is not taken at all goes without.
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
	// Once more: nothing must be given up because the endpoint broke down on the way.
	if _, err := s.embedder.Embed(ctx, []string{probe}); err != nil {
		return err
	}
	w.vectors[hashOf(text)] = refused
	w.did.Refused++
	return nil
}

// take notes the vectors of texts.
func (w *work) take(texts []string, out model.Embeddings) error {
	w.did.Passages += len(texts)
	w.did.Tokens += out.Tokens
	for i, text := range texts {
		v := out.Vectors[i]
		if len(v) != w.space.Dims {
			return fmt.Errorf("vectors of %s have %d numbers and had %d before", w.space.Model, len(v), w.space.Dims)
		}
		w.vectors[hashOf(text)] = Pack(v)
	}
	return nil
}
