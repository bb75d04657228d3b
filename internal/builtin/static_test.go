package builtin

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// references are outputs of the models in double precision.
type references struct {
	Rank []struct {
		Question, Title, Sentence, Previous string
		IDs                                 []uint16
		Types                               []int
		Logit                               float64
	}
	Static []struct {
		Text   string
		IDs    []uint16
		Vector []float64
	}
}

func loadReferences(t *testing.T) references {
	t.Helper()
	data, err := os.ReadFile("testdata/references.json")
	if err != nil {
		t.Fatal(err)
	}
	var refs references
	if err := json.Unmarshal(data, &refs); err != nil {
		t.Fatal(err)
	}
	return refs
}

// newTestStatic returns a model that has computed no words yet.
func newTestStatic(tb testing.TB, k *kernel) *staticModel {
	tb.Helper()
	w, err := openWeights(weightsFile)
	if err != nil {
		tb.Fatal(err)
	}
	tok, err := defaultTokenizer()
	if err != nil {
		tb.Fatal(err)
	}
	m, err := newStaticModel(w, tok, k)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func TestStaticVectorsEqualReferences(t *testing.T) {
	for _, k := range kernels {
		m := newTestStatic(t, k)
		for _, ref := range loadReferences(t).Static {
			if ids := m.tokenizer.append(nil, ref.Text, nil); !slices.Equal(ids, ref.IDs) {
				t.Errorf("tokens of %q are %v, want %v", ref.Text, ids, ref.IDs)
			}
			vector := m.embed([]string{ref.Text})[0]
			if len(ref.IDs) == 0 {
				if vector != nil {
					t.Errorf("the vector of %q is not nil", ref.Text)
				}
				continue
			}
			var worst float64
			for i, want := range ref.Vector {
				worst = max(worst, math.Abs(float64(vector[i])-want))
			}
			t.Logf("%s: %q differs by %.1e", k.name, ref.Text, worst)
			if worst > 1e-4 {
				t.Errorf("%s: the vector of %q differs by %.1e", k.name, ref.Text, worst)
			}
		}
	}
}

func TestStaticVectorsAreEqualToTheLastBitWithAllKernels(t *testing.T) {
	text := strings.Repeat("The relational model of data for large shared data banks; naïve Bayes, p < .05. ", 10)
	want := newTestStatic(t, &plainKernel).embed([]string{text})[0]
	for _, k := range kernels {
		if got := newTestStatic(t, k).embed([]string{text})[0]; !slices.Equal(got, want) {
			t.Errorf("%s differs from plain", k.name)
		}
	}
}

// The checksum is the same on all processors. If it changes, stored vectors are no longer comparable with new ones, and
// VectorModel needs a new name.
func TestStaticVectorsAreTheSameOnAllMachines(t *testing.T) {
	m := newTestStatic(t, bestKernel)
	s := new(staticScratch)
	sum := crc32.NewIEEE()
	for id := 0; id < vocabularySize; id += 61 {
		m.compute(s, []uint16{uint16(id / blockWords)})
		if err := binary.Write(sum, binary.LittleEndian, &m.blocks[id/blockWords].Load()[id%blockWords]); err != nil {
			t.Fatal(err)
		}
	}
	if err := binary.Write(sum, binary.LittleEndian, m.embed([]string{abstract})[0]); err != nil {
		t.Fatal(err)
	}
	if got := sum.Sum32(); got != 0x1b0751f8 {
		t.Errorf("checksum of vectors is %#x", got)
	}
}

func TestLongTextsAreSummedInParts(t *testing.T) {
	text := "shallow water in tide pools. "
	vectors := Embed(text, strings.Repeat(text, 20_000))
	want, got := vectors[0], vectors[1]
	for i := range want {
		if math.Abs(float64(want[i]-got[i])) > 1e-6 {
			t.Fatalf("dimension %d is %v, want %v", i, got[i], want[i])
		}
	}
}

const abstract = `We present a large-scale study of sentence-level retrieval for open-domain question answering. Dense
representations learned from a small number of questions and passages outperform a strong BM25 baseline by 9%-19%
absolute in top-20 passage retrieval accuracy, and help our end-to-end QA system establish new state-of-the-art
results on multiple benchmarks. We further analyse the effects of hyperparameters, negative sampling strategies and
tokenization on morphologically rich languages, and show that lexical features remain complementary: interpolating both
scores yields consistent gains, especially for rare entities and abbreviations. Our code, annotations and pretrained
models are publicly available.`

func BenchmarkEmbed(b *testing.B) {
	for _, k := range kernels {
		b.Run(k.name, func(b *testing.B) {
			m := newTestStatic(b, k)
			m.embed([]string{abstract})
			tokens := len(m.tokenizer.append(nil, abstract, nil))
			b.ReportAllocs()
			for b.Loop() {
				m.embed([]string{abstract})
			}
			b.ReportMetric(float64(tokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

func BenchmarkTokenize(b *testing.B) {
	tok, err := defaultTokenizer()
	if err != nil {
		b.Fatal(err)
	}
	known := new(knownWords)
	ids := tok.append(nil, abstract, known)
	for b.Loop() {
		ids = tok.append(ids[:0], abstract, known)
	}
	b.ReportMetric(float64(len(ids)*b.N)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkFirstUse measures the vectors of a group of words that were not met before.
func BenchmarkFirstUse(b *testing.B) {
	for _, k := range kernels {
		b.Run(k.name, func(b *testing.B) {
			m := newTestStatic(b, k)
			s := new(staticScratch)
			group := make([]uint16, groupBlocks)
			number := 0
			for b.Loop() {
				for i := range group {
					group[i] = uint16(number % len(m.blocks))
					number += 1999
				}
				m.compute(s, group)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*groupWords), "ns/word")
		})
	}
}
