package accountdata_test

import (
	"context"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/accountdata"
	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// code is what a caller is told; empty for nothing.
func code(err error) string {
	if err == nil {
		return ""
	}
	return core.AsError(err).Code
}

func TestWhoMayDeleteAnAccount(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		amy, eve := w.user("amy", core.RoleAdmin), w.user("eve", core.RoleAdmin)
		long := w.session(w.bob)
		long.AuthenticatedAt = w.clock.Now().Add(-core.ProofLife)
		everything := []core.Scope{core.ScopeAgents, core.ScopeManage, core.ScopeAccount, core.ScopeAdmin}
		own := func(actor core.Actor, email string) func() error {
			return func() error { return w.deletions.Own(ctx, actor, email) }
		}
		of := func(actor core.Actor, u account.User) func() error {
			return func() error { _, err := w.deletions.Of(ctx, actor, u.ID); return err }
		}
		for _, c := range []struct {
			name, want string
			do         func() error
		}{
			{"with a key of one's own", "session_required", own(w.key(w.bob, everything...), w.bob.Email)},
			{"with a key for agents", "insufficient_scope", own(w.key(w.bob, core.ScopeAgents), w.bob.Email)},
			{"long after signing in", "step_up_required", own(long, w.bob.Email)},
			{"without the address", "invalid_request", own(w.session(w.bob), "")},
			{"with the address of somebody else", "invalid_request", own(w.session(w.bob), w.ada.Email)},
			{"the owner, while others have accounts", "conflict", own(w.session(w.ada), w.ada.Email)},
			{"the owner, by the operator", "conflict", of(core.Operator(""), w.ada)},
			{"the owner, by an admin", "conflict", of(w.session(amy), w.ada)},
			{"an admin, by another", "forbidden", of(w.session(amy), eve)},
			{"oneself, as an admin", "conflict", of(w.session(amy), amy)},
			{"by a member", "insufficient_scope", of(w.session(w.bob), amy)},
			{"nobody", "not_found", of(w.session(w.ada), account.User{ID: "usr_none"})},
			{"a member, by an admin", "", of(w.session(amy), w.bob)},
			{"the same again", "not_found", of(w.session(amy), w.bob)},
			{"an admin, by the owner", "", of(w.key(w.ada, everything...), eve)},
			{"one's own, with the address in other letters", "", own(w.session(amy), " AMY@example.org")},
			{"the owner, when nobody else is left", "", own(w.session(w.ada), w.ada.Email)},
		} {
			if got := code(c.do()); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	})
}

func TestADeletionStopsWhatRunsAndSettlesItFirst(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		ctx, bob := t.Context(), core.Operator(w.bob.ID)
		id := w.agent(w.bob, documents(1, 10))
		asked, stopped := make(chan struct{}), make(chan struct{})
		w.answers.answer = func(ctx context.Context, _ thread.Question) (thread.Answer, error) {
			close(asked)
			<-ctx.Done()
			close(stopped)
			return thread.Answer{}, context.Cause(ctx)
		}
		talk, err := w.contents.Threads.Create(ctx, bob, id, "")
		w.must(err)
		over, cancel := context.WithCancel(ctx)
		cancel()
		turn, err := w.contents.Threads.Send(ctx, bob, id, talk.ID, thread.NewMessage{Text: "Are you there?"}, over)
		w.must(err)
		<-asked
		deletion, err := w.deletions.Of(ctx, core.Operator(""), w.bob.ID)
		w.must(err)
		if _, err := w.db.UserByID(ctx, w.bob.ID); !core.IsKind(err, core.KindNotFound) {
			t.Errorf("the account is still open: %v", err)
		}
		ended, err := w.tasks.Wait(ctx, deletion.ID)
		w.must(err)
		select {
		case <-stopped:
		default:
			t.Error("the account went before its turn had stopped")
		}
		if ended.State != task.StateComplete {
			t.Errorf("got %+v", ended)
		}
		if _, err := w.db.Task(ctx, turn.ID); !core.IsKind(err, core.KindNotFound) {
			t.Errorf("the turn is left: %v", err)
		}
		if differences, err := w.db.SpendDifferences(ctx); err != nil || len(differences) > 0 {
			t.Errorf("the ledger: %v, %v", differences, err)
		}
	})
}

func TestADeletionGoesOnAfterItsServerIsLost(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.agent(w.bob, documents(5, 10))
		w.must(w.tasks.Stop(ctx)) // closed by a server that stops before it has done anything
		deletion, err := w.deletions.Of(ctx, core.Operator(""), w.bob.ID)
		w.must(err)
		if deletion.State != task.StateQueued {
			t.Fatalf("it is %s", deletion.State)
		}
		next := w.start(accountdata.ExportOptions{Keep: time.Hour})
		ended, err := next.tasks.Wait(ctx, deletion.ID)
		w.must(err)
		agents, err := w.db.AgentsOf(ctx, w.bob.ID)
		w.must(err)
		if closed, err := w.db.ClosedUsers(ctx); err != nil || len(closed) > 0 || len(agents) > 0 || ended.State != task.StateComplete {
			t.Errorf("%s; left are %v and %v, %v", ended.State, closed, agents, err)
		}
		w.clock.Advance(8 * 24 * time.Hour)
		w.must(next.deletions.Tend(ctx))
		if _, err := w.db.Task(ctx, deletion.ID); !core.IsKind(err, core.KindNotFound) {
			t.Errorf("a week later: %v", err)
		}
	})
}
