package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/httpapi"
)

// Invoke and REST must give the same reply, byte for byte, and refuse the same requests with the same error.
func TestInvokeRepliesAsRESTDoes(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{{"RepliesAndErrors", invokeAndREST}})
}

func invokeAndREST(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	stranger := w.user(t, core.PlanOpen)
	thread := p.newThread("T")
	who, err := w.credentials.Authenticate(t.Context(), p.token)
	if err != nil {
		t.Fatal(err)
	}
	memory := p.post(p.at("/memories"), object{"text": "A fact."}).ok(t).str("memory", "id")
	for _, c := range []struct {
		op   core.Operation
		args object
	}{
		{core.OpListAgents, object{}},
		{core.OpListAgents, object{"limit": 1, "cursor": nil}},
		{core.OpListAgents, object{"limit": "2"}},
		{core.OpListAgents, object{"limit": 0}},
		{core.OpListAgents, object{"limit": 201}},
		{core.OpListAgents, object{"limit": true}},
		{core.OpListAgents, object{"limit": json.RawMessage("10.5")}},
		{core.OpListAgents, object{"cursor": "xyzzy"}},
		{core.OpGetAgent, object{"agentId": p.agent}},
		{core.OpGetAgent, object{"agentId": "a b%"}},
		{core.OpGetAgent, object{"agentId": stranger.agent}},
		{core.OpChangeAgent, object{"agentId": p.agent, "name": "Other"}},
		{core.OpChangeAgent, object{"agentId": p.agent, "name": 7}},
		{core.OpChangeAgent, object{"agentId": stranger.agent, "name": 7}},
		{core.OpListMemories, object{"agentId": p.agent, "status": "active"}},
		{core.OpListMemories, object{"agentId": p.agent, "status": "xyzzy"}},
		{core.OpChangeMemory, object{"agentId": p.agent, "memoryId": memory, "text": "Another fact."}},
		{core.OpChangeMemory, object{"agentId": p.agent, "memoryId": memory, "text": "\x00"}},
		{core.OpAddMemory, object{"agentId": p.agent}},
		{core.OpAddMemory, object{"agentId": p.agent, "text": nil}},
		{core.OpAddMemory, object{"agentId": p.agent, "text": ""}},
		{core.OpGetThread, object{"agentId": p.agent, "threadId": thread}},
		{core.OpListMessages, object{"agentId": p.agent, "threadId": thread, "limit": 1}},
		{core.OpGetDocument, object{"agentId": p.agent, "documentId": "xyzzy"}},
		{core.OpExportThread, object{"agentId": p.agent, "threadId": thread, "format": "markdown"}},
		{core.OpExportThread, object{"agentId": p.agent, "threadId": thread}},
		{core.OpExportThread, object{"agentId": stranger.agent, "threadId": thread}},
		{core.OpExportFavourites, object{"agentId": p.agent, "format": "bibtex"}},
		{core.OpExportFavourites, object{"agentId": p.agent, "format": "xyzzy"}},
		{core.OpExportFavourites, object{"agentId": p.agent}},
		{core.OpDeleteSource, object{"agentId": p.agent, "sourceId": "xyzzy", "successor": ""}},
		{core.OpDeleteFavourite, object{"agentId": p.agent, "cardId": "export"}},
	} {
		args := httpapi.Arguments{}
		for name, value := range c.args {
			args[name] = json.RawMessage(encode(t, value))
			if s, ok := value.(string); ok {
				args[name] = json.RawMessage(`"` + strings.ReplaceAll(s, "\x00", `\u0000`) + `"`)
			}
		}
		want := p.rest(c.op, c.args)
		got, err := w.api.Invoke(t.Context(), who, c.op, args)
		if err != nil {
			e := core.AsError(err)
			fields := object{}
			for _, f := range e.Fields {
				fields[f.Pointer] = f.Detail
			}
			if want.status < 400 || want.str("code") != e.Code || want.str("detail") != e.Detail ||
				len(fields) != len(want.list("errors", "pointer")) {
				t.Errorf("%s %v: %s %s %v, REST says %d %s", c.op, c.args, e.Code, e.Detail, fields, want.status, want.body)
			}
			continue
		}
		var body []byte
		if f, ok := got.(*httpapi.File); ok {
			body = f.Content
		} else if body, err = httpapi.EncodeReply(got); err != nil {
			t.Errorf("%s: %v", c.op, err)
		}
		if want.status != http.StatusOK || string(body) != string(want.body) {
			t.Errorf("%s %v: %s, REST says %d %s", c.op, c.args, body, want.status, want.body)
		}
	}
}

// rest sends a request for an operation, with the arguments in its path, query and body.
func (p *testUser) rest(op core.Operation, args object) answer {
	traits, _ := op.Traits()
	path, query, body := traits.Path, url.Values{}, object{}
	for name, value := range args {
		text, isText := value.(string)
		if !isText {
			text = encode(p.t, value)
		}
		switch {
		case strings.Contains(path, "{"+name+"}"):
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(text))
		case traits.Body != core.BodyNone:
			body[name] = value
		case value != nil:
			query.Set(name, text)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if traits.Body == core.BodyNone {
		return p.send(traits.Method, path, "")
	}
	return p.send(traits.Method, path, encode(p.t, body))
}

func TestInvokeNeedsTheParametersOfThePath(t *testing.T) {
	t.Parallel()
	var a httpapi.API
	for _, args := range []httpapi.Arguments{
		nil, {}, {"agentId": json.RawMessage("7")}, {"agentId": json.RawMessage(`""`)}, {"agentId": json.RawMessage("null")},
	} {
		_, err := a.Invoke(t.Context(), core.Actor{}, core.OpListMemories, args)
		if e := core.AsError(err); e.Code != "invalid_request" || len(e.Fields) != 1 || e.Fields[0].Pointer != "/agentId" {
			t.Errorf("%s: %+v", args, e)
		}
	}
	if _, err := httpapi.ParseArguments(json.RawMessage("[1]")); core.AsError(err).Code != "invalid_request" {
		t.Errorf("a list of arguments: %v", err)
	}
	if _, err := a.Invoke(t.Context(), core.Actor{}, core.OpCreateKey, nil); !core.IsKind(err, core.KindInternal) {
		t.Errorf("an operation that is not a tool: %v", err)
	}
}
