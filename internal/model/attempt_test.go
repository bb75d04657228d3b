package model_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/model"
	"carrel/internal/testkit"
	"carrel/internal/testkit/modelfake"
)

// newScriptedProvider returns a provider whose requests are served by the handlers, one each.
func newScriptedProvider(t *testing.T, handlers ...http.HandlerFunc) *provider {
	t.Helper()
	var served atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(served.Add(1))
		if n > len(handlers) {
			t.Error("unexpected request")
			return
		}
		handlers[n-1](w, r)
	}))
	t.Cleanup(srv.Close)
	client, err := model.New(model.Options{API: model.OpenAI, BaseURL: srv.URL, Name: "m"}, testkit.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	p := &provider{Provider: client}
	model.RecordDelays(client, func(d time.Duration) { p.delays = append(p.delays, d) })
	return p
}

// status returns a handler with a body and pairs of headers.
func status(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

var yes = status(http.StatusOK, `data: {"choices":[{"delta":{"content":"Yes"},"finish_reason":"stop"}]}`+"\n\n")

func TestErrorPageOfAProxyIsRetried(t *testing.T) {
	t.Parallel()
	p := newScriptedProvider(t, status(http.StatusBadGateway, "<html><h1>502 Bad Gateway</h1></html>", "Content-Type",
		"text/html"), yes)
	if got := p.collect(t.Context(), question("?")); got.err != nil || got.text != "Yes" || len(p.delays) != 1 {
		t.Errorf("got %+v after delays of %v", got, p.delays)
	}
}

func TestRetryHeadersOfOpenAIAreHonoured(t *testing.T) {
	t.Parallel()
	p := newScriptedProvider(t,
		status(http.StatusTooManyRequests, "", "Retry-After-Ms", "7500", "Retry-After", "60"), yes,
		status(http.StatusInternalServerError, "", "X-Should-Retry", "false"),
	)
	if got := p.collect(t.Context(), question("?")); got.err != nil || got.text != "Yes" {
		t.Errorf("got %+v", got)
	}
	if len(p.delays) != 1 || p.delays[0] != 7500*time.Millisecond {
		t.Errorf("delays %v", p.delays)
	}
	if got := p.collect(t.Context(), question("?")); !errors.Is(got.err, model.ErrProvider) || len(p.delays) != 1 {
		t.Errorf("got %+v after delays of %v", got, p.delays)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	p := newScriptedProvider(t, status(http.StatusTemporaryRedirect, "", "Location", "/other"))
	if got := p.collect(t.Context(), question("?")); !errors.Is(got.err, model.ErrUnknownModel) {
		t.Errorf("got %+v", got)
	}
}

func TestEventThatIsTooLongIsNotRetried(t *testing.T) {
	t.Parallel()
	p := newProvider(t, modelfake.OpenAI)
	p.fake.Script(modelfake.Reply{
		Body:        `data: {"choices":[{"delta":{"content":"` + strings.Repeat("x", 17<<20) + `"}}]}` + "\n\n",
		ContentType: "text/event-stream",
	})
	got := p.collect(t.Context(), question("?"))
	if !errors.Is(got.err, model.ErrReply) || got.text != "" || len(p.delays) != 0 {
		t.Errorf("got %+v after delays of %v", got, p.delays)
	}
}

func TestRequestHasTheHeadersOfItsFormat(t *testing.T) {
	t.Parallel()
	for format, want := range map[modelfake.Format]map[string]string{
		modelfake.OpenAI:    {"Authorization": "Bearer sk-secret-of-the-test"},
		modelfake.Anthropic: {"X-Api-Key": "sk-secret-of-the-test", "Anthropic-Version": "2023-06-01"},
	} {
		p := newProvider(t, format)
		p.fake.Script(modelfake.Say("Yes."))
		if got := p.collect(t.Context(), question("?")); got.err != nil {
			t.Fatal(got.err)
		}
		want["Content-Type"], want["Accept"], want["User-Agent"] = "application/json", "text/event-stream", "Carrel"
		header := p.fake.Requests()[0].Header
		header.Del("Content-Length")
		for name := range header {
			if header.Get(name) != want[name] {
				t.Errorf("%s: %s: %q, want %q", format, name, header.Get(name), want[name])
			}
		}
		if len(header) != len(want) {
			t.Errorf("%s: headers %v", format, header)
		}
	}
}
