package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
)

const vehicles = `{"id": "car", "title": "Cars", "text": "A car burns petrol on the road.", "year": 1886}
{"id": "ship", "title": "Ships", "text": "A ship sails the sea by wind.", "year": 1492}
{"id": "loom", "title": "Looms", "text": "Punched cards weave silk flowers.", "year": 1804}
`

// embedded returns a server that uses this endpoint, with the documents about vehicles.
func embedded(t *testing.T, endpoint *testkit.Embeddings, opts testkit.ServerOptions) *installation {
	t.Helper()
	opts.Env = append(opts.Env,
		"CARREL_EMBEDDINGS_URL="+endpoint.URL(), "CARREL_EMBEDDINGS_MODEL="+endpoint.Model,
		"CARREL_EMBEDDINGS_API_KEY="+endpoint.Key)
	w := newLibrary(t, opts)
	w.add(t, "Vehicles", vehicles, "--default", "--language", "en")
	return w
}

// eventually repeats a search until its first results have these ids.
func (w *installation) eventually(t *testing.T, query, fields string, want ...string) reply {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(20 * time.Millisecond) {
		got := w.find(t, query, fields)
		if slices.Equal(got.ids(), want) {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s finds %v and not %v in %s", query, got.ids(), want, testkit.Patience)
		}
	}
}

func TestEmbeddingsFindDocumentsWithoutCommonWords(t *testing.T) {
	t.Parallel()
	endpoint := testkit.NewEmbeddings(t)
	endpoint.Synonyms = map[string]string{"automobile": "car", "gasoline": "petrol", "highway": "road"}
	w := embedded(t, endpoint, testkit.ServerOptions{})
	const query, first = "automobile gasoline highway", `, "numResults": 1`
	if got := w.eventually(t, query, first, "car"); len(got.at("warnings").([]any)) > 0 ||
		got.text("query", "corrected") != "" {
		t.Errorf("found, but %v", got.body)
	}
	// All three have their vectors now; one request made them.
	paid := documentsPaid(endpoint)
	if len(paid) != 3 {
		t.Errorf("paid for %q, want three documents", paid)
	}

	endpoint.Break(testkit.EmbeddingsStatus(http.StatusInternalServerError, "", "down"))
	for range 5 { // before and after, searches do not call the endpoint
		got := w.find(t, "petrol", "")
		if got.text("warnings", 0, "code") != "embeddings_unavailable" || got.text("warnings", 0, "detail") == "" ||
			!slices.Equal(got.ids(), []string{"car"}) {
			t.Fatalf("without the endpoint: %v", got.body)
		}
	}
	if got := w.find(t, query, ""); len(got.ids()) != 0 {
		t.Errorf("words alone find %v", got.ids())
	}
	// A new document is found by its words at once, and by its vector when that is stored.
	w.add(t, "Vehicles", `{"id": "train", "title": "Trains", "text": "A locomotive pulls coaches."}`)
	if got := w.find(t, "locomotive", ""); !slices.Equal(got.ids(), []string{"train"}) {
		t.Errorf("found %v", got.ids())
	}
	endpoint.Break(nil)

	// Neither a restart nor a new index pays for vectors again.
	w.server.Restart()
	w.eventually(t, query, first, "car")
	if r := w.admin(t, "index", "rebuild"); r.at("documents") != 4.0 {
		t.Errorf("rebuilt %v", r.body)
	}
	w.eventually(t, query, first, "car")
	w.add(t, "Vehicles", strings.Replace(vehicles, "1886", "1885", 1)) // the year is not part of the embedded text
	w.eventually(t, query, first+`, "toYear": 1885, "fromYear": 1885`, "car")
	for _, text := range paid {
		if n := count(documentsPaid(endpoint), text); n != 1 {
			t.Errorf("paid %d times for %q", n, text)
		}
	}
}

func TestSearchWorksWhileTheEmbeddingEndpointIsDown(t *testing.T) {
	t.Parallel()
	endpoint := testkit.NewEmbeddings(t)
	endpoint.Close()
	w := embedded(t, endpoint, testkit.ServerOptions{})
	for range 5 {
		got := w.find(t, "silk petrol", "")
		if !slices.Equal(got.ids(), []string{"car", "loom"}) || got.text("warnings", 0, "code") != "embeddings_unavailable" ||
			got.at("warnings", 0, "sourceId") != nil {
			t.Fatalf("found %v", got.body)
		}
		if took, _ := got.at("tookMs").(float64); took > 2500 {
			t.Errorf("a search took %v ms", took)
		}
	}
}

func count(list []string, what string) int {
	n := 0
	for _, s := range list {
		if s == what {
			n++
		}
	}
	return n
}

// documentsPaid are the embedded texts that are not queries.
func documentsPaid(endpoint *testkit.Embeddings) []string {
	return slices.DeleteFunc(endpoint.Paid(), func(s string) bool { return !strings.Contains(s, "\n") })
}
