package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

// Error codes of deliveries that failed for good.
const (
	codeExhausted  = "webhook_failed"
	codeGone       = "webhook_gone"
	codeUnreadable = "webhook_secret_unreadable"
)

const detailUnreadable = "The secret of this webhook cannot be decrypted because the installation's key was changed. " +
	"Delete the webhook and create it again."

// attemptTimeout is the time a receiver has to reply.
const attemptTimeout = 15 * time.Second

// unavailablePause is the delay after a database outage. crowdedPause is the minimum delay of a delivery while too many
// to the same webhook are in flight; jitter adds up to twice as much.
const (
	unavailablePause = 5 * time.Second
	crowdedPause     = time.Second
)

// Kind returns the task kind of deliveries, to be registered with the engine.
func (s *Service) Kind() task.Kind {
	return task.Kind{Name: kindName, Run: s.run, Deadline: deadline}
}

// run makes the next delivery attempt if it is due.
func (s *Service) run(ctx context.Context, r *task.Run) (task.Outcome, error) {
	var in deliveryInput
	if err := json.Unmarshal(r.Task().Input, &in); err != nil {
		return task.Outcome{}, fmt.Errorf("read a delivery's input: %w", err)
	}
	if !s.inFlight.begin(in.WebhookID) {
		pause := crowdedPause + time.Duration(rand.Int64N(int64(2*crowdedPause))) //nolint:gosec // jitter, not a secret
		return task.RetryAt(s.clock.Now().Add(pause)), nil
	}
	defer s.inFlight.end(in.WebhookID)
	o, err := s.deliver(ctx, r, in)
	if core.IsKind(err, core.KindUnavailable) {
		return task.RetryAt(s.clock.Now().Add(unavailablePause)), nil // attempts made are in the journal
	}
	return o, err
}

// deliver replays the attempts in the journal and makes a new one if it is due.
func (s *Service) deliver(ctx context.Context, r *task.Run, in deliveryInput) (task.Outcome, error) {
	t := r.Task()
	w, err := s.store.Webhook(ctx, Owner{UserID: t.UserID}, in.WebhookID)
	if core.IsKind(err, core.KindNotFound) || err == nil && w.DisabledAt != nil {
		return task.Outcome{State: task.StateCancelled}, nil // deleted or disabled
	}
	if err != nil {
		return task.Outcome{}, err
	}
	secret, err := s.sealer.Open(w.Sealed, w.ID)
	if err != nil {
		d := Delivery{At: s.clock.Now(), Error: detailUnreadable}
		return failed(codeUnreadable, d.Error), s.store.RecordDelivery(ctx, w.ID, d, false)
	}
	msg := message{id: cmp.Or(in.MessageID, t.ID), url: w.URL, secret: secret, body: in.Body}
	for n := 1; ; n++ {
		last, err := s.attempt(ctx, r, msg, n)
		if err != nil {
			return task.Outcome{}, err
		}
		o, ended := last.outcome(s.clock.Now())
		if !ended {
			continue
		}
		return o, s.store.RecordDelivery(ctx, w.ID, last.Delivery, false)
	}
}

// attempt is a delivery attempt in the journal.
type attempt struct {
	Delivery
	// Took is the duration of the attempt.
	Took time.Duration `json:",omitempty"`
	// Next is the time of the next attempt; nil means none.
	Next *time.Time `json:",omitempty"`
}

// attempt makes the n-th attempt, or returns its result from the journal.
func (s *Service) attempt(ctx context.Context, r *task.Run, msg message, n int) (attempt, error) {
	out, err := r.Step(ctx, "try", fmt.Sprintf("Try %d", n), func(ctx context.Context, _ *task.Step) ([]byte, error) {
		began := time.Now()
		d, pause, err := s.post(ctx, msg, attemptTimeout)
		if err != nil {
			return nil, err // interrupted; another run repeats this attempt
		}
		s.attempted(d.Delivered())
		a := attempt{Delivery: d, Took: time.Since(began)}
		if next, again := nextAttempt(n, d.At, pause); again && !d.Delivered() && !d.Gone() {
			a.Next = &next
		}
		return json.Marshal(a)
	})
	if err != nil {
		return attempt{}, err
	}
	var a attempt
	if err := json.Unmarshal(out, &a); err != nil {
		return attempt{}, fmt.Errorf("read a delivery attempt: %w", err)
	}
	return a, nil
}

// outcome returns the task's outcome after this attempt, or false if the next attempt is due now.
func (a attempt) outcome(now time.Time) (task.Outcome, bool) {
	switch {
	case a.Delivered():
		return task.Outcome{}, true
	case a.Gone():
		return failed(codeGone, a.Error), true
	case a.Next == nil:
		return failed(codeExhausted, a.Error), true
	case now.Before(*a.Next):
		return task.RetryAt(*a.Next), true
	}
	return task.Outcome{}, false
}

func failed(code, detail string) task.Outcome {
	return task.Outcome{State: task.StateFailed, Code: code, Detail: detail}
}
