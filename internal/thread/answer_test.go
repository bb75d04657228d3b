package thread_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// answererFunc adapts a function to an Answerer.
type answererFunc func(ctx context.Context, r *task.Run, q thread.Question) (thread.Answer, error)

func (f answererFunc) Answer(ctx context.Context, r *task.Run, q thread.Question) (thread.Answer, error) {
	return f(ctx, r, q)
}

// fullAnswer has a value in every field.
func fullAnswer() thread.Answer {
	return thread.Answer{
		Text: "Codd proposed it [1].", Partial: true,
		Citations: []thread.Citation{{
			N: 1, CardID: "card_1", DocumentID: "doc_1", SourceID: "src_1", Title: "A Relational Model",
			Authors: []string{"Edgar F. Codd"},
			Year:    1970, URL: "https://example.org", DOI: "10.1145/362384.362685",
			Quote: "A relational model \x00 is proposed.", Start: 3, End: 40, Page: 2,
		}},
		Checks: []thread.Check{{
			Start: 0, End: 21, State: thread.Unsupported, By: thread.ByRules, Reason: "number_absent", Detail: "No number.",
			Citations: []int{1},
		}},
		Actions: []thread.Action{{
			Kind: thread.ActionUnsave, State: thread.ActionDone, ID: "card_1", Title: "A Relational Model",
			Undo: "saveFavourite",
			Card: json.RawMessage(`{"cardId":"card_1"}`),
		}},
		Summary: &thread.Summary{
			Through: "msg_1", Text: "Models.", First: "Who?", Titles: []string{"A Relational Model"},
		},
		MemoriesUsed: []thread.UsedMemory{{ID: "mem_1", Text: "I read German."}},
		FollowUps:    []string{"When?"}, Query: "codd relational model",
		Usage: &thread.Usage{Model: "m", InputTokens: 10, OutputTokens: 2, CostMicros: 7, Estimated: true},
	}
}

func TestReplyKeepsAllFieldsOfItsAnswer(t *testing.T) {
	t.Parallel()
	w := newServiceWith(t, answererFunc(func(_ context.Context, _ *task.Run, q thread.Question) (thread.Answer, error) {
		if q.Text == "fail" {
			return fullAnswer(), errors.New("broken")
		}
		return fullAnswer(), nil
	}))
	made := w.start(t, "T")
	turn := w.say(t, made.ID, "Who?")
	want := fullAnswer()
	want.Text = ""
	if turn.Reply.Text != "Codd proposed it [1]." || !reflect.DeepEqual(turn.Reply.Answer, want) {
		t.Errorf("the reply is %+v", turn.Reply)
	}
	if _, err := w.Send(t.Context(), w.Ada, w.Agent, made.ID, thread.NewMessage{Text: "fail"},
		t.Context()); err == nil {
		t.Error("it did not fail")
	}
	read, err := w.Messages(t.Context(), w.Ada, w.Agent, made.ID, core.Page{})
	if err != nil || len(read.Messages) != 4 {
		t.Fatalf("read %+v, %v", read, err)
	}
	for i, m := range read.Messages {
		kept := want
		if m.Role == thread.RoleUser {
			kept = thread.Answer{}
		}
		if !reflect.DeepEqual(m.Answer, kept) {
			t.Errorf("message %d keeps %+v", i, m.Answer)
		}
	}
}

func TestRepeatedTextJoinsTheTurnRegardlessOfResearch(t *testing.T) {
	t.Parallel()
	cue, questions := make(chan struct{}), make(chan thread.Question, 2)
	w := newServiceWith(t, answers(func(_ context.Context, _ *task.Run, q thread.Question) (string, error) {
		questions <- q
		<-cue
		return "done", nil
	}))
	made := w.start(t, "T")
	send := func(m thread.NewMessage) (thread.Turn, error) {
		return w.Send(t.Context(), w.Ada, w.Agent, made.ID, m, over())
	}
	first, err := send(thread.NewMessage{Text: "x", Research: true})
	if err != nil || !first.Working {
		t.Fatalf("sent %+v, %v", first, err)
	}
	if q := <-questions; !q.Research {
		t.Errorf("question %+v", q)
	}
	for _, research := range []bool{true, false} {
		if again, err := send(thread.NewMessage{Text: "x", Research: research}); err != nil || again.ID != first.ID {
			t.Errorf("sent again %+v, %v", again, err)
		}
	}
	if _, err := send(thread.NewMessage{Text: "y", Research: true}); core.AsError(err).Code != "turn_working" {
		t.Errorf("another text: %v", err)
	}
	close(cue)
	if joined := w.say(t, made.ID, "x"); joined.ID != first.ID { // already ended
		<-questions
	}
	turn := w.say(t, made.ID, "x")
	if q := <-questions; q.Research || turn.ID == first.ID {
		t.Errorf("question %+v for %+v", q, turn)
	}
}

func TestFeedbackIsAcceptedForRepliesOnly(t *testing.T) {
	t.Parallel()
	w, ctx := newService(t), t.Context()
	made := w.start(t, "T")
	reply := w.say(t, made.ID, "Who?").Reply
	give := func(messageID string, thumb thread.Thumb, note string) error {
		_, err := w.GiveFeedback(ctx, w.Ada, w.Agent, made.ID, messageID, thumb, note)
		return err
	}
	messages := func() []thread.Message {
		t.Helper()
		read, err := w.Messages(ctx, w.Ada, w.Agent, made.ID, core.Page{})
		if err != nil {
			t.Fatal(err)
		}
		return read.Messages
	}
	for _, f := range []thread.Feedback{{Thumb: thread.ThumbDown, Note: "wrong year"}, {Thumb: thread.ThumbUp}} {
		if err := give(reply.ID, f.Thumb, " "+f.Note+"\n"); err != nil {
			t.Fatal(err)
		}
		f.UpdatedAt = w.Clock.Now()
		if got := messages()[1].Feedback; got == nil || *got != f {
			t.Errorf("kept %+v, want %+v", got, f)
		}
	}
	question := messages()[0]
	for name, err := range map[string]error{
		"a question": give(question.ID, thread.ThumbUp, ""),
		"junk":       give("junk", thread.ThumbUp, ""),
		"another's": func() error {
			_, err := w.GiveFeedback(ctx, w.Bob, w.BobsAgent, made.ID, reply.ID, thread.ThumbUp, "")
			return err
		}(),
		"not there":    w.RemoveFeedback(ctx, w.Ada, w.Agent, made.ID, question.ID),
		"not a thread": w.RemoveFeedback(ctx, w.Ada, w.SecondAgent, made.ID, reply.ID),
	} {
		if !core.IsKind(err, core.KindNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := give(reply.ID, "sideways", strings.Repeat("é", 2001))
	if e := core.AsError(err); e.Kind != core.KindInvalid || len(e.Fields) != 2 {
		t.Errorf("bad feedback: %v", err)
	}
	if err := give(reply.ID, thread.ThumbUp, strings.Repeat("é", 2000)); err != nil {
		t.Error(err)
	}
	if err := w.RemoveFeedback(ctx, w.Ada, w.Agent, made.ID, reply.ID); err != nil {
		t.Error(err)
	}
	if err := w.RemoveFeedback(ctx, w.Ada, w.Agent, made.ID, reply.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	if got := messages()[1].Feedback; got != nil {
		t.Errorf("left %+v", got)
	}
}
