package modelfake_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"carrel/internal/testkit"
	"carrel/internal/testkit/modelfake"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// post sends a request to a fake and returns the status, the body and the error of an invalid request.
func post(t *testing.T, format modelfake.Format, path, body string, headers ...string) (status int, answer string,
	invalid error,
) {
	t.Helper()
	s := modelfake.Start(format, func(err error) { invalid = err })
	defer s.Close()
	s.Answer(func(modelfake.Request) modelfake.Reply { return modelfake.Say("fine, thanks") })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSuffix(s.URL(), "/v1")+path,
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if format == modelfake.OpenAI {
		req.Header.Set("Authorization", "Bearer "+s.Key)
	} else {
		req.Header.Set("X-Api-Key", s.Key)
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(bufio.NewReader(res.Body))
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b), invalid
}

func TestValidRequestGetsAStream(t *testing.T) {
	for format, tc := range map[modelfake.Format]struct{ path, body, last string }{
		modelfake.OpenAI: {"/v1/chat/completions", openAI(`{"role":"user","content":"hi"}`), "data: [DONE]\n\n"},
		modelfake.Anthropic: {
			"/v1/messages", anthropic(`{"role":"user","content":[{"type":"text","text":"hi"}]}`),
			"data: {\"type\":\"message_stop\"}\n\n",
		},
	} {
		status, answer, invalid := post(t, format, tc.path, tc.body)
		if status != 200 || invalid != nil || !strings.HasSuffix(answer, tc.last) || !strings.Contains(answer, `"fine, "`) {
			t.Errorf("%s: %d, %v\n%s", format, status, invalid, answer)
		}
	}
}

func openAI(messages string, more ...string) string {
	return `{"model":"fake-1","stream":true,"max_tokens":9,"messages":[` + messages + `]` + strings.Join(more, "") + `}`
}

func anthropic(messages string, more ...string) string {
	return openAI(messages, more...)
}

func TestInvalidRequestIsRefusedAndReported(t *testing.T) {
	const (
		completions, messages = "/v1/chat/completions", "/v1/messages"
		hi, block             = `{"role":"user","content":"hi"}`, `{"role":"user","content":[{"type":"text","text":"hi"}]}`
		call                  = `{"role":"assistant","tool_calls":[{"id":"a","type":"function",` +
			`"function":{"name":"f","arguments":"{}"}}]}`
		use = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
	)
	for name, tc := range map[string]struct {
		format     modelfake.Format
		path, body string
	}{
		"openai path":             {modelfake.OpenAI, "/v1/completions", openAI(hi)},
		"openai unknown field":    {modelfake.OpenAI, completions, openAI(hi, `,"seed":1`)},
		"openai field in message": {modelfake.OpenAI, completions, openAI(`{"role":"user","content":"hi","name":"x"}`)},
		"openai no stream": {
			modelfake.OpenAI, completions,
			`{"model":"fake-1","max_tokens":9,"messages":[` + hi + `]}`,
		},
		"openai two limits":      {modelfake.OpenAI, completions, openAI(hi, `,"max_completion_tokens":9`)},
		"openai role":            {modelfake.OpenAI, completions, openAI(`{"role":"developer","content":"hi"}`)},
		"openai late system":     {modelfake.OpenAI, completions, openAI(hi + `,{"role":"system","content":"x"}`)},
		"openai assistant first": {modelfake.OpenAI, completions, openAI(`{"role":"assistant","content":"x"},` + hi)},
		"openai assistant last":  {modelfake.OpenAI, completions, openAI(hi + `,{"role":"assistant","content":"x"}`)},
		"openai user twice":      {modelfake.OpenAI, completions, openAI(hi + `,` + hi)},
		"openai unanswered call": {modelfake.OpenAI, completions, openAI(hi + `,` + call + `,` + hi)},
		"openai call at the end": {modelfake.OpenAI, completions, openAI(hi + `,` + call)},
		"openai answer to nothing": {
			modelfake.OpenAI, completions,
			openAI(hi + `,{"role":"tool","tool_call_id":"b","content":"x"}`),
		},
		"openai tool of no schema": {modelfake.OpenAI, completions, openAI(hi,
			`,"tools":[{"type":"function","function":{"name":"f"}}]`)},
		"openai NUL":              {modelfake.OpenAI, completions, openAI(`{"role":"user","content":"\u0000"}`)},
		"openai no JSON":          {modelfake.OpenAI, completions, `{`},
		"anthropic path":          {modelfake.Anthropic, completions, anthropic(block)},
		"anthropic unknown field": {modelfake.Anthropic, messages, anthropic(block, `,"stream_options":{}`)},
		"anthropic temperature":   {modelfake.Anthropic, messages, anthropic(block, `,"temperature":1.5`)},
		"anthropic no limit": {
			modelfake.Anthropic, messages,
			`{"model":"fake-1","stream":true,"messages":[` + block + `]}`,
		},
		"anthropic user twice": {modelfake.Anthropic, messages, anthropic(block + `,` + block)},
		"anthropic empty text": {
			modelfake.Anthropic, messages,
			anthropic(`{"role":"user","content":[{"type":"text","text":""}]}`),
		},
		"anthropic image": {
			modelfake.Anthropic, messages,
			anthropic(`{"role":"user","content":[{"type":"image"}]}`),
		},
		"anthropic unanswered": {modelfake.Anthropic, messages, anthropic(block + `,` + use + `,` + block)},
		"anthropic late result": {
			modelfake.Anthropic, messages,
			anthropic(block + `,` + use +
				`,{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"a"}]}`),
		},
		"anthropic other result": {
			modelfake.Anthropic, messages,
			anthropic(block + `,` + use + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"b"}]}`),
		},
		"anthropic user's call": {
			modelfake.Anthropic, messages,
			anthropic(`{"role":"user","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`),
		},
	} {
		if status, answer, invalid := post(t, tc.format, tc.path, tc.body); status != 400 || invalid == nil {
			t.Errorf("%s: %d, %v\n%s", name, status, invalid, answer)
		}
	}
	if status, _, invalid := post(t, modelfake.Anthropic, messages, anthropic(block), "Anthropic-Version",
		"1"); status != 400 || invalid == nil {
		t.Errorf("another version: %d, %v", status, invalid)
	}
	if status, _, invalid := post(t, modelfake.Anthropic, messages, anthropic(block), "Authorization",
		"Bearer x"); status != 400 || invalid == nil {
		t.Errorf("a second key: %d, %v", status, invalid)
	}
}

func TestWrongKeyAndUnknownModelAreRefused(t *testing.T) {
	hi := openAI(`{"role":"user","content":"hi"}`)
	if status, _, invalid := post(t, modelfake.OpenAI, "/v1/chat/completions", hi, "Authorization",
		"Bearer x"); status != 401 || invalid != nil {
		t.Errorf("a wrong key: %d, %v", status, invalid)
	}
	if status, _, invalid := post(t, modelfake.OpenAI, "/v1/chat/completions", strings.Replace(hi, "fake-1", "fake-9",
		1)); status != 404 || invalid != nil {
		t.Errorf("an unknown model: %d, %v", status, invalid)
	}
}

func TestRequestWithoutAScriptedReplyIsInvalid(t *testing.T) {
	var invalid error
	s := modelfake.Start(modelfake.OpenAI, func(err error) { invalid = err })
	defer s.Close()
	s.Key = ""
	res, err := http.Post(s.URL()+"/chat/completions", "application/json",
		strings.NewReader(openAI(`{"role":"user","content":"hi"}`)))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got := s.Requests(); invalid == nil || len(got) != 1 || got[0].Last() != "hi" || got[0].MaxTokens != 9 {
		t.Errorf("%v, %+v", invalid, got)
	}
}
