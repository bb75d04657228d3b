package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/model"
	"carrel/internal/testkit"
	"carrel/internal/testkit/modelfake"
)

// asked is a provider that asks a fake and does not really pause.
type asked struct {
	model.Provider
	fake   *modelfake.Server
	paused []time.Duration
}

func ask(t testing.TB, format modelfake.Format, change ...func(*model.Options)) *asked {
	t.Helper()
	fake := modelfake.New(t, format)
	fake.Models = append(fake.Models, "fake-2")
	o := model.Options{API: model.API(format), BaseURL: fake.URL(), Key: fake.Key, Name: "fake-1", Allowed: []string{"fake-2", "fake-1", "fake-2"}}
	for _, f := range change {
		f(&o)
	}
	p, err := model.New(o, testkit.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	a := &asked{Provider: p, fake: fake}
	model.RecordDelays(p, func(d time.Duration) { a.paused = append(a.paused, d) })
	t.Cleanup(p.Close)
	return a
}

// both runs a test over both formats.
func both(t *testing.T, test func(t *testing.T, a *asked)) {
	t.Helper()
	for _, format := range []modelfake.Format{modelfake.OpenAI, modelfake.Anthropic} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			test(t, ask(t, format))
		})
	}
}

// heard is a whole answer.
type heard struct {
	text  string
	texts int
	calls []model.ToolCall
	usage []model.Usage
	done  []model.Finish
	err   error
}

func (a *asked) hear(ctx context.Context, r model.Request) (h heard) {
	for e, err := range a.Stream(ctx, r) {
		if h.err != nil || len(h.done) > 0 {
			h.err = errors.New("something came after the end")
			break
		}
		switch e := e.(type) {
		case model.Text:
			h.text += string(e)
			h.texts++
		case model.ToolCall:
			h.calls = append(h.calls, e)
		case model.Usage:
			h.usage = append(h.usage, e)
		case model.Done:
			h.done = append(h.done, e.Finish)
		}
		h.err = err
	}
	return h
}

func question(text string) model.Request {
	return model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: text}}}
}

func TestAnAnswerComesPieceByPieceThenItsUsageThenTheEnd(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		for name, change := range map[string]func(*modelfake.Reply){
			"plain":         func(*modelfake.Reply) {},
			"keep-alive":    func(r *modelfake.Reply) { r.KeepAlive = true },
			"empty choices": func(r *modelfake.Reply) { r.EmptyChoices = true },
			"slow":          func(r *modelfake.Reply) { r.Pause = time.Millisecond },
		} {
			reply := modelfake.Say("The bridge was opened in 1849.")
			reply.In, reply.Out, reply.Cached = 120, 9, 100
			change(&reply)
			a.fake.Script(reply)
			got := a.hear(t.Context(), question("When?"))
			want := heard{
				text: "The bridge was opened in 1849.", texts: 6, usage: []model.Usage{{In: 120, Out: 9, Cached: 100}}, done: []model.Finish{model.FinishStop},
			}
			if got.err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: got %+v, want %+v", name, got, want)
			}
		}
	})
}

func TestAConversationWithToolsReachesTheModelAsItWas(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		a.fake.Script(modelfake.Reply{Text: []string{"I look. "}, Calls: []modelfake.Call{
			{ID: "call_1", Name: "search", Arguments: `{"query": "bridge \"Széchenyi\" \u0000 híd", "years": [1849, 18446744073709551615]}`},
			{ID: "call_2", Name: "now", Arguments: ""},
		}})
		temperature := 0.2
		r := model.Request{
			Model: "fake-2", System: "Answer from sources\x00.", MaxTokens: 321, Temperature: &temperature,
			Messages: []model.Message{{Role: model.RoleUser, Text: "Hello"}, {Role: model.RoleUser, Text: "When \xff?"}},
			Tools: []model.Tool{
				{Name: "search", Description: "Finds.", Schema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}`)},
				{Name: "now", Schema: json.RawMessage(`{"type":"object"}`)},
			},
			Schema: &model.Schema{Name: "answer", JSON: json.RawMessage(`{"type":"object","properties":{"b":{},"a":{}}}`)},
		}
		got := a.hear(t.Context(), r)
		if got.err != nil || len(got.calls) != 2 || !slices.Equal(got.done, []model.Finish{model.FinishTools}) || got.text != "I look. " {
			t.Fatalf("got %+v", got)
		}
		if args := string(got.calls[0].Arguments); args != `{"query":"bridge \"Széchenyi\" `+"\uFFFD"+` híd","years":[1849,18446744073709551615]}` {
			t.Errorf("arguments %s", args)
		}
		if got.calls[1].ID != "call_2" || got.calls[1].Name != "now" || string(got.calls[1].Arguments) != "{}" {
			t.Errorf("second call %+v", got.calls[1])
		}
		r.Messages = append(r.Messages, model.Message{Role: model.RoleAssistant, Text: got.text, Calls: got.calls},
			model.Message{Role: model.RoleTool, CallID: "call_2", Failed: true}, model.Message{Role: model.RoleTool, CallID: "call_1", Text: "In 1849."},
			model.Message{Role: model.RoleUser, Text: "And?"})
		a.fake.Script(modelfake.Say("In 1849."))
		if got := a.hear(t.Context(), r); got.err != nil || got.text != "In 1849." {
			t.Fatalf("got %+v", got)
		}
		sent := a.fake.Requests()[1]
		if sent.Model != "fake-2" || sent.System != "Answer from sources\uFFFD." || sent.MaxTokens != 321 || *sent.Temperature != 0.2 ||
			!slices.Equal(sent.Tools, []string{"search", "now"}) || string(sent.Schema) != `{"type":"object","properties":{"b":{},"a":{}}}` {
			t.Errorf("sent %+v", sent)
		}
		if !strings.Contains(sent.Body, `"properties":{"z":{"type":"string"},"a":{"type":"integer"}}`) {
			t.Error("the order of a tool's properties is lost")
		}
		m := sent.Messages
		if len(m) != 5 || m[0].Text != "Hello\n\nWhen \uFFFD?" || m[1].Text != "I look. " || len(m[1].Calls) != 2 ||
			m[1].Calls[0].Name != "search" || m[2].CallID != "call_2" || m[3].Text != "In 1849." || m[4].Text != "And?" {
			t.Errorf("messages %+v", m)
		}
	})
}

func TestNothingOfTheMachineOrTheEnvironmentIsSent(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ORG_ID", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"} {
		t.Setenv(name, "of-somebody-else")
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	for _, format := range []modelfake.Format{modelfake.OpenAI, modelfake.Anthropic} {
		a := ask(t, format, func(o *model.Options) { o.Key = "" })
		a.fake.Key = ""
		a.fake.Script(modelfake.Say("Yes."))
		if got := a.hear(t.Context(), question("?")); got.err != nil {
			t.Fatal(got.err)
		}
		for name, values := range a.fake.Requests()[0].Header {
			if strings.Contains(name, "Stainless") || strings.Contains(strings.Join(values, ""), "somebody") || name == "User-Agent" && values[0] != "Carrel" {
				t.Errorf("%s: %s: %q", format, name, values)
			}
		}
	}
}

func TestMissingUsageIsEstimatedAndSaidToBe(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		reply := modelfake.Say(strings.Repeat("seven words make a sentence, mostly so. ", 20))
		reply.NoUsage = true
		a.fake.Script(reply)
		got := a.hear(t.Context(), question(strings.Repeat("word ", 700)))
		if got.err != nil || len(got.usage) != 1 || !got.usage[0].Estimated {
			t.Fatalf("got %+v", got)
		}
		if u := got.usage[0]; u.In < 1000 || u.In > 1020 || u.Out < 220 || u.Out > 240 {
			t.Errorf("estimated %+v", u)
		}
		if want := model.Estimate(question(strings.Repeat("word ", 700)), got.text); got.usage[0] != want {
			t.Errorf("got %+v, want %+v", got.usage[0], want)
		}
	})
}

func TestAnAnswerThatStopsEarlySaysWhy(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		length, refusal := "length", "content_filter"
		if a.fake.Format == modelfake.Anthropic {
			length, refusal = "max_tokens", "refusal"
		}
		long, no := modelfake.Say("So long"), modelfake.Reply{Text: []string{"I"}, In: 5, Out: 1}
		long.Finish, no.Finish = length, refusal
		a.fake.Script(long, no)
		if got := a.hear(t.Context(), question("?")); got.err != nil || !slices.Equal(got.done, []model.Finish{model.FinishLength}) {
			t.Errorf("too long: %+v", got)
		}
		got := a.hear(t.Context(), question("?"))
		if !errors.Is(got.err, model.ErrRefused) || !slices.Equal(got.usage, []model.Usage{{In: 5, Out: 1}}) || len(got.done) != 0 {
			t.Errorf("refused: %+v", got)
		}
	})
}

func TestACharacterThatIsCutInTwoIsWholeAgain(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		a.fake.Script(modelfake.Reply{Text: []string{"h", "\xc3", "\xad", "d \xf0\x9f", "\x8c\x89 nul\x00 bad\xff end\xe2\x82"}})
		got := a.hear(t.Context(), question("?"))
		if want := "híd 🌉 nul\uFFFD bad\uFFFD end\uFFFD"; got.err != nil || got.text != want {
			t.Errorf("got %q, want %q (%v)", got.text, want, got.err)
		}
	})
}

func TestACallWithoutJSONIsAnErrorAndOneWithoutAnIDGetsOne(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		for _, args := range []string{`{"query": "a`, `[1]`, `"text"`, `{} {}`} {
			a.fake.Script(modelfake.Use(modelfake.Call{ID: "c", Name: "search", Arguments: args}))
			got := a.hear(t.Context(), question("?"))
			if !errors.Is(got.err, model.ErrToolCall) || len(got.calls) != 0 || len(got.usage) != 1 || got.usage[0].Estimated {
				t.Errorf("%s: %+v", args, got)
			}
		}
	})
	a := ask(t, modelfake.OpenAI)
	reply := modelfake.Use(modelfake.Call{Name: "search", Arguments: `{"q":1}`}, modelfake.Call{Name: "search", Arguments: `{"q":2}`})
	reply.NoIDs, reply.Finish = true, "stop"
	a.fake.Script(reply)
	got := a.hear(t.Context(), question("?"))
	if got.err != nil || len(got.calls) != 2 || got.calls[0].ID == "" || got.calls[0].ID == got.calls[1].ID || got.done[0] != model.FinishTools {
		t.Errorf("without ids: %+v", got)
	}
}

func TestWhoStopsListeningHearsNothingMore(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		reply := modelfake.Say("one two three")
		reply.End = modelfake.Hangs
		a.fake.Script(reply)
		for e, err := range a.Stream(t.Context(), question("?")) {
			if err != nil || e != model.Text("one ") {
				t.Fatalf("%v, %v", e, err)
			}
			break
		}
	})
}

func TestOnlyAllowedModelsAreAsked(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		if !slices.Equal(a.Models(), []string{"fake-1", "fake-2"}) {
			t.Errorf("models %v", a.Models())
		}
		r := question("?")
		r.Model = "fake-3"
		if got := a.hear(t.Context(), r); !errors.Is(got.err, model.ErrNotAllowed) || len(a.fake.Requests()) != 0 {
			t.Errorf("got %+v after %d requests", got, len(a.fake.Requests()))
		}
	})
}

func TestARequestThatNoProviderTakesIsNotSent(t *testing.T) {
	t.Parallel()
	user := model.Message{Role: model.RoleUser, Text: "?"}
	call := model.ToolCall{ID: "c", Name: "search", Arguments: json.RawMessage(`{}`)}
	calls := model.Message{Role: model.RoleAssistant, Calls: []model.ToolCall{call}}
	a := ask(t, modelfake.OpenAI)
	for name, r := range map[string]model.Request{
		"nothing":            {},
		"assistant first":    {Messages: []model.Message{{Role: model.RoleAssistant, Text: "x"}, user}},
		"assistant last":     {Messages: []model.Message{user, {Role: model.RoleAssistant, Text: "x"}}},
		"empty":              {Messages: []model.Message{{Role: model.RoleUser}}},
		"no role":            {Messages: []model.Message{user, {Text: "x"}, user}},
		"call unanswered":    {Messages: []model.Message{user, calls, user}},
		"calls unanswered":   {Messages: []model.Message{user, {Role: model.RoleAssistant, Calls: []model.ToolCall{call, {ID: "d", Name: "x", Arguments: call.Arguments}}}, {Role: model.RoleTool, CallID: "c"}}},
		"answer uncalled":    {Messages: []model.Message{user, {Role: model.RoleTool, CallID: "c"}}},
		"call without JSON":  {Messages: []model.Message{user, {Role: model.RoleAssistant, Calls: []model.ToolCall{{ID: "c", Name: "x"}}}, {Role: model.RoleTool, CallID: "c"}}},
		"tool without JSON":  {Messages: []model.Message{user}, Tools: []model.Tool{{Name: "x"}}},
		"schema not a value": {Messages: []model.Message{user}, Schema: &model.Schema{Name: "x", JSON: json.RawMessage("{")}},
	} {
		if got := a.hear(t.Context(), r); got.err == nil || !strings.Contains(got.err.Error(), "invalid model request") {
			t.Errorf("%s: %v", name, got.err)
		}
	}
	if n := len(a.fake.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestWhatAModelDoesNotTakeIsLeftOutFromThenOn(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, a *asked) {
		a.fake.Unwelcome = []string{"temperature", "output_config", "response_format", "stream_options"}
		if a.fake.Format == modelfake.OpenAI {
			a.fake.Unwelcome = append(a.fake.Unwelcome, "max_tokens")
		}
		temperature := 0.0
		r := question("?")
		r.Temperature, r.Schema = &temperature, &model.Schema{Name: "x", JSON: json.RawMessage(`{"type":"object"}`)}
		for range 2 {
			a.fake.Script(modelfake.Say("Yes."))
			if got := a.hear(t.Context(), r); got.err != nil || got.text != "Yes." {
				t.Fatalf("got %+v", got)
			}
		}
		sent := a.fake.Requests()
		if len(sent) != 2 || sent[1].Temperature != nil || sent[1].Schema != nil || sent[1].MaxTokens != model.DefaultMaxTokens || len(a.paused) != 0 {
			t.Errorf("sent %+v, paused %v", sent, a.paused)
		}
	})
}

func TestAnInstallationWithoutAModelSaysSo(t *testing.T) {
	t.Parallel()
	for _, api := range []model.API{"", model.None} {
		p, err := model.New(model.Options{API: api}, testkit.NewClock())
		if err != nil || len(p.Models()) != 0 {
			t.Fatalf("%v, %v", p, err)
		}
		a := &asked{Provider: p}
		if got := a.hear(t.Context(), question("?")); !errors.Is(got.err, model.ErrNoModel) {
			t.Errorf("got %+v", got)
		}
		p.Close()
	}
	for _, o := range []model.Options{{API: "x", Name: "m"}, {API: model.OpenAI}, {API: model.OpenAI, Name: "m", BaseURL: "localhost"}} {
		if _, err := model.New(o, testkit.NewClock()); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
