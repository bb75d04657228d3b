package thread_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// version sends a version of a message and returns its turn.
func (w *testService) version(t *testing.T, threadID, of, text string) thread.Turn {
	t.Helper()
	turn, err := w.Send(t.Context(), w.Ada, w.Agent, threadID, thread.NewMessage{Text: text, VersionOf: of}, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func (w *testService) read(t *testing.T, threadID string) []thread.Message {
	t.Helper()
	read, err := w.Messages(t.Context(), w.Ada, w.Agent, threadID, core.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return read.Messages
}

func TestVersionOfAReplyReplacesItsQuestion(t *testing.T) {
	t.Parallel()
	w := newService(t)
	made := w.start(t, "")
	w.say(t, made.ID, "first")
	reply := w.say(t, made.ID, "second").Reply
	w.version(t, made.ID, reply.ID, "second, edited")
	messages := w.read(t, made.ID)
	if len(messages) != 4 || messages[2].Text != "second, edited" || messages[3].Text != "You wrote: second, edited" {
		t.Fatalf("read %+v", messages)
	}
	old := messages[2].Versions.Previous
	selected, err := w.SelectVersion(t.Context(), w.Ada, w.Agent, made.ID, old)
	if err != nil || selected.Text != "second" || selected.Versions.Next != messages[2].ID || selected.Parent != nil {
		t.Errorf("selected %+v, %v", selected, err)
	}
	if messages := w.read(t, made.ID); messages[3].ID != reply.ID {
		t.Errorf("read %+v", messages)
	}
}

func TestVersionOfAnUnknownMessageIsInvalid(t *testing.T) {
	t.Parallel()
	w := newService(t)
	made, other := w.start(t, ""), w.start(t, "")
	foreign := w.say(t, other.ID, "elsewhere").Reply.ID
	for _, id := range []string{"nonsense", core.NewID(core.PrefixMessage), foreign} {
		_, err := w.Send(t.Context(), w.Ada, w.Agent, made.ID, thread.NewMessage{Text: "x", VersionOf: id}, t.Context())
		if e := core.AsError(err); e == nil || e.Code != "invalid_request" || e.Fields[0].Pointer != "/versionOf" {
			t.Errorf("version of %s: %v", id, err)
		}
		if _, err := w.SelectVersion(t.Context(), w.Ada, w.Agent, made.ID, id); !core.IsKind(err, core.KindNotFound) {
			t.Errorf("selected %s: %v", id, err)
		}
	}
	_, err := w.Send(t.Context(), w.Bob, w.Agent, other.ID, thread.NewMessage{Text: "x", VersionOf: foreign}, t.Context())
	if !core.IsKind(err, core.KindNotFound) {
		t.Errorf("a version of another user's message: %v", err)
	}
}

// A server that stops during a version resumes it, and the branch stays the same.
func TestVersionResumesAfterARestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "carrel.db")
	began := make(chan struct{})
	w := newServiceAt(t, path, answers(func(ctx context.Context, _ *task.Run, q thread.Question) (string, error) {
		if q.Text == "slow" {
			close(began)
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "first", nil
	}))
	made := w.start(t, "")
	first := w.say(t, made.ID, "quick").Reply
	turn, err := w.Send(t.Context(), w.Ada, w.Agent, made.ID, thread.NewMessage{Text: "slow", VersionOf: first.ID}, over())
	if err != nil || !turn.Working {
		t.Fatalf("sent %+v, %v", turn, err)
	}
	<-began
	w.stop()
	again := newServiceAt(t, path, answers(func(context.Context, *task.Run, thread.Question) (string, error) {
		return "resumed", nil
	}))
	again.Ada, again.Agent = w.Ada, w.Agent
	again.Clock.Advance(time.Second) // past the time of the first service's clock
	joined, err := again.Send(t.Context(), w.Ada, w.Agent, made.ID,
		thread.NewMessage{Text: "slow", VersionOf: first.ID}, t.Context())
	if err != nil || joined.ID != turn.ID {
		t.Fatalf("joined %+v, %v", joined, err)
	}
	messages := again.read(t, made.ID)
	if len(messages) != 2 || messages[1].Text != "resumed" || messages[1].Versions.Number != 2 {
		t.Errorf("read %+v", messages)
	}
}

// Whatever versions are made and selected, no message is lost, every version can be selected, and the current branch
// continues from the selected message.
func TestNoVersionIsLost(t *testing.T) {
	t.Parallel()
	w := newService(t)
	made := w.start(t, "")
	random := rand.New(rand.NewPCG(1, 2))
	parent := map[string]string{} // by text
	w.say(t, made.ID, "0")
	for i := 1; i < 60; i++ {
		messages := w.read(t, made.ID)
		at := messages[random.IntN(len(messages))]
		text := strconv.Itoa(i)
		switch random.IntN(3) {
		case 0:
			parent[text] = questionBefore(messages, messages[len(messages)-1].TurnID, 0)
			w.say(t, made.ID, text)
		case 1:
			parent[text] = questionBefore(messages, at.TurnID, 1)
			w.version(t, made.ID, at.ID, text)
		default:
			if at.Versions == nil {
				continue
			}
			id := at.Versions.Previous + at.Versions.Next
			if at.Versions.Previous != "" && at.Versions.Next != "" {
				id = at.Versions.Next
			}
			if _, err := w.SelectVersion(t.Context(), w.Ada, w.Agent, made.ID, id); err != nil {
				t.Fatal(err)
			}
		}
	}
	all, err := w.AllMessages(t.Context(), w.Ada, w.Agent, made.ID)
	if err != nil || len(all) != 2*(len(parent)+1) {
		t.Fatalf("%d messages, want %d, %v", len(all), 2*(len(parent)+1), err)
	}
	for _, m := range all {
		if _, err := w.SelectVersion(t.Context(), w.Ada, w.Agent, made.ID, m.ID); err != nil {
			t.Fatal(err)
		}
		var path, got []string
		for text := strings.TrimPrefix(m.Text, "You wrote: "); text != ""; text = parent[text] {
			path = append([]string{text}, path...)
		}
		for _, m := range w.read(t, made.ID) {
			if m.Role == thread.RoleUser {
				got = append(got, m.Text)
			}
		}
		if len(got) < len(path) || !reflect.DeepEqual(got[:len(path)], path) {
			t.Fatalf("the branch of %q is %q, want it to begin with %q", m.Text, got, path)
		}
	}
}

// questionBefore returns the text of the question n exchanges before a turn, "" if there is none.
func questionBefore(messages []thread.Message, turnID string, n int) string {
	for i, m := range messages {
		if m.TurnID == turnID && i-2*n >= 0 {
			return messages[i-2*n].Text
		}
	}
	return ""
}
