package modelfake_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"carrel/internal/testkit/modelfake"
)

var formats = []modelfake.Format{modelfake.OpenAI, modelfake.Anthropic}

// receive sends a valid request to a fake with one scripted reply. It returns the body and the error of reading it.
func receive(t *testing.T, format modelfake.Format, reply modelfake.Reply) (string, error) {
	t.Helper()
	s := modelfake.New(t, format)
	s.Script(reply)
	path, body := "/chat/completions", openAI(hi)
	if format == modelfake.Anthropic {
		path, body = "/v1/messages", anthropic(block)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	if format == modelfake.OpenAI {
		req.Header.Set("Authorization", "Bearer "+s.Key)
	} else {
		req.Header.Set("X-Api-Key", s.Key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	return string(got), err
}

// data returns the events of a stream that are JSON.
func data(t *testing.T, stream string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(stream) {
		if event, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && event != "[DONE]" {
			if !json.Valid([]byte(event)) {
				t.Errorf("invalid event %s", event)
			}
			out = append(out, event)
		}
	}
	return out
}

// A stream that ends in the wrong way must look like it to the client: tests of the model client rely on it.
func TestEndOfAStreamIsTheScriptedOne(t *testing.T) {
	reasons := map[modelfake.Format]string{modelfake.OpenAI: `"finish_reason":"stop"`, modelfake.Anthropic: `"end_turn"`}
	finals := map[modelfake.Format]string{modelfake.OpenAI: "data: [DONE]", modelfake.Anthropic: "message_stop"}
	for name, tc := range map[string]struct {
		end                   modelfake.End
		reason, final, broken bool
	}{
		"whole":        {modelfake.Whole, true, true, false},
		"cut":          {modelfake.Cut, false, false, false},
		"unterminated": {modelfake.Unterminated, true, false, false},
		"no reason":    {modelfake.NoReason, false, true, false},
		"broken":       {modelfake.Broken, false, false, true},
		"broken late":  {modelfake.BrokenLate, true, false, true},
	} {
		for _, format := range formats {
			reply := modelfake.Say("fine, thanks")
			reply.End = tc.end
			got, err := receive(t, format, reply)
			if reason := strings.Contains(got, reasons[format]); reason != tc.reason {
				t.Errorf("%s, %s: finish reason %v\n%s", format, name, reason, got)
			}
			if final := strings.Contains(got, finals[format]); final != tc.final {
				t.Errorf("%s, %s: final event %v\n%s", format, name, final, got)
			}
			if broken := errors.Is(err, io.ErrUnexpectedEOF); broken != tc.broken {
				t.Errorf("%s, %s: %v", format, name, err)
			}
			if !strings.Contains(got, `"thanks"`) {
				t.Errorf("%s, %s: the text is missing\n%s", format, name, got)
			}
		}
	}
	for _, format := range formats {
		if _, err := receive(t, format, modelfake.Reply{End: modelfake.Reset}); err == nil {
			t.Errorf("%s: a connection that is reset ends without an error", format)
		}
		got, err := receive(t, format, modelfake.Reply{End: modelfake.Garbage})
		if err != nil || !strings.Contains(got, "{what?}") {
			t.Errorf("%s: garbage is %q, %v", format, got, err)
		}
		got, err = receive(t, format, modelfake.Reply{End: modelfake.Fails, Code: "overloaded_error", Message: "busy"})
		if err != nil || !strings.Contains(got, `"type":"overloaded_error"`) || strings.Contains(got, finals[format]) {
			t.Errorf("%s: an error event is %q, %v", format, got, err)
		}
	}
}

func TestToolCallsAreSentInPieces(t *testing.T) {
	const arguments = `{"query":"Brücke \"1849\""}`
	reply := modelfake.Use(modelfake.Call{ID: "a", Name: "search", Arguments: arguments})
	for _, format := range formats {
		got, err := receive(t, format, reply)
		if err != nil {
			t.Fatal(err)
		}
		var joined strings.Builder
		pieces := 0
		for _, event := range data(t, got) {
			var openAI struct {
				Choices []struct {
					Delta struct {
						Calls []struct {
							Function struct{ Arguments string }
						} `json:"tool_calls"`
					}
				}
			}
			var anthropic struct {
				Delta struct {
					Partial string `json:"partial_json"`
				}
			}
			// Each is empty for the events of the other format.
			err := errors.Join(json.Unmarshal([]byte(event), &openAI), json.Unmarshal([]byte(event), &anthropic))
			if err != nil {
				t.Fatal(err)
			}
			for _, choice := range openAI.Choices {
				for _, call := range choice.Delta.Calls {
					joined.WriteString(call.Function.Arguments)
					pieces++
				}
			}
			joined.WriteString(anthropic.Delta.Partial)
			if anthropic.Delta.Partial != "" {
				pieces++
			}
		}
		if pieces < 5 || !strings.Contains(got, `"name":"search"`) || !strings.Contains(got, `"id":"a"`) {
			t.Errorf("%s: %d pieces\n%s", format, pieces, got)
		}
		// Pieces end within characters, which decoders replace.
		if plain := strings.ReplaceAll(joined.String(), "\ufffd", ""); !strings.HasPrefix(plain, `{"query":"Br`) ||
			!strings.HasSuffix(plain, `cke \"1849\""}`) {
			t.Errorf("%s: joined to %s", format, joined.String())
		}
	}
	reply.NoIDs = true
	if got, err := receive(t, modelfake.OpenAI, reply); err != nil || strings.Contains(got, `"id":"a"`) {
		t.Errorf("without ids: %s, %v", got, err)
	}
}

func TestUsageIsSentUnlessItIsOmitted(t *testing.T) {
	for _, format := range formats {
		reply := modelfake.Say("fine")
		reply.In, reply.Out, reply.Cached = 120, 7, 100
		got, err := receive(t, format, reply)
		want := []string{`"prompt_tokens":120`, `"completion_tokens":7`, `"cached_tokens":100`}
		if format == modelfake.Anthropic { // input tokens do not include the cached ones
			want = []string{`"input_tokens":20`, `"output_tokens":7`, `"cache_read_input_tokens":100`}
		}
		for _, part := range want {
			if err != nil || !strings.Contains(got, part) {
				t.Errorf("%s: %s is missing, %v\n%s", format, part, err, got)
			}
		}
		reply.NoUsage = true
		if got, err := receive(t, format, reply); err != nil || strings.Contains(got, "_tokens") {
			t.Errorf("%s: without usage: %v\n%s", format, err, got)
		}
	}
}

func TestFillersDoNotChangeTheText(t *testing.T) {
	for _, format := range formats {
		plain, err := receive(t, format, modelfake.Say("fine, thanks a lot"))
		if err != nil {
			t.Fatal(err)
		}
		reply := modelfake.Say("fine, thanks a lot")
		reply.KeepAlive, reply.EmptyChoices = true, true
		padded, err := receive(t, format, reply)
		if err != nil || !strings.Contains(padded, "\n: ") && !strings.HasPrefix(padded, ": ") {
			t.Errorf("%s: no comment, %v\n%s", format, err, padded)
		}
		filler := func(event string) bool {
			return strings.Contains(event, `"ping"`) || strings.Contains(event, `"text":""}`) &&
				strings.Contains(event, "text_delta") || strings.Contains(event, `"choices":[]}`)
		}
		got, want := data(t, padded), data(t, plain)
		if len(got) <= len(want) {
			t.Errorf("%s: %d events, %d without fillers", format, len(got), len(want))
		}
		if got = slices.DeleteFunc(got, filler); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", format, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestErrorRepliesHaveTheShapeOfTheFormat(t *testing.T) {
	for _, format := range formats {
		got, err := receive(t, format, modelfake.Refuse(http.StatusTooManyRequests, "7"))
		var body struct {
			Type  string
			Error struct {
				Message, Type string
				Code          *string
			}
		}
		err = errors.Join(err, json.Unmarshal([]byte(got), &body))
		if err != nil || body.Error.Message != "scripted" || (body.Type == "error") != (format == modelfake.Anthropic) ||
			(body.Error.Code != nil) != (format == modelfake.OpenAI) {
			t.Errorf("%s: %s, %v", format, got, err)
		}
	}
}

func TestUnsupportedFieldIsRefusedWithoutFailingTheTest(t *testing.T) {
	s := modelfake.New(t, modelfake.OpenAI)
	s.Key, s.Unsupported = "", []string{"temperature"}
	s.Script(modelfake.Say("fine"))
	for body, status := range map[string]int{openAI(hi, `,"temperature":1`): 400, openAI(hi): 200} {
		res, err := http.Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("%s: %d, want %d", body, res.StatusCode, status)
		}
	}
	if len(s.Requests()) != 1 {
		t.Errorf("%d requests are recorded, want the valid one", len(s.Requests()))
	}
}
