package agent_test

import (
	"testing"

	"carrel/internal/agent"
	"carrel/internal/core"
)

func TestASharedAgentIsUsedAsItsOwnerAllows(t *testing.T) {
	t.Parallel()
	w, ctx, name := newWorld(t), t.Context(), "x"
	mine := w.make(t, w.ada, "Mine")
	code := func(err error) string {
		if err == nil {
			return ""
		}
		return core.AsError(err).Code
	}
	for _, c := range []struct {
		grant                      string
		read, chat, change, delete string
	}{
		{"", "not_found", "not_found", "not_found", "not_found"},
		{"viewer", "", "forbidden", "forbidden", "forbidden"},
		{"user", "", "", "forbidden", "forbidden"},
		{"manager", "", "", "", "forbidden"},
	} {
		if c.grant != "" {
			if err := w.Share(ctx, w.ada, mine.ID, w.bob.UserID, c.grant); err != nil {
				t.Fatal(err)
			}
		}
		_, read := w.Get(ctx, w.bob, mine.ID)
		_, change := w.Change(ctx, w.bob, mine.ID, agent.Change{Name: &name})
		for what, got := range map[string][2]string{
			"read": {code(read), c.read}, "chat": {code(w.Allow(ctx, w.bob, core.OpSendMessage, mine.ID)), c.chat},
			"change": {code(change), c.change}, "delete": {code(w.Delete(ctx, w.bob, mine.ID)), c.delete},
		} {
			if got[0] != got[1] {
				t.Errorf("with the grant %q, %s: %q, want %q", c.grant, what, got[0], got[1])
			}
		}
	}
	for name, err := range map[string]error{
		"forbidden":       w.Share(ctx, w.bob, mine.ID, "", "user"),
		"invalid_request": w.Share(ctx, w.ada, mine.ID, w.bob.UserID, "owner"),
		"not_found":       w.Share(ctx, w.ada, mine.ID, "somebody", "user"),
	} {
		if code(err) != name {
			t.Errorf("want %s: %v", name, err)
		}
	}
	if shares, err := w.Shares(ctx, w.ada, mine.ID); err != nil || len(shares) != 1 || shares[0].Grant != core.GrantManager {
		t.Errorf("shared with %+v, %v", shares, err)
	}
	if err := w.Unshare(ctx, w.ada, mine.ID, w.bob.UserID); err != nil {
		t.Error(err)
	}
	if _, err := w.Get(ctx, w.bob, mine.ID); code(err) != "not_found" {
		t.Errorf("after it was taken away: %v", err)
	}
}
