package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

// The reasons for which a delivery fails for good.
const (
	codeExhausted  = "webhook_failed"
	codeGone       = "webhook_gone"
	codeUnreadable = "webhook_secret_unreadable"
)

const detailUnreadable = "The secret of this webhook can't be read any more: the installation's key was changed. Delete the webhook and make it again."

// tryTimeout is how long a receiver has for its answer.
const tryTimeout = 15 * time.Second

// awayPause is how long a delivery waits for a database that is away. A delivery that finds no place waits between one
// and three times crowdPause.
const (
	awayPause  = 5 * time.Second
	crowdPause = time.Second
)

// Kind is the kind of task that deliveries are, to be registered with the engine.
func (s *Service) Kind() task.Kind {
	return task.Kind{Name: kindName, Run: s.run, Deadline: deadline}
}

// run tries to deliver a message once, if it is time to, and says what is next.
func (s *Service) run(ctx context.Context, r *task.Run) (task.Outcome, error) {
	var in deliveryInput
	if err := json.Unmarshal(r.Task().Input, &in); err != nil {
		return task.Outcome{}, fmt.Errorf("read a delivery's input: %w", err)
	}
	if !s.flights.begin(in.WebhookID) {
		pause := crowdPause + time.Duration(rand.Int64N(int64(2*crowdPause))) //nolint:gosec // nobody gains by guessing it
		return task.RetryAt(s.clock.Now().Add(pause)), nil
	}
	defer s.flights.end(in.WebhookID)
	o, err := s.deliver(ctx, r, in)
	if core.IsKind(err, core.KindUnavailable) {
		return task.RetryAt(s.clock.Now().Add(awayPause)), nil // what was done is in the journal
	}
	return o, err
}

// deliver goes through the tries. Those that were made come from the journal; a new one is made when it is due.
func (s *Service) deliver(ctx context.Context, r *task.Run, in deliveryInput) (task.Outcome, error) {
	t := r.Task()
	w, err := s.store.Webhook(ctx, t.UserID, in.WebhookID)
	if core.IsKind(err, core.KindNotFound) || err == nil && w.DisabledAt != nil {
		return task.Outcome{State: task.StateCancelled}, nil // nobody wants it any more
	}
	if err != nil {
		return task.Outcome{}, err
	}
	secret, err := s.sealer.Open(w.Sealed, w.ID)
	if err != nil {
		d := Delivery{At: s.clock.Now(), Error: detailUnreadable}
		return failed(codeUnreadable, d.Error), s.store.RecordDelivery(ctx, w.ID, d, false)
	}
	msg := message{id: t.ID, url: w.URL, secret: secret, body: in.Body}
	for n := 1; ; n++ {
		last, err := s.try(ctx, r, msg, n)
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

// attempt is a try as the journal keeps it.
type attempt struct {
	Delivery
	// Next is when to try again; nil means never.
	Next *time.Time `json:",omitempty"`
}

// try makes the n-th try, or returns what came of it.
func (s *Service) try(ctx context.Context, r *task.Run, msg message, n int) (attempt, error) {
	out, err := r.Step(ctx, "try", fmt.Sprintf("Try %d", n), func(ctx context.Context, _ *task.Step) ([]byte, error) {
		d, pause, err := s.post(ctx, msg, tryTimeout)
		if err != nil {
			return nil, err // cut off; another run will make this try
		}
		a := attempt{Delivery: d}
		if next, again := nextTry(n, d.At, pause); again && !d.Delivered() && !d.Gone() {
			a.Next = &next
		}
		return json.Marshal(a)
	})
	if err != nil {
		return attempt{}, err
	}
	var a attempt
	if err := json.Unmarshal(out, &a); err != nil {
		return attempt{}, fmt.Errorf("read a try: %w", err)
	}
	return a, nil
}

// outcome says how the task goes on after this try; false means with the next try, now.
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
