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

// provider is a client of a fake model server. It records its retry delays instead of waiting.
type provider struct {
	model.Provider
	fake   *modelfake.Server
	delays []time.Duration
}

func newProvider(t testing.TB, format modelfake.Format, change ...func(*model.Options)) *provider {
	t.Helper()
	fake := modelfake.New(t, format)
	fake.Models = append(fake.Models, "fake-2")
	o := model.Options{
		API: model.API(format), BaseURL: fake.URL(), Key: fake.Key,
		Name: "fake-1", Allowed: []string{"fake-2", "fake-1", "fake-2"},
	}
	for _, f := range change {
		f(&o)
	}
	client, err := model.New(o, testkit.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{Provider: client, fake: fake}
	model.RecordDelays(client, func(d time.Duration) { p.delays = append(p.delays, d) })
	t.Cleanup(client.Close)
	return p
}

// bothFormats runs a test with each wire format.
func bothFormats(t *testing.T, test func(t *testing.T, p *provider)) {
	t.Helper()
	for _, format := range []modelfake.Format{modelfake.OpenAI, modelfake.Anthropic} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			test(t, newProvider(t, format))
		})
	}
}

// result holds the events of an answer.
type result struct {
	text  string
	texts int
	calls []model.ToolCall
	usage []model.Usage
	done  []model.Finish
	err   error
}

func (p *provider) collect(ctx context.Context, r model.Request) (out result) {
	for e, err := range p.Stream(ctx, r) {
		if out.err != nil || len(out.done) > 0 {
			out.err = errors.New("an event follows the end")
			break
		}
		switch e := e.(type) {
		case model.Text:
			out.text += string(e)
			out.texts++
		case model.ToolCall:
			out.calls = append(out.calls, e)
		case model.Usage:
			out.usage = append(out.usage, e)
		case model.Done:
			out.done = append(out.done, e.Finish)
		}
		out.err = err
	}
	return out
}

func question(text string) model.Request {
	return model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: text}}}
}

func TestStreamYieldsTextThenUsageThenDone(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		for name, change := range map[string]func(*modelfake.Reply){
			"plain":         func(*modelfake.Reply) {},
			"keep-alive":    func(r *modelfake.Reply) { r.KeepAlive = true },
			"empty choices": func(r *modelfake.Reply) { r.EmptyChoices = true },
			"slow":          func(r *modelfake.Reply) { r.Pause = time.Millisecond },
		} {
			reply := modelfake.Say("The bridge was opened in 1849.")
			reply.In, reply.Out, reply.Cached = 120, 9, 100
			change(&reply)
			p.fake.Script(reply)
			got := p.collect(t.Context(), question("When?"))
			want := result{
				text: "The bridge was opened in 1849.", texts: 6,
				usage: []model.Usage{{In: 120, Out: 9, Cached: 100}}, done: []model.Finish{model.FinishStop},
			}
			if got.err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: got %+v, want %+v", name, got, want)
			}
		}
	})
}

func TestToolConversationIsSentUnchanged(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		p.fake.Script(modelfake.Reply{Text: []string{"Searching. "}, Calls: []modelfake.Call{
			{
				ID: "call_1", Name: "search",
				Arguments: `{"query": "bridge \"Széchenyi\" \u0000 híd", "years": [1849, 18446744073709551615]}`,
			},
			{ID: "call_2", Name: "now", Arguments: ""},
		}})
		const schema = `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}`
		temperature := 0.2
		r := model.Request{
			Model: "fake-2", System: "Answer from sources\x00.", MaxTokens: 321, Temperature: &temperature,
			Messages: []model.Message{{Role: model.RoleUser, Text: "Hello"}, {Role: model.RoleUser, Text: "When \xff?"}},
			Tools: []model.Tool{
				{Name: "search", Description: "Searches.", Schema: json.RawMessage(schema)},
				{Name: "now", Schema: json.RawMessage(`{"type":"object"}`)},
			},
			Schema: &model.Schema{Name: "answer", JSON: json.RawMessage(`{"type":"object","properties":{"b":{},"a":{}}}`)},
		}
		got := p.collect(t.Context(), r)
		if got.err != nil || len(got.calls) != 2 || got.text != "Searching. " ||
			!slices.Equal(got.done, []model.Finish{model.FinishTools}) {
			t.Fatalf("got %+v", got)
		}
		want := `{"query":"bridge \"Széchenyi\" ` + "\uFFFD" + ` híd","years":[1849,18446744073709551615]}`
		if args := string(got.calls[0].Arguments); args != want {
			t.Errorf("arguments %s", args)
		}
		if got.calls[1].ID != "call_2" || got.calls[1].Name != "now" || string(got.calls[1].Arguments) != "{}" {
			t.Errorf("second call %+v", got.calls[1])
		}
		r.Messages = append(r.Messages,
			model.Message{Role: model.RoleAssistant, Text: got.text, Calls: got.calls},
			model.Message{Role: model.RoleTool, CallID: "call_2", Failed: true},
			model.Message{Role: model.RoleTool, CallID: "call_1", Text: "In 1849."},
			model.Message{Role: model.RoleUser, Text: "And?"})
		p.fake.Script(modelfake.Say("In 1849."))
		if got := p.collect(t.Context(), r); got.err != nil || got.text != "In 1849." {
			t.Fatalf("got %+v", got)
		}
		sent := p.fake.Requests()[1]
		if sent.Model != "fake-2" || sent.System != "Answer from sources\uFFFD." || sent.MaxTokens != 321 ||
			*sent.Temperature != 0.2 || !slices.Equal(sent.Tools, []string{"search", "now"}) ||
			string(sent.Schema) != string(r.Schema.JSON) {
			t.Errorf("sent %+v", sent)
		}
		if !strings.Contains(sent.Body, schema) {
			t.Error("the order of a tool's properties changed")
		}
		m := sent.Messages
		if len(m) != 5 || m[0].Text != "Hello\n\nWhen \uFFFD?" || m[1].Text != "Searching. " || len(m[1].Calls) != 2 ||
			m[1].Calls[0].Name != "search" || m[2].CallID != "call_2" || m[3].Text != "In 1849." || m[4].Text != "And?" {
			t.Errorf("messages %+v", m)
		}
	})
}

func TestEnvironmentVariablesOfSDKsAreIgnored(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ORG_ID", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"} {
		t.Setenv(name, "from-the-environment")
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	for _, format := range []modelfake.Format{modelfake.OpenAI, modelfake.Anthropic} {
		p := newProvider(t, format, func(o *model.Options) { o.Key = "" })
		p.fake.Key = ""
		p.fake.Script(modelfake.Say("Yes."))
		if got := p.collect(t.Context(), question("?")); got.err != nil {
			t.Fatal(got.err)
		}
		for name, values := range p.fake.Requests()[0].Header {
			if strings.Contains(strings.Join(values, ""), "environment") || name == "User-Agent" && values[0] != "Carrel" {
				t.Errorf("%s: %s: %q", format, name, values)
			}
		}
	}
}

func TestMissingUsageIsEstimated(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		reply := modelfake.Say(strings.Repeat("seven words make a sentence, mostly so. ", 20))
		reply.NoUsage = true
		p.fake.Script(reply)
		got := p.collect(t.Context(), question(strings.Repeat("word ", 700)))
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

func TestFinishReasonsOfIncompleteAnswers(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		length, refusal := "length", "content_filter"
		if p.fake.Format == modelfake.Anthropic {
			length, refusal = "max_tokens", "refusal"
		}
		long, refused := modelfake.Say("So long"), modelfake.Reply{Text: []string{"I"}, In: 5, Out: 1}
		long.Finish, refused.Finish = length, refusal
		p.fake.Script(long, refused)
		got := p.collect(t.Context(), question("?"))
		if got.err != nil || !slices.Equal(got.done, []model.Finish{model.FinishLength}) {
			t.Errorf("too long: %+v", got)
		}
		got = p.collect(t.Context(), question("?"))
		if !errors.Is(got.err, model.ErrRefused) || len(got.done) != 0 ||
			!slices.Equal(got.usage, []model.Usage{{In: 5, Out: 1}}) {
			t.Errorf("refused: %+v", got)
		}
	})
}

func TestCharacterSplitBetweenChunksIsJoined(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		p.fake.Script(modelfake.Reply{Text: []string{
			"h", "\xc3", "\xad", "d \xf0\x9f", "\x8c\x89 \"q\\ nul\x00 bad\xff end\xe2\x82",
		}})
		got := p.collect(t.Context(), question("?"))
		if want := "híd 🌉 \"q\\ nul\uFFFD bad\uFFFD end\uFFFD"; got.err != nil || got.text != want {
			t.Errorf("got %q, want %q (%v)", got.text, want, got.err)
		}
	})
}

func TestToolCallWithInvalidArgumentsIsAnError(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		for _, args := range []string{`{"query": "a`, `[1]`, `"text"`, `{} {}`} {
			p.fake.Script(modelfake.Use(modelfake.Call{ID: "c", Name: "search", Arguments: args}))
			got := p.collect(t.Context(), question("?"))
			if !errors.Is(got.err, model.ErrToolCall) || len(got.calls) != 0 ||
				len(got.usage) != 1 || got.usage[0].Estimated {
				t.Errorf("%s: %+v", args, got)
			}
		}
	})
}

func TestToolCallWithoutAnIDGetsOne(t *testing.T) {
	t.Parallel()
	p := newProvider(t, modelfake.OpenAI)
	reply := modelfake.Use(
		modelfake.Call{Name: "search", Arguments: `{"q":1}`}, modelfake.Call{Name: "search", Arguments: `{"q":2}`},
	)
	reply.NoIDs, reply.Finish = true, "stop"
	p.fake.Script(reply)
	got := p.collect(t.Context(), question("?"))
	if got.err != nil || len(got.calls) != 2 || got.calls[0].ID == "" || got.calls[0].ID == got.calls[1].ID ||
		got.done[0] != model.FinishTools {
		t.Errorf("got %+v", got)
	}
}

func TestBreakingOutOfTheIterationEndsTheStream(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		reply := modelfake.Say("one two three")
		reply.End = modelfake.Hangs
		p.fake.Script(reply)
		for e, err := range p.Stream(t.Context(), question("?")) {
			if err != nil || e != model.Text("one ") {
				t.Fatalf("%v, %v", e, err)
			}
			break
		}
	})
}

func TestModelThatIsNotAllowedIsRefused(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		if !slices.Equal(p.Models(), []string{"fake-1", "fake-2"}) {
			t.Errorf("models %v", p.Models())
		}
		r := question("?")
		r.Model = "fake-3"
		if got := p.collect(t.Context(), r); !errors.Is(got.err, model.ErrNotAllowed) || len(p.fake.Requests()) != 0 {
			t.Errorf("got %+v after %d requests", got, len(p.fake.Requests()))
		}
	})
}

func TestInvalidRequestIsNotSent(t *testing.T) {
	t.Parallel()
	type messages = []model.Message
	user := model.Message{Role: model.RoleUser, Text: "?"}
	assistant := model.Message{Role: model.RoleAssistant, Text: "x"}
	tool := model.Message{Role: model.RoleTool, CallID: "c"}
	calls := func(ids ...string) model.Message {
		m := model.Message{Role: model.RoleAssistant}
		for _, id := range ids {
			m.Calls = append(m.Calls, model.ToolCall{ID: id, Name: "search", Arguments: json.RawMessage(`{}`)})
		}
		return m
	}
	invalid := calls("c")
	invalid.Calls[0].Arguments = nil
	p := newProvider(t, modelfake.OpenAI)
	for name, r := range map[string]model.Request{
		"no messages":              {},
		"assistant first":          {Messages: messages{assistant, user}},
		"assistant last":           {Messages: messages{user, assistant}},
		"empty message":            {Messages: messages{{Role: model.RoleUser}}},
		"no role":                  {Messages: messages{user, {Text: "x"}, user}},
		"call without a result":    {Messages: messages{user, calls("c"), user}},
		"one result for two calls": {Messages: messages{user, calls("c", "d"), tool}},
		"result without a call":    {Messages: messages{user, tool}},
		"call without JSON":        {Messages: messages{user, invalid, tool}},
		"tool without a schema":    {Messages: messages{user}, Tools: []model.Tool{{Name: "x"}}},
		"schema that is not JSON":  {Messages: messages{user}, Schema: &model.Schema{Name: "x", JSON: json.RawMessage("{")}},
	} {
		if got := p.collect(t.Context(), r); got.err == nil || !strings.Contains(got.err.Error(), "invalid model request") {
			t.Errorf("%s: %v", name, got.err)
		}
	}
	if n := len(p.fake.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestFieldsThatAModelRefusesAreNotSentAgain(t *testing.T) {
	t.Parallel()
	bothFormats(t, func(t *testing.T, p *provider) {
		p.fake.Unsupported = []string{"temperature", "output_config", "response_format", "stream_options"}
		if p.fake.Format == modelfake.OpenAI {
			p.fake.Unsupported = append(p.fake.Unsupported, "max_tokens")
		}
		temperature := 0.0
		r := question("?")
		r.Temperature, r.Schema = &temperature, &model.Schema{Name: "x", JSON: json.RawMessage(`{"type":"object"}`)}
		for range 2 {
			p.fake.Script(modelfake.Say("Yes."))
			if got := p.collect(t.Context(), r); got.err != nil || got.text != "Yes." {
				t.Fatalf("got %+v", got)
			}
		}
		sent := p.fake.Requests()
		if len(sent) != 2 || sent[1].Temperature != nil || sent[1].Schema != nil ||
			sent[1].MaxTokens != model.DefaultMaxTokens || len(p.delays) != 0 {
			t.Errorf("sent %+v, delays %v", sent, p.delays)
		}
	})
}

func TestWithoutAModelStreamFails(t *testing.T) {
	t.Parallel()
	for _, api := range []model.API{"", model.None} {
		client, err := model.New(model.Options{API: api}, testkit.NewClock())
		if err != nil || len(client.Models()) != 0 {
			t.Fatalf("%v, %v", client, err)
		}
		p := &provider{Provider: client}
		if got := p.collect(t.Context(), question("?")); !errors.Is(got.err, model.ErrNoModel) {
			t.Errorf("got %+v", got)
		}
		client.Close()
	}
}

func TestInvalidOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []model.Options{
		{API: "x", Name: "m"}, {API: model.OpenAI}, {API: model.OpenAI, Name: "m", BaseURL: "localhost"},
	} {
		if _, err := model.New(o, testkit.NewClock()); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
