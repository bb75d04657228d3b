package store_test

import (
	"encoding/json"
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/thread"
	"carrel/internal/webhook"
)

// newWebhook returns an unsaved webhook.
func (w *fixture) newWebhook(p person, events ...webhook.Event) webhook.Webhook {
	return webhook.Webhook{
		ID: core.NewID(core.PrefixWebhook), UserID: p.id, URL: "https://example.org/hook?a=b", Events: events,
		Sealed: []byte("sealed\x00secret"), CreatedAt: w.now,
	}
}

// webhook stores a webhook for the given events, or for all.
func (w *fixture) webhook(p person, events ...webhook.Event) webhook.Webhook {
	w.t.Helper()
	if events == nil {
		events = []webhook.Event{webhook.EventTurnCompleted, webhook.EventTurnFailed}
	}
	stored, err := w.db.InsertWebhook(w.ctx, w.newWebhook(p, events...), webhook.MaxPerUser)
	w.must(err)
	return stored
}

// running submits a turn that this node runs and returns its fence.
func (w *fixture) running(p person, threadID string, q thread.Message) task.Fence {
	w.t.Helper()
	t, err := w.db.SubmitTurn(w.ctx, p.id, p.agent, "", q, task.Task{
		ID: q.TurnID, Kind: "turn", Key: threadID, UserID: p.id, Input: []byte(q.Text), Owner: "node",
		RunAt: w.now, DeadlineAt: w.now.Add(time.Hour), CreatedAt: w.now,
	})
	w.must(err)
	return t.Fence()
}

// endTurn runs a turn to the given state and returns its reply.
func (w *fixture) endTurn(p person, state task.State, failure *thread.TurnError) thread.Message {
	w.t.Helper()
	th := w.thread(p, "", w.now)
	q, r := w.exchange(th.ID, "question", 5)
	f := w.running(p, th.ID, q)
	r.Status, r.Error = string(state), failure
	w.must(w.db.FinishTurn(w.ctx, f, task.Outcome{State: state, At: w.after(5)}, r))
	return r
}

// delivered is the content of a delivery.
type delivered struct {
	WebhookID string
	Body      struct {
		Type      string
		Timestamp time.Time
		Data      webhook.Turn
	}
}

// deliveries returns the queued deliveries of a user, by webhook.
func (w *fixture) deliveries(p person) map[string][]delivered {
	w.t.Helper()
	tasks, err := w.db.Tasks(w.ctx, task.StateQueued, 1000)
	w.must(err)
	out := map[string][]delivered{}
	for _, t := range tasks {
		if t.UserID != p.id || t.Kind != "webhook" {
			continue
		}
		var d delivered
		w.must(json.Unmarshal(t.Input, &d))
		out[d.WebhookID] = append(out[d.WebhookID], d)
	}
	return out
}

var webhookTests = []test{
	{"WebhookRoundTrips", func(w *fixture) {
		first, second := w.webhook(w.ada), w.webhook(w.ada, webhook.EventTurnFailed)
		got, err := w.db.Webhook(w.ctx, w.ada.id, first.ID)
		w.must(err)
		w.same("read", got, first)
		list, err := w.db.Webhooks(w.ctx, w.ada.id)
		w.must(err)
		w.same("listed", list, []webhook.Webhook{second, first})
		w.must(w.db.DeleteWebhook(w.ctx, w.ada.id, first.ID))
		w.wantMissing(w.db.DeleteWebhook(w.ctx, w.ada.id, first.ID), "webhook")
		list, err = w.db.Webhooks(w.ctx, w.ada.id)
		w.must(err)
		w.same("left", list, []webhook.Webhook{second})
	}},
	{"WebhookIsHiddenFromOtherUsers", func(w *fixture) {
		mine := w.webhook(w.ada)
		_, err := w.db.Webhook(w.ctx, w.bert.id, mine.ID)
		w.wantMissing(err, "webhook")
		w.wantMissing(w.db.DeleteWebhook(w.ctx, w.bert.id, mine.ID), "webhook")
		list, err := w.db.Webhooks(w.ctx, w.bert.id)
		w.must(err)
		w.same("listed", list, []webhook.Webhook{})
		nobody := w.newWebhook(person{id: "usr_none"})
		_, err = w.db.InsertWebhook(w.ctx, nobody, 1)
		w.wantMissing(err, "user")
		w.must(w.db.DisableUser(w.ctx, w.ada.id, w.now))
		_, err = w.db.Webhook(w.ctx, w.ada.id, mine.ID)
		w.wantMissing(err, "webhook")
	}},
	{"RepeatedRequestReturnsTheSameWebhook", func(w *fixture) {
		first := w.newWebhook(w.ada, webhook.EventTurnFailed)
		_, err := w.db.InsertWebhook(w.ctx, first, 1)
		w.must(err)
		again := first
		again.Sealed, again.URL = []byte("another"), "https://example.net"
		got, err := w.db.InsertWebhook(w.ctx, again, 1) // even if the limit is reached
		w.must(err)
		w.same("sent again", got, first)
	}},
	{"ConcurrentInsertsKeepTheLimit", func(w *fixture) {
		var made, refused atomic.Int32
		testkit.Concurrently(16, func(int) {
			switch _, err := w.db.InsertWebhook(w.ctx, w.newWebhook(w.ada), 5); {
			case err == nil:
				made.Add(1)
			case core.IsKind(err, core.KindConflict):
				refused.Add(1)
			default:
				w.t.Error(err)
			}
		})
		w.same("made", made.Load(), int32(5))
		w.same("refused", refused.Load(), int32(11))
		w.webhook(w.bert) // the limit is per user
	}},
	{"LatestAttemptIsKept", func(w *fixture) {
		hook := w.webhook(w.ada)
		record := func(d webhook.Delivery, enable bool) webhook.Webhook {
			w.t.Helper()
			w.must(w.db.RecordDelivery(w.ctx, hook.ID, d, enable))
			got, err := w.db.Webhook(w.ctx, w.ada.id, hook.ID)
			w.must(err)
			return got
		}
		second := webhook.Delivery{At: w.after(2), Status: 500, Error: "No."}
		w.same("noted", record(second, false).Last, &second)
		w.same("an earlier one", record(webhook.Delivery{At: w.after(1), Status: 200}, false).Last, &second)
		gone := webhook.Delivery{At: w.after(3), Status: 410, Error: "Gone."}
		disabled := record(gone, false)
		w.same("gone", disabled.Last, &gone)
		w.same("disabled", *disabled.DisabledAt, gone.At)
		// A delivery in progress does not enable the webhook again; a test delivery does.
		w.same("still disabled", *record(webhook.Delivery{At: w.after(4), Status: 200}, false).DisabledAt, gone.At)
		w.same("enabled", record(webhook.Delivery{At: w.after(5), Status: 200}, true).DisabledAt, (*time.Time)(nil))
		w.must(w.db.RecordDelivery(w.ctx, "whk_none", gone, false)) // deleted meanwhile
	}},
	{"TurnEndIsDeliveredToSubscribedWebhooks", func(w *fixture) {
		both, failures := w.webhook(w.ada), w.webhook(w.ada, webhook.EventTurnFailed)
		off := w.webhook(w.ada)
		w.must(w.db.RecordDelivery(w.ctx, off.ID, webhook.Delivery{At: w.now, Status: 410, Error: "Gone."}, false))
		w.webhook(w.bert)
		w.endTurn(w.ada, task.StateCancelled, &thread.TurnError{Code: "cancelled"})
		w.same("of a cancelled turn", len(w.deliveries(w.ada)), 0)
		r := w.endTurn(w.ada, task.StateComplete, nil)
		got := w.deliveries(w.ada)
		w.same("delivered", len(got), 1)
		w.same("times", len(got[both.ID]), 1)
		body := got[both.ID][0].Body
		w.same("type", body.Type, "turn.completed")
		w.same("time", body.Timestamp, w.after(5))
		w.same("data", body.Data, webhook.Turn{
			AgentID: w.ada.agent, ThreadID: r.ThreadID, TurnID: r.TurnID, MessageID: r.ID, Status: "complete",
		})
		w.endTurn(w.ada, task.StateFailed, &thread.TurnError{Code: "timeout", Detail: "words of somebody"})
		got = w.deliveries(w.ada)
		w.same("delivered of the failure", []int{len(got[both.ID]), len(got[failures.ID]), len(got[off.ID])},
			[]int{2, 1, 0})
		w.same("failure", *got[failures.ID][0].Body.Data.Error, webhook.TurnError{Code: "timeout"})
		w.same("another's", len(w.deliveries(w.bert)), 0)
	}},
	{"LostTurnIsNotDelivered", func(w *fixture) {
		hook := w.webhook(w.ada)
		th := w.thread(w.ada, "", w.now)
		q, r := w.exchange(th.ID, "question", 5)
		f := w.running(w.ada, th.ID, q)
		o := task.Outcome{State: task.StateComplete, At: w.after(5)}
		lost := f
		lost.Attempt++
		w.wantErr(w.db.FinishTurn(w.ctx, lost, o, r), task.ErrLost)
		w.same("by another", len(w.deliveries(w.ada)), 0)
		w.must(w.db.FinishTurn(w.ctx, f, o, r))
		w.wantErr(w.db.FinishTurn(w.ctx, f, o, r), task.ErrLost) // the reply to the first call was lost
		w.same("once", len(w.deliveries(w.ada)[hook.ID]), 1)
	}},
	{"EndedDeliveriesArePruned", func(w *fixture) {
		w.webhook(w.ada)
		w.endTurn(w.ada, task.StateComplete, nil)
		turns, err := w.db.Tasks(w.ctx, task.StateComplete, 1000)
		w.must(err)
		tasks, err := w.db.Tasks(w.ctx, task.StateQueued, 1)
		w.must(err)
		w.must(w.db.PruneDeliveries(w.ctx, w.after(1000)))
		w.must(w.db.FinishTask(w.ctx, tasks[0].Fence(), task.Outcome{State: task.StateComplete, At: w.after(100)}))
		w.must(w.db.PruneDeliveries(w.ctx, w.after(100)))
		_, err = w.db.Task(w.ctx, tasks[0].ID)
		w.must(err)
		w.must(w.db.PruneDeliveries(w.ctx, w.after(101)))
		_, err = w.db.Task(w.ctx, tasks[0].ID)
		w.wantMissing(err, "task")
		left, err := w.db.Tasks(w.ctx, task.StateComplete, 1000)
		w.must(err)
		w.same("turns", len(left), len(turns))
	}},
}
