package client_test

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"carrel/client"
)

func TestAnInterruptedStreamContinuesAfterItsLastEvent(t *testing.T) {
	t.Parallel()
	pieces := map[string]string{
		"": ": comment\n\nevent: queued\ndata: {\"position\":2}\n\n" +
			"id: 1.1\nevent: step\ndata: {\"n\":1,\"kind\":\"search\",\"label\":\"Searching\",\"state\":\"started\"}\n\n" +
			"id: 1.2\nevent: delta\ndata: {\"text\":\"Hello \"}\n\nid: 1.3\nevent: delta\ndata: {\"te", // cut off
		"1.2": "id: 1.3\nevent: delta\ndata: {\"text\":\"wrld\"}\n\n" +
			"id: 1.4\nevent: restarted\ndata: {\"discardAfter\":\"1.2\"}\n\n",
		"1.4": "id: 1.5\nevent: delta\ndata: {\"text\":\"world\"}\n\n" +
			"id: 1.6\nevent: done\ndata: {\"status\":\"complete\",\"messageId\":\"msg_1\"}\n\n",
	}
	f := newFake(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 2 {
			problem(w, http.StatusServiceUnavailable, "unavailable") // the node restarts
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, pieces[r.Header.Get("Last-Event-ID")])
	})
	var state client.TurnState
	var kinds []string
	var done client.Event
	for event, err := range f.client(t, nil).StreamTurn(t.Context(), "agt_1", "thr_1", "") {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, event.Kind)
		if discarded := state.Apply(event); discarded != (event.Kind == client.EventRestarted) {
			t.Errorf("%+v discards: %v", event, discarded)
		}
		done = event
	}
	if state.Text() != "Hello world" || done.MessageID != "msg_1" || len(kinds) != 7 || len(f.sent()) != 4 {
		t.Errorf("%q, %+v, %v after %d requests", state.Text(), done, kinds, len(f.sent()))
	}
	if f.sent()[0].FormValue("until") != "done" {
		t.Error("the stream has no end")
	}
}

func TestAStreamThatNeverContinuesEndsWithAnError(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(int, http.ResponseWriter, *http.Request) {})
	var last error
	for _, err := range f.client(t, nil).StreamTurn(t.Context(), "agt_1", "thr_1", "") {
		last = err
	}
	if !errors.Is(last, io.ErrUnexpectedEOF) || len(f.sent()) != 4 {
		t.Errorf("%v after %d requests", last, len(f.sent()))
	}
	refusing := newFake(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		problem(w, http.StatusNotFound, "not_found")
	})
	for _, err := range refusing.client(t, nil).StreamTurn(t.Context(), "agt_1", "thr_1", "") {
		last = err
	}
	if e, ok := errors.AsType[*client.Error](last); !ok || e.Code != client.CodeNotFound || len(refusing.sent()) != 1 {
		t.Errorf("%v after %d requests", last, len(refusing.sent()))
	}
}

func TestATurnIsPolledUntilItHasAReply(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(n int, w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Prefer") != "wait=30":
			problem(w, http.StatusBadRequest, "invalid_request")
		case n == 1:
			w.Header().Set("ETag", `"1"`)
			_, _ = io.WriteString(w, `{"status":"working","messages":[{"role":"user","turnId":"trn_1"}]}`)
		case n == 2 && r.Header.Get("If-None-Match") == `"1"`:
			w.Header().Set("ETag", `"1"`)
			w.WriteHeader(http.StatusNotModified)
		default:
			_, _ = io.WriteString(w, `{"status":"complete","messages":[{"role":"user","turnId":"trn_1"},`+
				`{"id":"msg_2","role":"assistant","turnId":"trn_1","status":"failed"}]}`)
		}
	})
	message, err := f.client(t, nil).AwaitTurn(t.Context(), "agt_1", "thr_1", "trn_1")
	if err != nil || message.ID != "msg_2" || message.Status != "failed" || len(f.sent()) != 3 {
		t.Errorf("%+v, %v after %d requests", message, err, len(f.sent()))
	}
	_, err = f.client(t, nil).AwaitTurn(t.Context(), "agt_1", "thr_1", "trn_other")
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != client.CodeNotFound {
		t.Errorf("a turn of another thread: %v", err)
	}
}

func FuzzStream(f *testing.F) {
	f.Add("id: 1.1\nevent: delta\ndata: {}\n\n")
	f.Add("data: a\ndata: b\r\n\r\n:\n")
	f.Fuzz(func(_ *testing.T, text string) {
		_ = client.ReadEvents(stringReader(text), func(e client.ServerEvent) bool {
			var s client.TurnState
			s.Apply(client.Event{ID: e.ID, Kind: e.Kind, Text: e.Data, DiscardAfter: e.ID})
			return true
		})
	})
}
