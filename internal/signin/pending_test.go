package signin_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"carrel/internal/credential"
	"carrel/internal/signin"
)

func TestPendingStepIsTakenOnceBeforeItExpires(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	type state struct{ Nonce string }
	begin := func() string {
		t.Helper()
		token, err := f.Pending.Begin(ctx, signin.PendingFactor, f.user.ID, "ses", state{"n"})
		f.must(err)
		return token
	}
	token, expired := begin(), begin()
	var got state
	for range 2 {
		p, err := f.Pending.Get(ctx, signin.PendingFactor, token, &got)
		if err != nil || p.UserID != f.user.ID || p.SessionID != "ses" || got.Nonce != "n" {
			t.Fatalf("got %+v with %+v, %v", p, got, err)
		}
	}
	for name, c := range map[string]struct {
		kind  signin.PendingKind
		token string
	}{
		"another kind":  {signin.PendingUpstream, token},
		"unknown token": {signin.PendingFactor, credential.NewSecret(signin.PendingPrefix)},
		"other prefix":  {signin.PendingFactor, credential.NewSecret("crl")},
		"no token":      {signin.PendingFactor, ""},
	} {
		if _, err := f.Pending.Take(ctx, c.kind, c.token, nil); !errors.Is(err, signin.ErrPending) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var taken atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			switch _, err := f.Pending.Take(ctx, signin.PendingFactor, token, nil); {
			case err == nil:
				taken.Add(1)
			case !errors.Is(err, signin.ErrPending):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := taken.Load(); n != 1 {
		t.Errorf("taken %d times", n)
	}
	f.clock.Advance(signin.PendingLife)
	if _, err := f.Pending.Take(ctx, signin.PendingFactor, expired, nil); !errors.Is(err, signin.ErrPending) {
		t.Errorf("expired step: %v", err)
	}
	f.must(f.Prune(ctx))
}
