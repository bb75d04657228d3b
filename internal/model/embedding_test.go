package model_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"carrel/internal/model"
	"carrel/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// client is a client of a fake endpoint. It records its retry delays instead of waiting.
type client struct {
	*model.EmbeddingClient
	delays []time.Duration
}

func newClient(t *testing.T, e *testkit.Embeddings, change ...func(*model.EmbeddingOptions)) *client {
	t.Helper()
	o := model.EmbeddingOptions{URL: e.URL(), Key: e.Key, Model: e.Model}
	for _, f := range change {
		f(&o)
	}
	c := &client{EmbeddingClient: model.NewEmbeddingClient(o, testkit.NewClock())}
	c.RecordDelays(func(d time.Duration) { c.delays = append(c.delays, d) })
	t.Cleanup(c.Close)
	return c
}

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestEmbedReturnsUnitVectorsInOrder(t *testing.T) {
	t.Parallel()
	texts := []string{"bridges over rivers", "rivers under bridges", "a sourdough bread recipe"}
	for name, change := range map[string]func(*testkit.Embeddings){
		"arrays":    func(*testkit.Embeddings) {},
		"base64":    func(e *testkit.Embeddings) { e.Base64 = true },
		"backwards": func(e *testkit.Embeddings) { e.Backwards = true },
		"no key":    func(e *testkit.Embeddings) { e.Key = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := testkit.NewEmbeddings(t)
			change(e)
			c := newClient(t, e)
			if c.Dims() != 0 || c.Model() != e.Model {
				t.Errorf("before: %d numbers of %s", c.Dims(), c.Model())
			}
			out, err := c.Embed(t.Context(), texts)
			if err != nil {
				t.Fatal(err)
			}
			if out.Tokens != 10 || c.Dims() != 64 || len(out.Vectors) != 3 {
				t.Errorf("%d tokens, %d vectors of %d", out.Tokens, len(out.Vectors), c.Dims())
			}
			for i, v := range out.Vectors {
				want := e.Vector(texts[i])
				if norm := cosine(v, v); math.Abs(norm-1) > 1e-6 {
					t.Errorf("vector %d has length² %v", i, norm)
				}
				if same := cosine(v, want) / math.Sqrt(cosine(want, want)); math.Abs(same-1) > 1e-6 {
					t.Errorf("vector %d belongs to another text: cosine %v", i, same)
				}
			}
			if near, far := cosine(out.Vectors[0], out.Vectors[1]), cosine(out.Vectors[0], out.Vectors[2]); near < far+0.2 {
				t.Errorf("cosine of similar texts %v, of others %v", near, far)
			}
		})
	}
}

func TestTextsAreSplitIntoBatches(t *testing.T) {
	t.Parallel()
	e := testkit.NewEmbeddings(t)
	c := newClient(t, e)
	var texts []string
	for i := range 200 {
		texts = append(texts, fmt.Sprintf("text number %d", i))
	}
	out, err := c.Embed(t.Context(), texts)
	if err != nil || len(out.Vectors) != 200 || out.Tokens != 600 || e.Calls() != 3 {
		t.Errorf("%d vectors, %d tokens, %d calls (%v)", len(out.Vectors), out.Tokens, e.Calls(), err)
	}
	if out, err := c.Embed(t.Context(), nil); err != nil || len(out.Vectors) != 0 || e.Calls() != 3 {
		t.Errorf("no texts: %v, %v, %d calls", out, err, e.Calls())
	}
	long := strings.Repeat("word ", 20_000)
	for _, tc := range []struct {
		texts []string
		want  int
	}{
		{nil, 0},
		{texts, 96},
		{texts[:96], 96},
		{[]string{long, long, long}, 2},
		{[]string{long + long + long, "x"}, 1},
	} {
		if got := model.EmbeddingBatch(tc.texts); got != tc.want {
			t.Errorf("a batch of %d texts has %d, want %d", len(tc.texts), got, tc.want)
		}
	}
}

func TestVectorsOfAnotherLengthAreRefused(t *testing.T) {
	t.Parallel()
	e := testkit.NewEmbeddings(t)
	c := newClient(t, e, func(o *model.EmbeddingOptions) { o.Dims = 64 })
	if _, err := c.Embed(t.Context(), []string{"a"}); err != nil || c.Dims() != 64 {
		t.Errorf("%d numbers (%v)", c.Dims(), err)
	}
	e.Fail(testkit.EmbeddingsBody(`{"data":[{"index":0,"embedding":[1,2,3]}]}`))
	wantFailure(t, c, model.FaultSettings, "CARREL_EMBEDDINGS_DIMENSIONS")

	unset := newClient(t, e)
	if _, err := unset.Embed(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	e.Fail(testkit.EmbeddingsBody(`{"data":[{"embedding":[1,2,3]}]}`))
	wantFailure(t, unset, model.FaultSettings, "restart Carrel")
	if unset.Dims() != 64 {
		t.Errorf("%d numbers after a response of another model", unset.Dims())
	}
}

// wantFailure requests one vector and checks the error.
func wantFailure(t *testing.T, c *client, fault model.Fault, detail string) *model.EmbeddingError {
	t.Helper()
	_, err := c.Embed(t.Context(), []string{"a private text"})
	var failure *model.EmbeddingError
	if !errors.As(err, &failure) || failure.Fault != fault || model.FaultOf(err) != fault ||
		!strings.Contains(err.Error(), detail) {
		t.Errorf("got %v, want fault %s and %q", err, fault, detail)
		return &model.EmbeddingError{}
	}
	if strings.Contains(err.Error(), "sk-secret") || strings.Contains(err.Error(), "private") {
		t.Errorf("the error quotes the key or a text: %v", err)
	}
	return failure
}

func TestInvalidResponsesAreRefused(t *testing.T) {
	t.Parallel()
	e := testkit.NewEmbeddings(t)
	c := newClient(t, e)
	for name, tc := range map[string]struct{ body, want string }{
		"HTML":              {"<html>welcome</html>", "not JSON"},
		"truncated":         {`{"data":[{"index":0,"embedding":[0.1,`, "not JSON"},
		"unexpected shape":  {`{"data":{"embedding":[1]}}`, "unexpected shape"},
		"numbers as text":   {`{"data":[{"index":0,"embedding":["1"]}]}`, "unexpected shape"},
		"NaN":               {`{"data":[{"index":0,"embedding":[NaN]}]}`, "not JSON"},
		"NaN in base64":     {`{"data":[{"index":0,"embedding":"AACAPwAAwH8="}]}`, "direction"},
		"broken base64":     {`{"data":[{"index":0,"embedding":"AACAPwA="}]}`, "unexpected shape"},
		"too big":           {`{"data":[{"index":0,"embedding":[1e99]}]}`, "unexpected shape"},
		"zeros":             {`{"data":[{"index":0,"embedding":[0,0]}]}`, "direction"},
		"nothing":           {`{"data":[]}`, "0 vectors for 1"},
		"too many":          {`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]}]}`, "2 vectors for 1"},
		"no numbers":        {`{"data":[{"index":0,"embedding":[]}]}`, "0 and 0 numbers"},
		"null":              {`{"data":[{"index":0,"embedding":null}]}`, "0 and 0 numbers"},
		"wrong index":       {`{"data":[{"index":1,"embedding":[1]}]}`, "indexes"},
		"negative index":    {`{"data":[{"index":-1,"embedding":[1]}]}`, "indexes"},
		"vector too long":   {`{"data":[{"index":0,"embedding":[` + strings.Repeat("1,", model.MaxDims) + `1]}]}`, "8193"},
		"response too long": {`{"data":[],"x":"` + strings.Repeat("x", 33<<20) + `"}`, "more than 32 MB"},
	} {
		before := e.Calls()
		e.Fail(testkit.EmbeddingsBody(tc.body))
		failure := wantFailure(t, c, model.FaultEndpoint, tc.want)
		if n := e.Calls() - before; n != 1 {
			t.Errorf("%s: %d requests", name, n)
		}
		if failure.Suspect != (tc.want == "direction") {
			t.Errorf("%s: suspect is %v", name, failure.Suspect)
		}
	}
	e.Fail(testkit.EmbeddingsBody(`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`))
	if _, err := c.Embed(t.Context(), []string{"a", "b"}); err == nil || !strings.Contains(err.Error(), "indexes") {
		t.Errorf("duplicate index: %v", err)
	}
	e.Fail(testkit.EmbeddingsBody(`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1]}]}`))
	_, err := c.Embed(t.Context(), []string{"a", "b"})
	if err == nil || !strings.Contains(err.Error(), "2 and 1 numbers") {
		t.Errorf("two lengths: %v", err)
	}
	if c.Dims() != 0 {
		t.Errorf("a refused response set the length to %d", c.Dims())
	}
}

func TestTemporaryFailuresAreRetried(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		faults func(e *testkit.Embeddings) []testkit.EmbeddingFault
		least  time.Duration // minimum of the first delay
	}{
		"429 with seconds": {func(*testkit.Embeddings) []testkit.EmbeddingFault {
			return []testkit.EmbeddingFault{testkit.EmbeddingsStatus(429, "7", "slow down")}
		}, 7 * time.Second},
		"429 with a date": {func(*testkit.Embeddings) []testkit.EmbeddingFault {
			at := testkit.NewClock().Now().Add(9 * time.Second).Format(http.TimeFormat)
			return []testkit.EmbeddingFault{testkit.EmbeddingsStatus(429, at, "slow down")}
		}, 9 * time.Second},
		"500 and 503": {func(*testkit.Embeddings) []testkit.EmbeddingFault {
			return []testkit.EmbeddingFault{testkit.EmbeddingsStatus(500, "", ""), testkit.EmbeddingsStatus(503, "", "")}
		}, 250 * time.Millisecond},
		"broken connection": {func(e *testkit.Embeddings) []testkit.EmbeddingFault {
			return []testkit.EmbeddingFault{e.Cut()}
		}, 250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := testkit.NewEmbeddings(t)
			c := newClient(t, e)
			faults := tc.faults(e)
			e.Fail(faults...)
			if _, err := c.Embed(t.Context(), []string{"a"}); err != nil {
				t.Fatal(err)
			}
			if e.Calls() != len(faults)+1 || len(c.delays) != len(faults) ||
				c.delays[0] < tc.least || c.delays[0] > tc.least+time.Second {
				t.Errorf("%d calls with delays of %v", e.Calls(), c.delays)
			}
		})
	}
}

func TestPermanentFailuresNameTheRemedy(t *testing.T) {
	t.Parallel()
	const key = "sk-secret-of-the-test"
	status := testkit.EmbeddingsStatus
	for name, tc := range map[string]struct {
		fault   testkit.EmbeddingFault
		want    model.Fault
		detail  string
		calls   int
		suspect bool
		after   time.Duration
	}{
		"key": {
			status(401, "", "Incorrect API key provided: "+key),
			model.FaultSettings, "CARREL_EMBEDDINGS_API_KEY", 1, false, 0,
		},
		"model":      {status(404, "", "no such model"), model.FaultSettings, `"no such model"`, 1, false, 0},
		"redirect":   {status(307, "", ""), model.FaultSettings, "redirects are not followed", 1, false, 0},
		"too long":   {status(400, "", "too long\nfor "+key), model.FaultInput, `"too long for [redacted]"`, 1, true, 0},
		"overloaded": {status(429, "", ""), model.FaultEndpoint, "rate limit", 3, false, 0},
		"not soon":   {status(429, "3600", ""), model.FaultEndpoint, "rate limit", 1, false, time.Hour},
		"broken":     {status(500, "", ""), model.FaultEndpoint, "status 500", 3, true, 0},
		"down": {
			status(502, "", strings.Repeat("x", 500)), model.FaultEndpoint, strings.Repeat("x", 200) + "…", 3, false, 0,
		},
		"empty": {status(204, "", ""), model.FaultEndpoint, "status 204", 1, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := testkit.NewEmbeddings(t)
			e.Break(tc.fault)
			failure := wantFailure(t, newClient(t, e), tc.want, tc.detail)
			if e.Calls() != tc.calls || failure.Suspect != tc.suspect || failure.RetryAfter != tc.after {
				t.Errorf("%d calls, suspect %v, retry after %v", e.Calls(), failure.Suspect, failure.RetryAfter)
			}
		})
	}
}

func TestUnreachableEndpointNamesTheSetting(t *testing.T) {
	t.Parallel()
	e := testkit.NewEmbeddings(t)
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	c := newClient(t, e, func(o *model.EmbeddingOptions) { o.URL = dead.URL })
	wantFailure(t, c, model.FaultEndpoint, "CARREL_EMBEDDINGS_URL")
	if len(c.delays) != 2 {
		t.Errorf("delays %v", c.delays)
	}
}

func TestEmbedEndsWithItsContext(t *testing.T) {
	t.Parallel()
	e := testkit.NewEmbeddings(t)
	e.Break(e.Slow(time.Minute))
	c := newClient(t, e)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for e.Calls() == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := c.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) || e.Calls() != 1 {
		t.Errorf("%v after %d calls", err, e.Calls())
	}
	// A retry after the caller's deadline is pointless.
	e.Break(testkit.EmbeddingsStatus(429, "60", ""))
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	_, err := c.Embed(ctx, []string{"a"})
	var failure *model.EmbeddingError
	if !errors.As(err, &failure) || failure.RetryAfter != time.Minute || len(c.delays) != 0 {
		t.Errorf("%v after delays of %v", err, c.delays)
	}
}

func FuzzEmbeddingResponses(f *testing.F) {
	f.Add(`{"data":[{"index":0,"embedding":[1,2]}],"usage":{"total_tokens":-5}}`)
	f.Add(`{"data":[{"embedding":"AACAPw=="}]}`)
	f.Add(`{"error":{"message":"x"}}`)
	f.Fuzz(func(t *testing.T, body string) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(body))
		}))
		defer srv.Close()
		c := model.NewEmbeddingClient(model.EmbeddingOptions{URL: srv.URL, Model: "m"}, testkit.NewClock())
		defer c.Close()
		out, err := c.Embed(t.Context(), []string{"a"})
		if err != nil {
			return
		}
		if len(out.Vectors) != 1 || len(out.Vectors[0]) != c.Dims() || out.Tokens < 0 ||
			math.Abs(cosine(out.Vectors[0], out.Vectors[0])-1) > 1e-3 {
			t.Errorf("%q became %v", body, out)
		}
	})
}
