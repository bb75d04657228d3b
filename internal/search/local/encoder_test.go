package local

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"carrel/internal/search"
)

// synonyms have the same vector in testEncoder.
var synonyms = map[string]string{"automobile": "car", "vehicle": "car", "physician": "doctor"}

// testEncoder returns an encoder that adds up a pseudo-random vector per word.
func testEncoder(model string) *search.Encoder {
	const dims = 64
	embed := func(text string) []float32 {
		words := strings.Fields(strings.ToLower(text))
		if len(words) == 0 {
			return nil
		}
		sum := make([]float32, dims)
		for _, w := range words {
			if s := synonyms[w]; s != "" {
				w = s
			}
			for i := range sum {
				h := fnv.New32a()
				_, _ = fmt.Fprint(h, w, i)
				sum[i] += float32(h.Sum32()%1000)/500 - 1
			}
		}
		length := 0.0
		for _, x := range sum {
			length += float64(x) * float64(x)
		}
		for i := range sum {
			sum[i] /= float32(math.Sqrt(length))
		}
		return sum
	}
	all := func(texts []string) [][]float32 {
		vectors := make([][]float32, len(texts))
		for i, text := range texts {
			vectors[i] = embed(text)
		}
		return vectors
	}
	return &search.Encoder{Model: model, Dims: dims, Language: "en", Embed: all}
}

func english(id, source, title, text string) search.Document {
	return search.Document{ID: id, SourceID: source, Title: title, Text: text, Language: "en"}
}

// hits searches with embeddings.
func hits(t testing.TB, ix *Index, language, text string) []search.Hit {
	t.Helper()
	r, err := ix.Search(context.Background(), search.Query{
		Text: text, Language: language, Sources: everywhere, Limit: 50, VectorWeight: 0.3,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.Hits
}

func TestEncoderFindsDocumentsByMeaning(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	w.put(english("d1", "A", "Car", ""))
	w.put(english("d2", "A", "Bread", ""))
	german := english("d3", "B", "Car", "")
	german.Language = "de"
	w.put(german)
	ix := open(t, t.TempDir(), Options{FS: quick(), Encoder: testEncoder("m")})
	catchUp(t, ix, w)
	got := hits(t, ix, "en", "automobile")
	if len(got) == 0 || got[0].ID != "d1" || !got[0].ByMeaning {
		t.Errorf("hits %+v, want d1 first, by meaning", got)
	}
	for _, h := range got {
		if h.ID == "d3" {
			t.Errorf("the document in another language has a vector: %+v", got)
		}
	}
	if got := hits(t, ix, "de", "automobile"); len(got) != 0 {
		t.Errorf("hits of a query in another language: %+v", got)
	}
	if got := hits(t, ix, "en", `"automobile"`); len(got) != 0 {
		t.Errorf("hits of a phrase: %+v", got)
	}
	if got := found(t, ix, "automobile"); len(got) != 0 {
		t.Errorf("hits of a query without a weight for vectors: %v", got)
	}
}

func TestIndexIsRebuiltWhenTheEncoderChanges(t *testing.T) {
	t.Parallel()
	w, dir := newMemoryLog(), t.TempDir()
	w.put(english("d1", "A", "Car", ""))
	w.put(english("d2", "A", "Bread", ""))
	for i, model := range []string{"", "m1", "m2", "m2", ""} {
		o := Options{FS: quick()}
		if model != "" {
			o.Encoder = testEncoder(model)
		}
		ix := open(t, dir, o)
		if got := found(t, ix, "car"); i > 0 && len(got) != 1 {
			t.Errorf("step %d: hits before the rebuild: %v", i, got)
		}
		_, stop := follow(t, ix, w, FollowerOptions{})
		eventually(t, "the index has the vectors", func() bool {
			got := hits(t, ix, "en", "automobile")
			return !ix.lacksVectors() && holdsAll(ix, w)() && !ix.rebuilding() && (len(got) > 0) == (model != "")
		})
		stop()
		for _, p := range ix.current.files() {
			if name, _ := p.file.Model(); name != model {
				t.Errorf("step %d: the vectors are of %q, want %q", i, name, model)
			}
		}
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// All nodes of an installation return the same results, although each cuts the change log into its own segments.
func TestResultsByMeaningDoNotDependOnSegments(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	words := strings.Fields("car bread doctor river bridge owl night stone paper engine wheel road flour oven nurse")
	for i := range 300 {
		text := fmt.Sprint(words[i%15], " ", words[(i*7+3)%15], " ", words[(i*i+1)%15])
		w.put(english(fmt.Sprint("d", i), everywhere[i%3], words[i%7], text))
	}
	for i := 0; i < 300; i += 11 {
		w.delete(fmt.Sprint("d", i))
	}
	var want [][]search.Hit
	for _, batch := range []int{1000, 7, 64} {
		ix := open(t, t.TempDir(), Options{FS: quick(), Encoder: testEncoder("m")})
		f, stop := follow(t, ix, w, FollowerOptions{BatchDocuments: batch})
		f.Poll()
		eventually(t, "the index is built", holdsAll(ix, w))
		stop()
		var got [][]search.Hit
		for _, q := range []string{"automobile", "physician bread", "vehicle road", "night owl automobile", "unheard"} {
			got = append(got, hits(t, ix, "en", q))
		}
		if want == nil {
			want = got
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("batches of %d documents: hits %+v, want %+v", batch, got, want)
		}
	}
	if len(want[0]) != 50 {
		t.Errorf("%d hits", len(want[0]))
	}
}

func TestBuiltInEncoderFindsSynonyms(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	w.put(english("car", "A", "Car engines", "How the motor of a car burns petrol."))
	w.put(english("bread", "A", "Sourdough", "How a baker makes bread from flour and water."))
	w.put(english("law", "A", "Contracts", "When a court enforces an agreement."))
	ix := open(t, t.TempDir(), Options{FS: quick(), Encoder: search.BuiltInEncoder})
	catchUp(t, ix, w)
	for text, want := range map[string]string{
		"automobile fuel combustion": "car", "baking loaves": "bread", "judge breach lawyer": "law",
	} {
		if got := hits(t, ix, "en", text); len(got) == 0 || got[0].ID != want || !got[0].ByMeaning {
			t.Errorf("%s: hits %+v, want %s first", text, got, want)
		}
	}
}

// topics are groups of words from which documents about the same subject are made.
var topics = []string{
	"car engine wheel road driver traffic fuel brake highway accident",
	"bread flour oven baker dough yeast sugar butter recipe kitchen",
	"doctor nurse hospital patient disease surgery medicine treatment therapy vaccine",
	"judge court law contract lawyer crime police prison verdict evidence",
	"star planet galaxy telescope orbit gravity universe moon comet astronomer",
	"music song guitar piano orchestra singer melody rhythm concert album",
	"river bridge water flood dam lake rain valley canal boat",
	"computer software program algorithm network database processor memory compiler internet",
	"cell protein gene enzyme bacteria virus dna tissue organism mutation",
	"bank money market trade price tax inflation investment currency debt",
	"king war army battle empire soldier castle treaty revolution queen",
	"teacher school student lesson university exam classroom education homework degree",
}

func TestCellsFindAlmostAllNearestDocuments(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	words := func(n int) string {
		topic, other := strings.Fields(topics[random.IntN(len(topics))]), strings.Fields(topics[random.IntN(len(topics))])
		var out []string
		for range n {
			if random.IntN(3) == 0 {
				out = append(out, other[random.IntN(len(other))])
			} else {
				out = append(out, topic[random.IntN(len(topic))])
			}
		}
		return strings.Join(out, " ")
	}
	w := newMemoryLog()
	for i := range 4000 {
		d := english(fmt.Sprint("d", i), everywhere[i%3], "", words(12))
		d.Year = 1990 + i%20
		w.put(d)
	}
	ix := open(t, t.TempDir(), Options{FS: quick(), Encoder: search.BuiltInEncoder})
	catchUp(t, ix, w)
	ask := func(cells int, text string, year int) []string {
		ix.cellsFrom = cells
		r, err := ix.Search(context.Background(), search.Query{
			Text: text, Language: "en", Sources: everywhere, Limit: 20, VectorWeight: 1, FromYear: year,
		})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, h := range r.Hits {
			ids = append(ids, h.ID)
		}
		return ids
	}
	same, all := 0, 0
	for i := range 60 {
		text, year := words(3), 2000*(i%2)
		found := ask(2000, text, year)
		for _, id := range ask(0, text, year) {
			all++
			if slices.Contains(found, id) {
				same++
			}
		}
	}
	if recall := float64(same) / float64(all); all < 1000 || recall < 0.95 {
		t.Errorf("recall %.3f of %d hits", recall, all)
	} else {
		t.Logf("recall %.3f of %d hits", recall, all)
	}
}
