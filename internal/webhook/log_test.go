package webhook_test

import (
	"slices"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/webhook"
)

// log returns the newest deliveries of a webhook.
func (w *testService) log(hookID string) []webhook.LogEntry {
	w.t.Helper()
	entries, _, err := w.webhooks.Deliveries(w.t.Context(), w.actor, hookID, core.Page{})
	if err != nil {
		w.t.Fatal(err)
	}
	return entries
}

func TestLogShowsTheAttemptsOfADelivery(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	w.start()
	r := newReceiver(t, status(503))
	hook, _ := w.create(r.URL)
	w.ask("question")
	w.eventually("a failed attempt", func() bool {
		l := w.log(hook.ID)
		return len(l) == 1 && len(l[0].Attempts) == 1 && l[0].NextAt != nil && l[0].NextAt.After(w.clock.Now())
	})
	e := w.log(hook.ID)[0]
	if e.State != webhook.LogPending || e.Event != webhook.EventTurnCompleted || e.MessageID != e.ID ||
		!e.CreatedAt.Equal(w.clock.Now()) || e.ID != r.all()[0].id() {
		t.Errorf("pending: %+v", e)
	}
	if a := e.Attempts[0]; a.Status != 503 || a.Error != "The receiver replied with status 503." || a.Took <= 0 {
		t.Errorf("attempt: %+v", a)
	}
	_, err := w.webhooks.Redeliver(t.Context(), w.actor, hook.ID, e.ID)
	if core.AsError(err).Code != "conflict" {
		t.Errorf("sent again while it is pending: %v", err)
	}
	r.answer(status(204))
	w.clock.Advance(time.Minute)
	w.eventually("delivered", func() bool { return w.log(hook.ID)[0].State == webhook.LogDelivered })
	e = w.log(hook.ID)[0]
	if len(e.Attempts) != 2 || e.Attempts[1].Status != 204 || !e.Attempts[1].Delivered() || e.NextAt != nil {
		t.Errorf("delivered: %+v", e)
	}
}

func TestRedeliveryRepeatsTheMessage(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	w.start()
	r := newReceiver(t, status(410))
	hook, secret := w.create(r.URL)
	w.ask("question")
	w.eventually("failed", func() bool {
		l := w.log(hook.ID)
		return len(l) == 1 && l[0].State == webhook.LogFailed && w.read(hook.ID).DisabledAt != nil
	})
	first := w.log(hook.ID)[0]
	if _, err := w.webhooks.Redeliver(t.Context(), w.actor, hook.ID, first.ID); core.AsError(err).Code != "conflict" {
		t.Errorf("to a disabled webhook: %v", err)
	}
	r.answer(status(200))
	yes := true
	if _, err := w.webhooks.Change(t.Context(), w.actor, hook.ID, webhook.Change{Active: &yes}); err != nil {
		t.Fatal(err)
	}
	again, err := w.webhooks.Redeliver(t.Context(), w.actor, hook.ID, first.ID)
	if err != nil || again.ID == first.ID || again.MessageID != first.ID || again.State != webhook.LogPending {
		t.Fatalf("sent again: %+v (%v)", again, err)
	}
	w.eventually("delivered", func() bool { return w.log(hook.ID)[0].State == webhook.LogDelivered })
	all := r.all()
	if len(all) != 2 || all[0].id() != all[1].id() || string(all[0].body) != string(all[1].body) {
		t.Errorf("received %d messages, or a different one", len(all))
	}
	verify(t, secret, all[1])
	// A repeated delivery can be repeated, with the id of the first one.
	third, err := w.webhooks.Redeliver(t.Context(), w.actor, hook.ID, again.ID)
	if err != nil || third.MessageID != first.ID {
		t.Errorf("sent a third time: %+v (%v)", third, err)
	}
	for id, hookID := range map[string]string{
		core.NewID(core.PrefixDelivery): hook.ID, "whd_x": hook.ID, first.ID: core.NewID(core.PrefixWebhook),
	} {
		if _, err := w.webhooks.Redeliver(t.Context(), w.actor, hookID, id); !core.IsKind(err, core.KindNotFound) {
			t.Errorf("%s of %s: %v", id, hookID, err)
		}
	}
}

func TestLogIsPaged(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	w.start()
	r := newReceiver(t, nil)
	hook, _ := w.create(r.URL)
	for range 5 {
		w.ask("question")
	}
	var ids []string
	for cursor := ""; ; {
		page, next, err := w.webhooks.Deliveries(t.Context(), w.actor, hook.ID, core.Page{Limit: 2, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			ids = append(ids, e.ID)
		}
		if cursor = next; next == "" {
			break
		}
	}
	sorted := slices.Sorted(slices.Values(ids))
	slices.Reverse(sorted)
	if len(ids) != 5 || !slices.Equal(ids, sorted) {
		t.Errorf("pages of %v", ids)
	}
	for _, p := range []core.Page{{Limit: 201}, {Cursor: "x"}} {
		if _, _, err := w.webhooks.Deliveries(t.Context(), w.actor, hook.ID, p); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// A connected program receives the events of its own turns and manages its own webhooks.
func TestConnectedProgramManagesItsOwnWebhooks(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	w.start()
	account := w.actor
	program := func(kind core.CredentialKind) core.Actor {
		return core.Actor{
			UserID: account.UserID, Plan: core.PlanOpen, Credential: kind, CredentialID: core.NewID(core.PrefixCredential),
			Scopes: []core.Scope{core.ScopeAgents},
		}
	}
	first, second := program(core.CredentialMinted), program(core.CredentialOAuth)
	whole := newReceiver(t, nil)
	all, _ := w.create(whole.URL)
	own := map[string]*receiver{}
	hooks := map[string]webhook.Webhook{}
	for _, a := range []core.Actor{first, second} {
		r := newReceiver(t, nil)
		h, _, err := w.webhooks.Create(t.Context(), a, r.URL, nil)
		if err != nil || h.CredentialID != a.CredentialID {
			t.Fatalf("made %+v (%v)", h, err)
		}
		own[a.CredentialID], hooks[a.CredentialID] = r, h
		for _, e := range []webhook.Event{webhook.EventSpendNear, webhook.EventShareCreated, webhook.EventImportFailed} {
			if _, _, err := w.webhooks.Create(t.Context(), a, r.URL, []webhook.Event{e}); !core.IsKind(err, core.KindInvalid) {
				t.Errorf("%s: %v", e, err)
			}
			events := []webhook.Event{e}
			for _, by := range []core.Actor{a, account} {
				_, err := w.webhooks.Change(t.Context(), by, h.ID, webhook.Change{Events: &events})
				if !core.IsKind(err, core.KindInvalid) {
					t.Errorf("changed to %s: %v", e, err)
				}
			}
		}
	}
	for _, a := range []core.Actor{first, second, account, first} {
		w.actor = a
		w.ask("question")
	}
	w.actor = account
	w.eventually("delivered", func() bool {
		return whole.count() == 4 && own[first.CredentialID].count() == 2 && own[second.CredentialID].count() == 1
	})
	foreign := []string{all.ID, hooks[second.CredentialID].ID}
	for _, id := range foreign {
		_, err1 := w.webhooks.Get(t.Context(), first, id)
		_, err2 := w.webhooks.Change(t.Context(), first, id, webhook.Change{})
		_, err3 := w.webhooks.Test(t.Context(), first, id)
		_, _, err4 := w.webhooks.Deliveries(t.Context(), first, id, core.Page{})
		_, err5 := w.webhooks.Redeliver(t.Context(), first, id, core.NewID(core.PrefixDelivery))
		for _, err := range []error{err1, err2, err3, err4, err5, w.webhooks.Delete(t.Context(), first, id)} {
			if !core.IsKind(err, core.KindNotFound) {
				t.Errorf("a webhook of another credential: %v", err)
			}
		}
	}
	for a, want := range map[*core.Actor]int{&first: 1, &second: 1, &account: 3} {
		if list, err := w.webhooks.List(t.Context(), *a); err != nil || len(list) != want {
			t.Errorf("%s lists %d webhooks (%v), want %d", a.Credential, len(list), err, want)
		}
	}
	for range webhook.MaxPerCredential - 1 {
		if _, _, err := w.webhooks.Create(t.Context(), first, "https://example.org", nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.webhooks.Create(t.Context(), first, "https://example.org", nil); !core.IsKind(err, core.KindConflict) {
		t.Errorf("beyond the limit: %v", err)
	}
	if err := w.webhooks.Delete(t.Context(), account, hooks[first.CredentialID].ID); err != nil {
		t.Errorf("deleted by the account: %v", err)
	}
}
