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

const (
	hi, block = `{"role":"user","content":"hi"}`, `{"role":"user","content":[{"type":"text","text":"hi"}]}`
	// call and result are a tool call of OpenAI with its result, use and used those of Anthropic.
	call   = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	result = `{"role":"tool","tool_call_id":"a","content":"x"}`
	use    = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
	used   = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}`
)

func TestInvalidOpenAIRequestIsRefusedAndReported(t *testing.T) {
	const tool = `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`
	with := func(messages ...string) string { return openAI(strings.Join(messages, ",")) }
	but := func(text, old, replacement string) string { return strings.Replace(text, old, replacement, 1) }
	for name, body := range map[string]string{
		"not JSON":                     `{`,
		"unknown field":                openAI(hi, `,"seed":1`),
		"capital letter":               openAI(hi, `,"Temperature":1`),
		"no stream":                    but(openAI(hi), `"stream":true,`, ``),
		"usage not requested":          openAI(hi, `,"stream_options":{"include_usage":false}`),
		"two limits":                   openAI(hi, `,"max_completion_tokens":9`),
		"no limit":                     but(openAI(hi), `"max_tokens":9,`, ``),
		"temperature":                  openAI(hi, `,"temperature":2.5`),
		"tool without a schema":        openAI(hi, but(tool, `,"parameters":{"type":"object"}`, ``)),
		"tool of another type":         openAI(hi, but(tool, `"function"`, `"retrieval"`)),
		"tool with an invalid name":    openAI(hi, but(tool, `"f"`, `"f f"`)),
		"response format":              openAI(hi, `,"response_format":{"type":"json_object"}`),
		"response format without name": openAI(hi, `,"response_format":{"type":"json_schema","json_schema":{"schema":{}}}`),
		"field in a message":           with(but(hi, `}`, `,"name":"x"}`)),
		"capital letter in a message":  with(but(hi, `content`, `Content`)),
		"NUL":                          with(but(hi, `hi`, `\u0000`)),
		"role":                         with(but(hi, `user`, `developer`)),
		"late system message":          with(hi, `{"role":"system","content":"x"}`),
		"empty system message":         with(`{"role":"system","content":""}`, hi),
		"no messages":                  with(),
		"no content":                   with(`{"role":"user"}`),
		"empty content":                with(`{"role":"user","content":""}`),
		"assistant first":              with(`{"role":"assistant","content":"x"}`, hi),
		"assistant last":               with(hi, `{"role":"assistant","content":"x"}`),
		"empty assistant":              with(hi, `{"role":"assistant"}`, hi),
		"user twice":                   with(hi, hi),
		"call without a result":        with(hi, call, hi),
		"call at the end":              with(hi, call),
		"result of no call":            with(hi, but(result, `"a"`, `"b"`)),
		"two results of a call":        with(hi, call, result, result),
		"call id of the user":          with(but(hi, `}`, `,"tool_call_id":"a"}`)),
		"call of the user":             with(but(call, `assistant`, `user`)),
		"call without an id":           with(hi, but(call, `"id":"a"`, `"id":""`), result),
		"call of another type":         with(hi, but(call, `"function"`, `"custom"`), result),
		"arguments that are not JSON":  with(hi, but(call, `{}`, `{`), result),
	} {
		status, answer, invalid := post(t, modelfake.OpenAI, "/v1/chat/completions", body)
		if status != 400 || invalid == nil {
			t.Errorf("%s: %d, %v\n%s\n%s", name, status, invalid, body, answer)
		}
	}
	for name, body := range map[string]string{"tool": openAI(hi, tool), "call": with(hi, call, result)} {
		if status, _, invalid := post(t, modelfake.OpenAI, "/v1/chat/completions", body); status != 200 || invalid != nil {
			t.Errorf("valid %s: %d, %v", name, status, invalid)
		}
	}
	if status, _, invalid := post(t, modelfake.OpenAI, "/v1/completions", openAI(hi)); status != 400 || invalid == nil {
		t.Errorf("another path: %d, %v", status, invalid)
	}
}

func TestInvalidAnthropicRequestIsRefusedAndReported(t *testing.T) {
	const messages = "/v1/messages"
	with := func(messages ...string) string { return anthropic(strings.Join(messages, ",")) }
	but := func(text, old, replacement string) string { return strings.Replace(text, old, replacement, 1) }
	for name, body := range map[string]string{
		"unknown field":            anthropic(block, `,"stream_options":{}`),
		"temperature":              anthropic(block, `,"temperature":1.5`),
		"no stream":                but(anthropic(block), `"stream":true,`, ``),
		"no limit":                 but(anthropic(block), `"max_tokens":9,`, ``),
		"empty system message":     anthropic(block, `,"system":[{"type":"text","text":""}]`),
		"tool without a schema":    anthropic(block, `,"tools":[{"name":"f"}]`),
		"output format":            anthropic(block, `,"output_config":{"format":{"type":"text"}}`),
		"no content":               with(`{"role":"user","content":[]}`),
		"content of OpenAI":        with(hi),
		"empty text":               with(but(block, `"hi"`, `""`)),
		"field in a block":         with(but(block, `"hi"`, `"hi","id":"x"`)),
		"image":                    with(`{"role":"user","content":[{"type":"image"}]}`),
		"user twice":               with(block, block),
		"call without a result":    with(block, use, block),
		"call of the user":         with(but(use, `assistant`, `user`)),
		"capital letter in a call": with(block, but(use, `"id"`, `"ID"`), used),
		"text after a call":        with(block, but(use, `}]}`, `},{"type":"text","text":"x"}]}`), used),
		"result of no call":        with(block, use, but(used, `"a"`, `"b"`)),
		"result after a text":      with(block, use, but(used, `[`, `[{"type":"text","text":"x"},`)),
		"empty block in a result":  with(block, use, but(used, `"a"`, `"a","content":[{"type":"text","text":""}]`)),
	} {
		status, answer, invalid := post(t, modelfake.Anthropic, messages, body)
		if status != 400 || invalid == nil {
			t.Errorf("%s: %d, %v\n%s\n%s", name, status, invalid, body, answer)
		}
	}
	status, _, invalid := post(t, modelfake.Anthropic, messages, with(block, use, used))
	if status != 200 || invalid != nil {
		t.Errorf("valid call: %d, %v", status, invalid)
	}
	for name, header := range map[string][]string{
		"another version": {"Anthropic-Version", "1"}, "a second key": {"Authorization", "Bearer x"},
		"another type": {"Content-Type", "text/plain"},
	} {
		status, _, invalid := post(t, modelfake.Anthropic, messages, anthropic(block), header...)
		if status != 400 || invalid == nil {
			t.Errorf("%s: %d, %v", name, status, invalid)
		}
	}
	status, _, invalid = post(t, modelfake.Anthropic, "/v1/chat/completions", anthropic(block))
	if status != 400 || invalid == nil {
		t.Errorf("another path: %d, %v", status, invalid)
	}
}

func TestWrongKeyAndUnknownModelAreRefused(t *testing.T) {
	valid := openAI(hi)
	if status, _, invalid := post(t, modelfake.OpenAI, "/v1/chat/completions", valid, "Authorization",
		"Bearer x"); status != 401 || invalid != nil {
		t.Errorf("a wrong key: %d, %v", status, invalid)
	}
	if status, _, invalid := post(t, modelfake.OpenAI, "/v1/chat/completions", strings.Replace(valid, "fake-1", "fake-9",
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
