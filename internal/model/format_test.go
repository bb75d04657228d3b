package model_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/testkit/modelfake"
)

// streamTest is the decoded answer of a stream in testdata/streams. The streams are written by hand after the
// documentation of the providers, not recorded; see testdata/README.md.
type streamTest struct {
	format modelfake.Format
	text   string
	calls  []string // name and arguments
	usage  model.Usage
	finish model.Finish
	err    error
}

func TestStreamsOfProvidersAreDecoded(t *testing.T) {
	t.Parallel()
	const openAI, anthropic = modelfake.OpenAI, modelfake.Anthropic
	for name, tc := range map[string]streamTest{
		"openai_text": {
			format: openAI, text: "The bridge opened in 1849.",
			usage: model.Usage{In: 1120, Out: 7, Cached: 1024}, finish: model.FinishStop,
		},
		"openai_tools": {
			format: openAI, calls: []string{`search{"query":"bridge"}`, `get_document{"id":7}`},
			usage: model.Usage{In: 1120, Out: 31, Cached: 1024}, finish: model.FinishTools,
		},
		"openai_refusal": {
			format: openAI, usage: model.Usage{In: 1120, Out: 7, Cached: 1024}, err: model.ErrRefused,
		},
		"azure_text": {
			format: openAI, text: "In 1849.", usage: model.Usage{In: 1120, Out: 7, Cached: 1024}, finish: model.FinishStop,
		},
		"ollama_text": {
			format: openAI, text: "In 1849.", usage: model.Usage{In: 26, Out: 9}, finish: model.FinishStop,
		},
		"ollama_tools": {
			format: openAI, calls: []string{`search{"query":"bridge"}`, `now{}`},
			usage: model.Usage{In: 26, Out: 9}, finish: model.FinishTools,
		},
		"ollama_error": {format: openAI, text: "In", err: model.ErrProvider},
		"llamacpp_text": {
			format: openAI, text: "In 1849.", usage: model.Usage{In: 17, Out: 28}, finish: model.FinishStop,
		},
		"llamacpp_tools": {
			format: openAI, calls: []string{`search{"query":"bridge"}`},
			usage: model.Usage{In: 90, Out: 12}, finish: model.FinishTools,
		},
		"llamacpp_error": {format: openAI, err: model.ErrTooLong},
		"vllm_text": {
			format: openAI, text: "In 1849.", usage: model.Usage{In: 16, Out: 8}, finish: model.FinishStop,
		},
		"vllm_tools": {
			format: openAI, calls: []string{`search{"query": "bridge"}`},
			usage: model.Usage{In: 160, Out: 21, Cached: 144}, finish: model.FinishTools,
		},
		"vllm_error": {format: openAI, err: model.ErrTooLong},
		"mistral_parts": {
			format: openAI, text: "In 1849.", usage: model.Usage{In: 12, Out: 8}, finish: model.FinishStop,
		},
		"anthropic_text": {
			format: anthropic, text: "The bridge opened in 1849.",
			usage: model.Usage{In: 1249, Out: 15, Cached: 1024}, finish: model.FinishStop,
		},
		"anthropic_tools": {
			format: anthropic, text: "I'll search.", calls: []string{`search{"query": "bridge"}`, `now{}`},
			usage: model.Usage{In: 1249, Out: 89, Cached: 1024}, finish: model.FinishTools,
		},
		"anthropic_thinking": {
			format: anthropic, text: "In 1849.", usage: model.Usage{In: 1249, Out: 40, Cached: 1024}, finish: model.FinishStop,
		},
		"anthropic_overloaded": {format: anthropic, err: model.ErrProvider},
		"anthropic_error":      {format: anthropic, text: "The", err: model.ErrProvider},
	} {
		stream, err := os.ReadFile(filepath.Join("testdata", "streams", name+".sse"))
		if err != nil {
			t.Fatal(err)
		}
		for ending, body := range map[string]string{
			"LF":         string(stream),
			"CRLF":       strings.ReplaceAll(string(stream), "\n", "\r\n"),
			"keep-alive": ": keep-alive\n\n" + strings.ReplaceAll(string(stream), "\n\n", "\n\n:\n\n"),
		} {
			t.Run(name+" "+ending, func(t *testing.T) {
				t.Parallel()
				tc.check(t, body)
			})
		}
	}
}

func (tc streamTest) check(t *testing.T, body string) {
	t.Helper()
	p := newProvider(t, tc.format)
	p.fake.Answer(func(modelfake.Request) modelfake.Reply {
		return modelfake.Reply{Body: body, ContentType: "text/event-stream"}
	})
	got := p.collect(t.Context(), question("When?"))
	var calls []string
	for _, call := range got.calls {
		calls = append(calls, call.Name+string(call.Arguments))
	}
	if got.text != tc.text || !slices.Equal(calls, tc.calls) ||
		!errors.Is(got.err, tc.err) || (tc.err == nil) != (got.err == nil) {
		t.Fatalf("got %+v", got)
	}
	if tc.finish != "" && !slices.Equal(got.done, []model.Finish{tc.finish}) {
		t.Errorf("finish %v, want %s", got.done, tc.finish)
	}
	if tc.usage != (model.Usage{}) && !slices.Equal(got.usage, []model.Usage{tc.usage}) {
		t.Errorf("usage %+v, want %+v", got.usage, tc.usage)
	}
	if tc.err != nil && core.AsError(got.err).Code != "model_failed" {
		t.Errorf("code of %v", got.err)
	}
}

// TestDeviatingOpenAIServersAreDecoded covers servers that deviate from OpenAI's format.
func TestDeviatingOpenAIServersAreDecoded(t *testing.T) {
	t.Parallel()
	const (
		finish = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
		yes    = `data: {"choices":[{"delta":{"content":"Yes"},"finish_reason":"stop"}]}`
	)
	calls := func(calls string) string {
		return `data: {"choices":[{"delta":{"tool_calls":[` + calls + `]}}]}` + "\n\n"
	}
	for name, tc := range map[string]struct {
		body string
		want streamTest
	}{
		"all calls have the index 0": {
			calls(`{"id":"a","index":0,"function":{"name":"f","arguments":"{\"n\":1}"}}`) +
				calls(`{"id":"b","index":0,"function":{"name":"f","arguments":"{\"n\":2}"}}`) + finish,
			streamTest{calls: []string{`f{"n":1}`, `f{"n":2}`}},
		},
		"calls have no ids or indexes": {
			calls(`{"function":{"name":"f","arguments":"{\"n\":1}"}},{"function":{"name":"g","arguments":"{}"}}`) + finish,
			streamTest{calls: []string{`f{"n":1}`, `g{}`}},
		},
		"arguments are an object": {
			calls(`{"id":"a","index":0,"function":{"name":"f","arguments":{"n":1}}}`) + finish,
			streamTest{calls: []string{`f{"n":1}`}},
		},
		"last line is not terminated":     {yes + "\n\ndata: [DONE]", streamTest{text: "Yes"}},
		"no [DONE]":                       {yes + "\n\n", streamTest{text: "Yes"}},
		"garbage after the finish reason": {yes + "\n\ndata: {what?}\n\n", streamTest{text: "Yes"}},
		"null error":                      {"data: {\"error\":null}\n\n" + yes + "\n\n", streamTest{text: "Yes"}},
		"fields of an unexpected type": {
			`data: {"choices":null,"usage":{"prompt_tokens":"many"},"created":1.5}` + "\n\n" + yes + "\n\n",
			streamTest{text: "Yes"},
		},
		"second choice": {
			`data: {"choices":[{"index":1,"delta":{"content":"No"}}]}` + "\n\n" + yes + "\n\n", streamTest{text: "Yes"},
		},
		"null content": {
			`data: {"choices":[{"delta":{"reasoning_content":"Hm.","content":null}}]}` + "\n\n" + yes + "\n\n",
			streamTest{text: "Yes"},
		},
		"error with a number": {`data: {"error":{"code":402,"message":"Pay"}}` + "\n\n", streamTest{err: model.ErrCredit}},
		"error that is a text": {
			`data: {"error":"model runner has stopped"}` + "\n\n", streamTest{err: model.ErrProvider},
		},
		"error as the finish reason": {
			`data: {"choices":[{"delta":{"content":"Ye"},"finish_reason":"error"}]}` + "\n\n",
			streamTest{text: "Ye", err: model.ErrProvider},
		},
		"error after the finish reason": {
			yes + "\n\n" + `data: {"error":{"code":402,"message":"Pay"}}` + "\n\n",
			streamTest{text: "Yes", err: model.ErrCredit},
		},
		"refusal": {
			`data: {"choices":[{"delta":{"refusal":"No."},"finish_reason":"stop"}]}` + "\n\n",
			streamTest{err: model.ErrRefused},
		},
		"number":          {"data: 5\n\n", streamTest{err: model.ErrReply}},
		"string":          {"data: \"Yes\"\n\n", streamTest{err: model.ErrReply}},
		"not JSON":        {"data: {what?}\n\n", streamTest{err: model.ErrReply}},
		"nothing but end": {"data: [DONE]\n\n", streamTest{err: model.ErrTruncated}},
		"empty":           {"\n", streamTest{err: model.ErrTruncated}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.want.format = modelfake.OpenAI
			tc.want.check(t, tc.body)
		})
	}
}

func TestAnthropicEventsWithoutNamesAreDecoded(t *testing.T) {
	t.Parallel()
	body := `data: {"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"In"}}` + "\n\n" +
		"event: ping\ndata:\n\n" +
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" 1849."}}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":4}}` + "\n\n" +
		`data: {"type":"message_stop"}` + "\n\n"
	streamTest{
		format: modelfake.Anthropic, text: "In 1849.", usage: model.Usage{In: 3, Out: 4}, finish: model.FinishLength,
	}.check(t, body)
}

func TestReasoningCountsAsOutput(t *testing.T) {
	t.Parallel()
	thought := strings.Repeat("thinking about it ", 20)
	for format, body := range map[modelfake.Format]string{
		modelfake.OpenAI: `data: {"choices":[{"delta":{"reasoning":"` + thought + `"}}]}` + "\n\n" +
			`data: {"choices":[{"delta":{"content":"Yes"},"finish_reason":"stop"}]}` + "\n\n",
		modelfake.Anthropic: `data: {"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"` +
			thought + `"}}` + "\n\n" +
			`data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"Yes"}}` + "\n\n" +
			`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" +
			`data: {"type":"message_stop"}` + "\n\n",
	} {
		p := newProvider(t, format)
		p.fake.Script(modelfake.Reply{Body: body, ContentType: "text/event-stream"})
		got := p.collect(t.Context(), question("?"))
		want := model.Estimate(question("?"), thought+"Yes")
		if got.err != nil || len(got.usage) != 1 || got.usage[0] != want {
			t.Errorf("%s: got %+v, want usage %+v", format, got, want)
		}
	}
}

func TestErrorResponsesThatAreNotJSONAreClassified(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{
		400: model.ErrRequest, 401: model.ErrKey, 404: model.ErrUnknownModel, 429: model.ErrRateLimited,
		502: model.ErrProvider, 504: model.ErrProvider, 413: model.ErrTooLong,
	} {
		for _, body := range []string{
			"", "<html><body>Bad gateway</body></html>", "upstream error", "{", "null", "[]", `{"error":[]}`,
		} {
			if err := model.Classify(status, body); !errors.Is(err, want) {
				t.Errorf("%d %q: %v, want %v", status, body, err, want)
			}
		}
	}
}
