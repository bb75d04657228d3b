package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/oauth"
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

// owner returns the owner of the webhooks of an account.
func (p person) owner() webhook.Owner { return webhook.Owner{UserID: p.id} }

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
	{"WebhookChanges", func(w *fixture) {
		hook := w.webhook(w.ada)
		url, events, no, yes := "https://example.org/new", []webhook.Event{webhook.EventTurnFailed}, false, true
		got, err := w.db.ChangeWebhook(w.ctx, w.ada.owner(), hook.ID, webhook.Change{URL: &url, Events: &events, Active: &no},
			w.after(1))
		w.must(err)
		at := w.after(1)
		hook.URL, hook.Events, hook.DisabledAt = url, events, &at
		w.same("changed", got, hook)
		got, err = w.db.ChangeWebhook(w.ctx, w.ada.owner(), hook.ID, webhook.Change{Active: &no}, w.after(2))
		w.must(err)
		w.same("disabled again", got, hook)
		_, err = w.db.ChangeWebhook(w.ctx, w.ada.owner(), hook.ID, webhook.Change{Active: &yes}, w.after(3))
		w.must(err)
		hook.DisabledAt = nil
		got, err = w.db.Webhook(w.ctx, w.ada.owner(), hook.ID)
		w.must(err)
		w.same("enabled", got, hook)
		_, err = w.db.ChangeWebhook(w.ctx, w.bert.owner(), hook.ID, webhook.Change{URL: &url}, w.now)
		w.wantMissing(err, "webhook")
	}},
	{"WebhookRoundTrips", func(w *fixture) {
		first, second := w.webhook(w.ada), w.webhook(w.ada, webhook.EventTurnFailed)
		got, err := w.db.Webhook(w.ctx, w.ada.owner(), first.ID)
		w.must(err)
		w.same("read", got, first)
		list, err := w.db.Webhooks(w.ctx, w.ada.owner())
		w.must(err)
		w.same("listed", list, []webhook.Webhook{second, first})
		w.must(w.db.DeleteWebhook(w.ctx, w.ada.owner(), first.ID))
		w.wantMissing(w.db.DeleteWebhook(w.ctx, w.ada.owner(), first.ID), "webhook")
		list, err = w.db.Webhooks(w.ctx, w.ada.owner())
		w.must(err)
		w.same("left", list, []webhook.Webhook{second})
	}},
	{"WebhookIsHiddenFromOtherUsers", func(w *fixture) {
		mine := w.webhook(w.ada)
		_, err := w.db.Webhook(w.ctx, w.bert.owner(), mine.ID)
		w.wantMissing(err, "webhook")
		w.wantMissing(w.db.DeleteWebhook(w.ctx, w.bert.owner(), mine.ID), "webhook")
		list, err := w.db.Webhooks(w.ctx, w.bert.owner())
		w.must(err)
		w.same("listed", list, []webhook.Webhook{})
		nobody := w.newWebhook(person{id: "usr_none"})
		_, err = w.db.InsertWebhook(w.ctx, nobody, 1)
		w.wantMissing(err, "user")
		w.must(w.db.DisableUser(w.ctx, w.ada.id, w.now))
		_, err = w.db.Webhook(w.ctx, w.ada.owner(), mine.ID)
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
			got, err := w.db.Webhook(w.ctx, w.ada.owner(), hook.ID)
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
		w.same("failure", *got[failures.ID][0].Body.Data.Error, webhook.Failure{Code: "timeout"})
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
	{"WebhookOfACredentialReceivesItsOwnTurnsOnly", func(w *fixture) {
		key, other := w.minted(w.ada.id, "editor", w.now), w.minted(w.ada.id, "other", w.now)
		hook := w.newWebhook(w.ada, webhook.EventTurnCompleted)
		hook.CredentialID = key.ID
		_, err := w.db.InsertWebhook(w.ctx, hook, 1)
		w.must(err)
		all := w.webhook(w.ada)
		end := func(credentialID string) {
			w.t.Helper()
			t := w.with(credentialID)
			w.finish(t, task.StateComplete)
		}
		for _, id := range []string{"", other.ID, key.ID} {
			end(id)
		}
		got := w.deliveries(w.ada)
		w.same("delivered", []int{len(got[hook.ID]), len(got[all.ID])}, []int{1, 3})
		// The credential manages its own webhooks, the account all of them.
		mine := webhook.Owner{UserID: w.ada.id, CredentialID: key.ID}
		for o, want := range map[webhook.Owner][]string{
			mine: {hook.ID}, w.ada.owner(): {all.ID, hook.ID}, {UserID: w.ada.id, CredentialID: other.ID}: {},
		} {
			list, err := w.db.Webhooks(w.ctx, o)
			w.must(err)
			ids := []string{}
			for _, h := range list {
				ids = append(ids, h.ID)
			}
			w.same("listed", ids, want)
		}
		no := false
		_, err = w.db.Webhook(w.ctx, mine, all.ID)
		w.wantMissing(err, "webhook")
		_, err = w.db.ChangeWebhook(w.ctx, mine, all.ID, webhook.Change{Active: &no}, w.now)
		w.wantMissing(err, "webhook")
		w.wantMissing(w.db.DeleteWebhook(w.ctx, mine, all.ID), "webhook")
		another := w.newWebhook(w.ada, webhook.EventTurnCompleted)
		another.CredentialID = key.ID
		_, err = w.db.InsertWebhook(w.ctx, another, 1)
		w.wantKind(err, core.KindConflict, "")
		w.must(w.db.RevokeKey(w.ctx, w.ada.id, other.ID, w.now))
		_, err = w.db.Webhook(w.ctx, w.ada.owner(), hook.ID)
		w.must(err)
		w.must(w.db.RevokeKey(w.ctx, w.ada.id, key.ID, w.now))
		_, err = w.db.Webhook(w.ctx, w.ada.owner(), hook.ID)
		w.wantMissing(err, "webhook")
		_, err = w.db.Webhook(w.ctx, w.ada.owner(), all.ID)
		w.must(err)
	}},
	{"WebhooksAreDeletedWithTheirGrant", func(w *fixture) {
		revoke := map[string]func(id string, r oauth.Redemption, c oauth.Client) error{
			"by the user": func(id string, _ oauth.Redemption, _ oauth.Client) error {
				_, err := w.db.RevokeGrant(w.ctx, w.ada.id, id, w.now)
				return err
			},
			"by the client": func(_ string, r oauth.Redemption, c oauth.Client) error {
				_, err := w.db.RevokeToken(w.ctx, c.ID, r.RefreshHash, w.now)
				return err
			},
			"by a code that is used twice": func(_ string, r oauth.Redemption, _ oauth.Client) error {
				_, err := w.db.RedeemAuthCode(w.ctx, testkit.NewClock(), r)
				if !errors.Is(err, oauth.ErrReused) {
					return fmt.Errorf("redeemed twice: %w", err)
				}
				return nil
			},
		}
		for name, revoke := range revoke {
			c := w.client(name)
			g, r := w.grant(w.ada.id, c)
			hook := w.newWebhook(w.ada, webhook.EventTurnCompleted)
			hook.CredentialID = g.ID
			_, err := w.db.InsertWebhook(w.ctx, hook, 1)
			w.must(err)
			w.must(revoke(g.ID, r, c))
			_, err = w.db.Webhook(w.ctx, w.ada.owner(), hook.ID)
			w.wantMissing(err, "webhook")
		}
	}},
	{"DeliveriesAreListedWithTheirAttempts", func(w *fixture) {
		hook, other := w.webhook(w.ada), w.webhook(w.ada, webhook.EventTurnFailed)
		for range 3 {
			w.endTurn(w.ada, task.StateComplete, nil)
		}
		all, err := w.db.Deliveries(w.ctx, hook.ID, "", 10)
		w.must(err)
		w.same("deliveries", len(all), 3)
		first, err := w.db.Deliveries(w.ctx, hook.ID, "", 2)
		w.must(err)
		rest, err := w.db.Deliveries(w.ctx, hook.ID, first[1].ID, 2)
		w.must(err)
		w.same("in pages", append(first, rest...), all)
		w.same("newest first", all[0].ID > all[1].ID && all[1].ID > all[2].ID, true)
		d := all[0]
		w.same("delivery", []string{d.WebhookID, d.MessageID, string(d.Event), string(d.Task.State)},
			[]string{hook.ID, d.ID, "turn.completed", "queued"})
		w.join("node")
		claimed, _, err := w.db.ClaimTasks(w.ctx, "node", []string{"webhook"}, 100, w.after(1000))
		w.must(err)
		for _, t := range claimed {
			w.must(w.db.RecordTask(w.ctx, t.Fence(), task.Entry{Steps: []task.StepRecord{{
				N: 1, Kind: "try", Label: "Try 1", State: task.StepFinished, Output: []byte(`{"Status":200}`),
				StartedAt: w.now, EndedAt: &w.now,
			}}}))
		}
		got, err := w.db.Delivery(w.ctx, hook.ID, d.ID)
		w.must(err)
		w.same("attempts", len(got.Steps), 1)
		_, err = w.db.Delivery(w.ctx, other.ID, d.ID)
		w.wantMissing(err, "delivery")
		again := webhook.StoredDelivery{
			ID: core.NewID(core.PrefixDelivery), WebhookID: hook.ID, MessageID: d.MessageID, Event: d.Event, Task: d.Task,
		}
		again.Task.ID, again.Task.Kind, again.Task.UserID = again.ID, "webhook", w.ada.id
		for range 2 {
			w.must(w.db.InsertDelivery(w.ctx, again))
		}
		all, err = w.db.Deliveries(w.ctx, hook.ID, "", 10)
		w.must(err)
		w.same("after a repeated one", []int{len(all)}, []int{4})
		w.same("its message", all[0].MessageID, d.ID)
		w.must(w.db.DeleteWebhook(w.ctx, w.ada.owner(), hook.ID))
		all, err = w.db.Deliveries(w.ctx, hook.ID, "", 10)
		w.must(err)
		w.same("of a deleted webhook", len(all), 0)
	}},
}
