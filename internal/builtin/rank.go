package builtin

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"carrel/internal/processor"
)

// Sentence is a candidate for the answer to a question.
type Sentence struct {
	Title  string // of its document or section; may be empty
	Text   string
	Before string // the sentence before it; may be empty
}

// Limits of the ranker's input, in tokens.
const (
	maxQuestion = 64
	maxTitle    = 16
	maxSentence = 96 // together with the title
	maxBefore   = 40
	maxInput    = 160
)

var defaultRanker = sync.OnceValues(func() (*ranker, error) {
	tok, err := defaultTokenizer()
	if err != nil {
		return nil, err
	}
	w, err := openWeights(weightsFile)
	if err != nil {
		return nil, err
	}
	return newRanker(w, tok, bestKernel)
})

// Rank returns a logit for each sentence: above zero if it more likely answers the question than not. It uses all
// cores. It returns ctx.Err() if ctx is cancelled, and an error if the weights in the binary are damaged.
func Rank(ctx context.Context, question string, sentences []Sentence) ([]float64, error) {
	r, err := defaultRanker()
	if err != nil {
		return nil, err
	}
	return r.rank(ctx, question, sentences)
}

// rankInput holds the tokens of a question and a sentence. Tokens up to questionLength are of the question.
type rankInput struct {
	ids            []uint16
	questionLength int
}

// input builds the input of the ranker for a question's tokens and a sentence:
//
//	[CLS] question [SEP] title : text [SEP] before [SEP]
func (r *ranker) input(question []uint16, s Sentence) rankInput {
	ids := make([]uint16, 0, maxInput)
	ids = append(ids, tokenFirst)
	ids = append(ids, question[:min(maxQuestion, len(question))]...)
	ids = append(ids, tokenEnd)
	start := len(ids)
	if title := r.tokenizer.append(nil, s.Title, nil); len(title) > 0 {
		ids = append(ids, title[:min(maxTitle, len(title))]...)
		ids = append(ids, r.tokenizer.single[':'])
	}
	ids = r.tokenizer.append(ids, s.Text, nil)
	ids = ids[:min(len(ids), start+maxSentence)]
	if before := r.tokenizer.append(nil, s.Before, nil); len(before) > 0 {
		ids = append(ids, tokenEnd)
		ids = append(ids, before[max(0, len(before)-maxBefore):]...)
	}
	ids = append(ids[:min(len(ids), maxInput-1)], tokenEnd)
	return rankInput{ids, start}
}

func (r *ranker) rank(ctx context.Context, question string, sentences []Sentence) ([]float64, error) {
	questionIDs := r.tokenizer.append(nil, question, nil)
	inputs := make([]rankInput, len(sentences))
	order := make([]int, len(sentences))
	for i, s := range sentences {
		inputs[i], order[i] = r.input(questionIDs, s), i
	}
	// The longest inputs come first, so that all cores finish at about the same time.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(inputs[b].ids), len(inputs[a].ids)) })
	logits := make([]float64, len(sentences))
	var next atomic.Int64
	work := func() {
		s := r.scratch.Get().(*rankScratch)
		defer r.scratch.Put(s)
		for i := next.Add(1) - 1; i < int64(len(order)); i = next.Add(1) - 1 {
			if processor.Acquire(ctx) != nil {
				return
			}
			logit, ok := r.logit(ctx, s, inputs[order[i]])
			processor.Release()
			if !ok {
				return
			}
			logits[order[i]] = logit
			runtime.Gosched()
		}
	}
	var group sync.WaitGroup
	for range min(processor.Slots(), len(sentences)) - 1 {
		group.Go(work)
	}
	work()
	group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return logits, nil
}
