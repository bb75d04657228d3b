package store

import (
	"testing"
	"time"

	"carrel/internal/task"
	"carrel/internal/thread"
	"carrel/internal/webhook"
)

// callWebhooks calls every webhook method once for the user and agent of callEverything.
func callWebhooks(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	w := webhook.Webhook{
		ID: "w", UserID: "u", Events: []webhook.Event{webhook.EventTurnCompleted}, Sealed: []byte("s"), CreatedAt: now,
	}
	for range 2 {
		if _, err := db.InsertWebhook(ctx, w, 20); err != nil {
			t.Fatal(err)
		}
	}
	turn, err := db.SubmitTurn(ctx, "u", "a", "",
		thread.Message{ID: "w1", ThreadID: "t", TurnID: "wx", Role: thread.RoleUser},
		task.Task{
			ID: "wx", Kind: "turn", Key: "t", UserID: "u", Owner: "n", RunAt: now, DeadlineAt: now,
			CreatedAt: now,
		})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"finish": db.FinishTurn(ctx, turn.Fence(), task.Outcome{State: task.StateComplete, At: now},
			thread.Message{ID: "w2", ThreadID: "t", TurnID: "wx", Role: thread.RoleAssistant}),
		"record": db.RecordDelivery(ctx, "w", webhook.Delivery{At: now, Status: 410, Error: "e"}, false),
		"enable": db.RecordDelivery(ctx, "w", webhook.Delivery{At: now, Status: 200}, true),
		"log":    func() error { _, err := db.Deliveries(ctx, "w", "", 10); return err }(),
		"delivery": func() error {
			all, err := db.Deliveries(ctx, "w", "", 1)
			if err != nil || len(all) == 0 {
				return err
			}
			_, err = db.Delivery(ctx, "w", all[0].ID)
			return err
		}(),
		"prune": db.PruneDeliveries(ctx, now),
		"read":  func() error { _, err := db.Webhook(ctx, webhook.Owner{UserID: "u"}, "w"); return err }(),
		"list":  func() error { _, err := db.Webhooks(ctx, webhook.Owner{UserID: "u"}); return err }(),
	} {
		if err != nil && name != "read" { // the user has been disabled
			t.Fatalf("%s: %v", name, err)
		}
	}
}
