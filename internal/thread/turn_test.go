package thread_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// answers adapts a function that returns only the text to an Answerer.
type answers func(ctx context.Context, r *task.Run, q thread.Question) (string, error)

func (f answers) Answer(ctx context.Context, r *task.Run, q thread.Question) (thread.Answer, error) {
	text, err := f(ctx, r, q)
	return thread.Answer{Text: text}, err
}

func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestAnswererReceivesTheQuestion(t *testing.T) {
	t.Parallel()
	questions := make(chan thread.Question, 1)
	w := newServiceWith(t, answers(func(_ context.Context, _ *task.Run, q thread.Question) (string, error) {
		questions <- q
		return "", nil
	}))
	made := w.start(t, "T")
	turn := w.say(t, made.ID, " as it is\n")
	read, err := w.Messages(t.Context(), w.Ada, w.Agent, made.ID, core.Page{})
	if err != nil {
		t.Fatal(err)
	}
	want := thread.Question{
		UserID: w.Ada.UserID, AgentID: w.Agent, ThreadID: made.ID, MessageID: read.Messages[0].ID, Text: "as it is",
		Sender: thread.Sender{Credential: w.Ada.Credential, CredentialID: w.Ada.CredentialID, Operations: []core.Operation{
			core.OpAddMemory, core.OpDeleteMemory, core.OpSaveFavourite, core.OpDeleteFavourite,
		}},
	}
	if q := <-questions; !reflect.DeepEqual(q, want) {
		t.Errorf("question %+v, want %+v", q, want)
	}
	if turn.Working || turn.Reply.Text != "" || turn.Reply.Status != "complete" {
		t.Errorf("the turn is %+v", turn)
	}
}

func TestSenderHasOnlyTheOperationsOfItsCredential(t *testing.T) {
	t.Parallel()
	asked := make(chan thread.Question, 1)
	w := newServiceWith(t, answers(func(_ context.Context, _ *task.Run, q thread.Question) (string, error) {
		asked <- q
		return "", nil
	}))
	made := w.start(t, "T")
	limited := w.Ada
	limited.Lacks = core.SetOf(core.CapMemories)
	_, err := w.Send(t.Context(), limited, w.Agent, made.ID, thread.NewMessage{Text: "hello"}, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q := <-asked
	if q.Sender.May(core.OpAddMemory) || q.Sender.May(core.OpDeleteMemory) || !q.Sender.May(core.OpSaveFavourite) {
		t.Errorf("the sender may %v", q.Sender.Operations)
	}
}

// TestTurnContinuesWithoutAWaitingCaller covers the ways in which a wait ends without a reply.
func TestTurnContinuesWithoutAWaitingCaller(t *testing.T) {
	t.Parallel()
	began, cue := make(chan struct{}), make(chan struct{})
	w := newServiceWith(t, answers(func(ctx context.Context, _ *task.Run, _ thread.Question) (string, error) {
		close(began)
		select {
		case <-cue:
			return "done", nil
		case <-ctx.Done():
			return "cut off", ctx.Err()
		}
	}))
	made := w.start(t, "T")
	turn, err := w.Send(t.Context(), w.Ada, w.Agent, made.ID, thread.NewMessage{Text: "x"}, over())
	if err != nil || !turn.Working || !core.IsID(core.PrefixTurn, turn.ID) {
		t.Fatalf("sent %+v, %v", turn, err)
	}
	<-began
	// On a busy machine the caller may leave before the wait begins; it then stays longer.
	for stay := 20 * time.Millisecond; ; stay *= 2 {
		gone, cancel := context.WithCancel(t.Context())
		time.AfterFunc(stay, cancel)
		left, err := w.Send(gone, w.Ada, w.Agent, made.ID, thread.NewMessage{Text: "x"}, gone)
		if !errors.Is(err, context.Canceled) || left.ID != "" && left.ID != turn.ID {
			t.Fatalf("result after the wait: %+v, %v", left, err)
		}
		if left.ID != "" {
			break
		}
	}
	read, err := w.Messages(t.Context(), w.Ada, w.Agent, made.ID, core.Page{})
	if err != nil || read.Turn == nil || read.Turn.TurnID != turn.ID || len(read.Messages) != 1 {
		t.Errorf("read %+v, %v", read, err)
	}
	// A waiting caller gets not_found when the thread is deleted.
	waiting := make(chan error, 1)
	go func() {
		_, err := w.Send(t.Context(), w.Ada, w.Agent, made.ID, thread.NewMessage{Text: "x"}, t.Context())
		waiting <- err
	}()
	if err := w.Delete(t.Context(), w.Ada, w.Agent, made.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; !core.IsKind(err, core.KindNotFound) && !core.IsKind(err, core.KindConflict) {
		t.Errorf("wait for a deleted thread: %v", err)
	}
}

// TestProgressTextMatchesTheStream runs a turn twice: text lost with the first run must not be part of the reply.
func TestProgressTextMatchesTheStream(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "carrel.db")
	wrote := make(chan struct{}, 1)
	script := answers(func(ctx context.Context, r *task.Run, _ thread.Question) (string, error) {
		_, err := r.Step(ctx, "a", "A", func(context.Context, *task.Step) ([]byte, error) {
			r.Delta("kept ")
			return nil, nil
		})
		if err != nil {
			return "", err
		}
		_, err = r.Step(ctx, "b", "B", func(ctx context.Context, _ *task.Step) ([]byte, error) {
			if r.Task().Attempt > 1 {
				r.Delta("once more")
			} else {
				r.Delta("lost")
			}
			time.Sleep(300 * time.Millisecond) // longer than Options.EventBatchDelay
			wrote <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		return "", err
	})
	w := newServiceAt(t, path, script)
	made := w.start(t, "T")
	if _, err := w.Send(t.Context(), w.Ada, w.Agent, made.ID, thread.NewMessage{Text: "x"}, over()); err != nil {
		t.Fatal(err)
	}
	<-wrote
	if got := w.partial(t, made.ID); got != "kept lost" {
		t.Errorf("so far %q", got)
	}
	w.stop()
	again := newServiceAt(t, path, script)
	again.Ada, again.Agent = w.Ada, w.Agent
	again.Clock.Advance(time.Second) // past the time of the first service's clock
	<-wrote
	if got := again.partial(t, made.ID); got != "kept once more" {
		t.Errorf("so far %q", got)
	}
	if ended, err := again.Cancel(t.Context(), w.Ada, w.Agent, made.ID); err != nil || !ended {
		t.Fatalf("cancelled: %v, %v", ended, err)
	}
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		read, err := again.Messages(t.Context(), w.Ada, w.Agent, made.ID, core.Page{})
		if err != nil || time.Now().After(end) {
			t.Fatalf("read %+v, %v", read, err)
		}
		if read.Turn == nil {
			if m := read.Messages[1]; m.Text != "kept once more" || m.Status != "cancelled" {
				t.Errorf("the reply is %+v", m)
			}
			return
		}
	}
}

func (w *testService) partial(t *testing.T, threadID string) string {
	t.Helper()
	read, err := w.Messages(t.Context(), w.Ada, w.Agent, threadID, core.Page{})
	if err != nil || read.Turn == nil {
		t.Fatalf("read %+v, %v", read, err)
	}
	return read.Turn.Text
}
