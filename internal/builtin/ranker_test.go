package builtin

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func newTestRanker(tb testing.TB, k *kernel) *ranker {
	tb.Helper()
	w, err := openWeights(weightsFile)
	if err != nil {
		tb.Fatal(err)
	}
	tok, err := defaultTokenizer()
	if err != nil {
		tb.Fatal(err)
	}
	r, err := newRanker(w, tok, k)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestLogitsEqualReferences(t *testing.T) {
	refs := loadReferences(t).Rank
	for _, k := range kernels {
		r := newTestRanker(t, k)
		var worst float64
		for i, ref := range refs {
			s := Sentence{ref.Title, ref.Sentence, ref.Previous}
			in := r.input(r.tokenizer.append(nil, ref.Question, nil), s)
			if !slices.Equal(in.ids, ref.IDs) {
				t.Errorf("tokens of %q are %v, want %v", ref.Sentence, in.ids, ref.IDs)
			}
			if types := slices.Index(ref.Types, 1); in.questionLength != types {
				t.Errorf("the question has %d tokens, want %d", in.questionLength, types)
			}
			if !k.fast && i != 3 {
				continue // a short one is enough for the slow kernel
			}
			logits, err := r.rank(t.Context(), ref.Question, []Sentence{s})
			if err != nil {
				t.Fatal(err)
			}
			worst = max(worst, math.Abs(logits[0]-ref.Logit))
		}
		t.Logf("%s: logits differ by %.1e", k.name, worst)
		if worst > 1e-3 {
			t.Errorf("%s: logits differ by %.1e", k.name, worst)
		}
	}
}

func TestInputIsLimited(t *testing.T) {
	r := newTestRanker(t, bestKernel)
	const the, bridge, of, sea, colon = 1996, 2958, 1997, 2712, 1024
	repeat := func(id uint16, n int) []uint16 { return slices.Repeat([]uint16{id}, n) }
	question := repeat(the, 100)
	long := Sentence{strings.Repeat("bridge ", 50), strings.Repeat("of ", 200), strings.Repeat("sea ", 60) + "the"}
	for _, test := range []struct {
		name     string
		question []uint16
		sentence Sentence
		want     [][]uint16
	}{
		{"long question", question, Sentence{}, [][]uint16{{tokenFirst}, repeat(the, 64), {tokenEnd, tokenEnd}}},
		{"long title and sentence", nil, Sentence{Title: long.Title, Text: long.Text}, [][]uint16{
			{tokenFirst, tokenEnd}, repeat(bridge, 16), {colon}, repeat(of, 79), {tokenEnd},
		}},
		{"long sentence", nil, Sentence{Text: long.Text}, [][]uint16{{tokenFirst, tokenEnd}, repeat(of, 96), {tokenEnd}}},
		{"end of the sentence before", nil, Sentence{Text: "of", Before: long.Before}, [][]uint16{
			{tokenFirst, tokenEnd, of, tokenEnd}, repeat(sea, 39), {the, tokenEnd},
		}},
		{"all long", question, long, [][]uint16{
			{tokenFirst}, repeat(the, 64), {tokenEnd}, repeat(bridge, 16), {colon}, repeat(of, 76), {tokenEnd},
		}},
		{"begin of the sentence before", question[:50], long, [][]uint16{
			{tokenFirst},
			repeat(the, 50),
			{tokenEnd},
			repeat(bridge, 16),
			{colon},
			repeat(of, 79),
			{tokenEnd},
			repeat(sea, 10),
			{tokenEnd},
		}},
	} {
		in := r.input(test.question, test.sentence)
		if want := slices.Concat(test.want...); !slices.Equal(in.ids, want) {
			t.Errorf("%s: input is %v, want %v", test.name, in.ids, want)
		}
		if len(in.ids) > maxInput {
			t.Errorf("%s: %d tokens", test.name, len(in.ids))
		}
	}
}

func TestLogitsDoNotDependOnOtherSentences(t *testing.T) {
	question := "When did the harbour bridge open?"
	sentences := []Sentence{
		{Text: "The bridge was opened to traffic on 4 May 1931 by the mayor."},
		{Text: strings.Repeat("A long sentence about the weather of the north. ", 20), Before: benchmarkSentence.Before},
		{},
		{Title: "Harbour bridges", Text: "Its towers are clad in grey granite."},
	}
	want, err := Rank(t.Context(), question, sentences)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range sentences {
		got, err := Rank(t.Context(), question, []Sentence{s})
		if err != nil || got[0] != want[i] {
			t.Errorf("sentence %d has the logit %v alone and %v among others (%v)", i, got, want[i], err)
		}
	}
	if want[0] < want[1] || want[0] < want[3] {
		t.Errorf("logits %v do not prefer the answer", want)
	}
	if none, err := Rank(t.Context(), question, nil); err != nil || len(none) != 0 {
		t.Errorf("no sentences give %v and %v", none, err)
	}
}

func TestCancelledRankReturnsPromptly(t *testing.T) {
	r := newTestRanker(t, &plainKernel)
	sentences := slices.Repeat([]Sentence{{Text: "A short sentence."}}, 5000)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := r.rank(ctx, benchmarkQuestion, sentences); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(start); took > 20*time.Second { // all sentences take minutes
		t.Errorf("it took %v", took)
	}
}

func TestModelsAreSafeForConcurrentUse(t *testing.T) {
	static, ranker := newTestStatic(t, bestKernel), newTestRanker(t, bestKernel)
	wantVector := newTestStatic(t, bestKernel).embed([]string{abstract})[0]
	sentences := []Sentence{benchmarkSentence, {Text: "Short."}, {}}
	wantLogits, err := newTestRanker(t, bestKernel).rank(t.Context(), benchmarkQuestion, sentences)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if vector := static.embed([]string{abstract})[0]; !slices.Equal(vector, wantVector) {
				t.Error("vectors differ")
			}
			logits, err := ranker.rank(t.Context(), benchmarkQuestion, sentences)
			if err != nil || !slices.Equal(logits, wantLogits) {
				t.Errorf("logits are %v, want %v (%v)", logits, wantLogits, err)
			}
		})
	}
	group.Wait()
}

// benchmarkSentence gives an input of 96 tokens together with benchmarkQuestion.
var benchmarkSentence = Sentence{
	Title: "Open-domain question answering",
	Text: "Dense representations learned from a small number of questions and passages outperform a strong lexical " +
		"baseline by a wide margin in retrieval accuracy, and help our system establish new results on several " +
		"benchmarks that are in wide use.",
	Before: "We present a study of sentence retrieval for the answering of questions over large collections of " +
		"scholarly documents, books and reports in many languages and other fields.",
}

const benchmarkQuestion = "By how much do dense representations outperform lexical retrieval?"

func BenchmarkPair(b *testing.B) {
	for _, k := range kernels {
		b.Run(k.name, func(b *testing.B) {
			r := newTestRanker(b, k)
			in := r.input(r.tokenizer.append(nil, benchmarkQuestion, nil), benchmarkSentence)
			if len(in.ids) != 96 {
				b.Fatalf("%d tokens", len(in.ids))
			}
			s := newRankScratch()
			b.ReportAllocs()
			for b.Loop() {
				r.logit(b.Context(), s, in)
			}
		})
	}
}

func BenchmarkTen(b *testing.B) {
	for _, k := range kernels {
		b.Run(k.name, func(b *testing.B) {
			r := newTestRanker(b, k)
			sentences := slices.Repeat([]Sentence{benchmarkSentence}, 10)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.rank(b.Context(), benchmarkQuestion, sentences); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
