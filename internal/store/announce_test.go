package store_test

import (
	"encoding/json"
	"slices"
	"strings"

	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/webhook"
)

// everyEvent are all events that a webhook can subscribe to.
var everyEvent = []webhook.Event{
	webhook.EventTurnCompleted, webhook.EventTurnFailed, webhook.EventImportCompleted, webhook.EventImportFailed,
	webhook.EventSourceSynced, webhook.EventSourceFailed, webhook.EventShareCreated, webhook.EventShareChanged,
	webhook.EventShareAccepted, webhook.EventShareRevoked, webhook.EventSpendNear, webhook.EventSpendReached,
}

// announced returns the type and the data of each message that is queued for a user, oldest first, and removes them.
func (w *fixture) announced(p person) []string {
	w.t.Helper()
	tasks, err := w.db.Tasks(w.ctx, task.StateQueued, 1000)
	w.must(err)
	slices.SortFunc(tasks, func(a, b task.Task) int { return strings.Compare(a.ID, b.ID) })
	out := []string{}
	for _, t := range tasks {
		if t.UserID != p.id || t.Kind != "webhook" {
			continue
		}
		var d struct {
			Body struct {
				Type string
				Data json.RawMessage
			}
		}
		w.must(json.Unmarshal(t.Input, &d))
		out = append(out, d.Body.Type+" "+string(d.Body.Data))
		w.must(w.db.FinishTask(w.ctx, t.Fence(), task.Outcome{State: task.StateComplete, At: w.now}))
	}
	return out
}

// runningImport stores an import of a source that this node runs, started by a user.
func (w *fixture) runningImport(p person, sourceID, input string) task.Task {
	w.t.Helper()
	t, err := w.db.InsertTask(w.ctx, task.Task{
		ID: core.NewID("imp"), Kind: "import", Key: sourceID, UserID: p.id, Input: []byte(input), Owner: "node",
		RunAt: w.now, DeadlineAt: w.after(1000), CreatedAt: w.now,
	})
	w.must(err)
	return t
}

// feed adds a source that is synced from outside to Ada's agent.
func (w *fixture) feed() string {
	w.t.Helper()
	s := w.newSource(w.ada.agent, "Feed", false)
	s.Kind = "feed"
	w.must(w.db.InsertSource(w.ctx, w.ada.id, s))
	return s.ID
}

var announceTests = []test{
	{"EndOfAnImportIsAnnouncedToOwnerAndStarter", func(w *fixture) {
		w.webhook(w.ada, everyEvent...)
		w.webhook(w.bert, webhook.EventImportCompleted)
		w.share(w.bert.id, core.GrantManager)
		w.announced(w.ada)
		t := w.runningImport(w.bert, w.ada.source, `{"sourceId":"x"}`)
		report := `{"files":{"failed":2},"documents":{"added":3,"updated":1}}`
		w.must(w.db.FinishImport(w.ctx, t.Fence(),
			task.Outcome{State: task.StateComplete, At: w.now, Result: []byte(report)}))
		want := []string{`import.completed {"agentId":"` + w.ada.agent + `","sourceId":"` + w.ada.source + `","importId":"` +
			t.ID + `","status":"complete","documents":{"added":3,"updated":1,"unchanged":0,"deleted":0},"failedFiles":2}`}
		w.same("to the owner", w.announced(w.ada), want)
		w.same("to the starter", w.announced(w.bert), want)
		w.wantErr(w.db.FinishImport(w.ctx, t.Fence(), task.Outcome{State: task.StateComplete, At: w.now}), task.ErrLost)
		w.same("again", w.announced(w.ada), []string{})
	}},
	{"SyncOfASourceIsAnnouncedWithItsImport", func(w *fixture) {
		w.webhook(w.ada, webhook.EventSourceSynced, webhook.EventSourceFailed)
		feed := w.feed()
		end := func(input string, o task.Outcome) []string {
			w.t.Helper()
			t := w.runningImport(w.ada, feed, input)
			o.At = w.now
			w.must(w.db.FinishImport(w.ctx, t.Fence(), o))
			return w.announced(w.ada)
		}
		got := end(`{}`, task.Outcome{State: task.StateComplete, Result: []byte(`{"synced":true}`)})
		w.same("synced", len(got) == 1 && strings.HasSuffix(got[0], `"status":"synced"}`), true)
		w.same("a part of the files", len(end(`{}`, task.Outcome{State: task.StateComplete, Result: []byte(`{}`)})), 0)
		w.same("cancelled", len(end(`{}`, task.Outcome{State: task.StateCancelled})), 0)
		w.same("single documents", len(end(`{"documentIds":["doc_1"]}`, task.Outcome{State: task.StateFailed, Code: "x"})), 0)
		got = end(`{}`, task.Outcome{State: task.StateFailed, Code: "unreachable", Detail: "words of somebody"})
		w.same("failed", len(got) == 1 && strings.HasSuffix(got[0], `"status":"failed","error":{"code":"unreachable"}}`), true)
		t := w.runningImport(w.ada, w.ada.source, `{}`) // an upload source is not synced
		w.must(w.db.FinishImport(w.ctx, t.Fence(), task.Outcome{State: task.StateFailed, Code: "x", At: w.now}))
		w.same("of uploads", w.announced(w.ada), []string{})
	}},
	{"SharesAreAnnouncedWithoutTheInvitee", func(w *fixture) {
		w.webhook(w.ada, everyEvent...)
		w.webhook(w.bert, everyEvent...)
		of := func(rest string) string { return `{"agentId":"` + w.ada.agent + `","status":` + rest + `}` }
		told := func(what string, toBert bool, want ...string) {
			w.t.Helper()
			w.same(what, w.announced(w.ada), want)
			if !toBert {
				want = []string{}
			}
			w.same(what+", to the other account", w.announced(w.bert), want)
		}
		w.must(w.offer(w.ada.agent, w.bert.user.Email, core.GrantViewer, w.now))
		told("invited", false, `share.created `+of(`"pending","grant":"viewer"`))
		w.must(w.offer(w.ada.agent, w.bert.user.Email, core.GrantUser, w.now))
		told("invitation changed", false, `share.changed `+of(`"pending","grant":"user"`))
		w.must(errorOf(w.db.AcceptInvitation(w.ctx, w.bert.id, w.ada.agent, w.held(), w.now)))
		told("accepted", true, `share.accepted `+of(`"accepted","grant":"user","userId":"`+w.bert.id+`"`))
		w.must(w.offer(w.ada.agent, w.bert.id, core.GrantManager, w.now))
		told("changed", true, `share.changed `+of(`"accepted","grant":"manager","userId":"`+w.bert.id+`"`))
		w.must(errorOf(w.db.DeleteShare(w.ctx, w.ada.agent, w.bert.id, w.now)))
		told("revoked", true, `share.revoked `+of(`"revoked","userId":"`+w.bert.id+`"`))
		w.must(w.offer(w.ada.agent, w.bert.id, core.GrantUser, w.now))
		told("invited again", false, `share.created `+of(`"pending","grant":"user"`))
		w.must(errorOf(w.db.DeleteShare(w.ctx, w.ada.agent, w.bert.id, w.now)))
		told("withdrawn", false, `share.revoked `+of(`"revoked"`))
		w.must(w.db.ShareWithAll(w.ctx, w.ada.agent, core.GrantViewer, w.now))
		told("with everybody", false, `share.created `+of(`"accepted","grant":"viewer","everybody":true`))
		w.must(w.db.ShareWithAll(w.ctx, w.ada.agent, core.GrantUser, w.now))
		told("everybody changed", false, `share.changed `+of(`"accepted","grant":"user","everybody":true`))
		w.must(w.db.DeleteShareWithAll(w.ctx, w.ada.agent, w.now))
		told("everybody revoked", false, `share.revoked `+of(`"revoked","everybody":true`))
	}},
	{"DeclinedInvitationIsNotAnnounced", func(w *fixture) {
		w.webhook(w.ada, everyEvent...)
		w.must(w.offer(w.ada.agent, w.bert.id, core.GrantUser, w.now))
		w.announced(w.ada)
		w.must(errorOf(w.db.DeclineInvitation(w.ctx, w.bert.id, w.ada.agent, w.held(), w.now)))
		w.same("declined", w.announced(w.ada), []string{})
		carl := w.person("Carl")
		w.must(w.offer(w.ada.agent, carl.id, core.GrantUser, w.now))
		w.must(errorOf(w.db.AcceptInvitation(w.ctx, carl.id, w.ada.agent, w.held(), w.now)))
		w.announced(w.ada)
		w.must(errorOf(w.db.DeclineInvitation(w.ctx, carl.id, w.ada.agent, w.held(), w.now)))
		w.same("left", len(w.announced(w.ada)), 1)
	}},
	{"RefusedShareIsNotAnnounced", func(w *fixture) {
		w.webhook(w.ada, everyEvent...)
		w.wantKind(w.offer(w.ada.agent, w.ada.user.Email, core.GrantUser, w.now), core.KindInvalid, "")
		offer := agent.Offer{Invitee: w.bert.id, Grant: core.GrantUser, At: w.now}
		_, err := w.db.Offer(w.ctx, w.ada.id, w.ada.agent, offer, 0)
		w.wantKind(err, core.KindConflict, "")
		w.wantMissing(errorOf(w.db.DeleteShare(w.ctx, w.ada.agent, w.bert.id, w.now)), "grant")
		w.same("announced", w.announced(w.ada), []string{})
	}},
	{"SpendIsAnnouncedOnceAMonth", func(w *fixture) {
		w.webhook(w.ada, webhook.EventSpendNear, webhook.EventSpendReached)
		w.capAda(100)
		t := w.working()
		spend := func(micros int64) []string {
			w.t.Helper()
			w.must(w.reserve(t, 1))
			w.must(w.db.SettleSpend(w.ctx, t.ID, micros, false, w.now))
			return w.announced(w.ada)
		}
		data := func(used string) string {
			return ` {"period":"` + core.Month(w.now) + `","capMicros":100,"usedMicros":` + used + `,"resetsAt":"` +
				core.MonthEnd(w.now).Format("2006-01-02T15:04:05.000Z07:00") + `"}`
		}
		w.same("at 79", spend(79), []string{})
		w.same("at 80", spend(1), []string{"spend.near" + data("80")})
		w.same("at 85", spend(5), []string{})
		w.same("refused", core.AsError(w.reserve(t, 16)).Code, "spend_cap_reached")
		w.same("after the refusal", w.announced(w.ada), []string{"spend.reached" + data("85")})
		w.same("refused again", core.AsError(w.reserve(t, 16)).Code, "spend_cap_reached")
		w.same("at 105", spend(20), []string{})
	}},
	{"ConcurrentCallsAnnounceTheCapOnce", func(w *fixture) {
		w.webhook(w.ada, webhook.EventSpendNear, webhook.EventSpendReached)
		w.capAda(100)
		turns := make([]task.Task, 10)
		for i := range turns {
			turns[i] = w.working()
			w.must(w.reserve(turns[i], 10))
		}
		testkit.Concurrently(len(turns), func(i int) {
			if err := w.db.SettleSpend(w.ctx, turns[i].ID, 10, false, w.now); err != nil {
				w.t.Error(err)
			}
		})
		got := w.announced(w.ada)
		w.same("announced", len(got), 2)
	}},
}
