package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/testkit"
	kit "carrel/internal/testkit/fixture"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// fixture is a log on an empty database. Tests tamper with the rows that the log reads.
type fixture struct {
	*audit.Log
	t      *testing.T
	db     *store.DB
	clock  *testkit.Clock
	output *testkit.Log
	rows   *tamperedRows
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: kit.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	f := &fixture{t: t, db: db, clock: testkit.NewClock(), output: &testkit.Log{}, rows: &tamperedRows{DB: db}}
	f.Log = audit.New(audit.Deps{
		Store: f.rows, Clock: f.clock, Log: slog.New(slog.NewTextHandler(f.output, nil)),
		Address: func(context.Context) string { return "203.0.113.7" },
	})
	return f
}

// tamperedRows is the real database, as it looks after an attacker with write access has changed it.
type tamperedRows struct {
	*store.DB
	// change edits the rows; nil leaves them unchanged.
	change func([]audit.Entry) []audit.Entry
	// head replaces the stored head, and anchor the stored anchor.
	head, anchor *audit.Head
}

// AuditAnchor reads the tampered anchor.
func (r *tamperedRows) AuditAnchor(ctx context.Context) (audit.Head, error) {
	if r.anchor != nil {
		return *r.anchor, nil
	}
	return r.DB.AuditAnchor(ctx)
}

// AuditFrom reads the tampered rows.
func (r *tamperedRows) AuditFrom(ctx context.Context, seq int64, limit int) ([]audit.Entry, error) {
	entries, err := r.DB.AuditFrom(ctx, 0, 10_000)
	if err != nil {
		return nil, err
	}
	if r.change != nil {
		entries = r.change(entries)
	}
	entries = slices.DeleteFunc(entries, func(e audit.Entry) bool { return e.Seq <= seq })
	return entries[:min(limit, len(entries))], nil
}

// AuditHead reads the tampered head.
func (r *tamperedRows) AuditHead(ctx context.Context) (audit.Head, error) {
	if r.head != nil {
		return *r.head, nil
	}
	return r.DB.AuditHead(ctx)
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// fill appends n entries, of two users in turn, a minute apart.
func (f *fixture) fill(n int) {
	f.t.Helper()
	for i := range n {
		f.must(f.Append(f.t.Context(), audit.Record{
			Event:  audit.KeyCreated,
			UserID: fmt.Sprintf("usr_%d", i%2),
			Actor:  "crd",
			Detail: map[string]string{"id": strconv.Itoa(i)},
		}))
		f.clock.Advance(time.Minute)
	}
}

func (f *fixture) all() []audit.Entry {
	f.t.Helper()
	entries, err := f.db.AuditFrom(f.t.Context(), 0, 10_000)
	f.must(err)
	return entries
}

func TestEntriesFormAChain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must(f.Append(t.Context(), audit.Record{Event: audit.SignedIn, UserID: "usr"}))
	f.fill(3)
	entries := f.all()
	if len(entries) != 4 {
		t.Fatalf("%d entries", len(entries))
	}
	if e := entries[0]; e.Actor != "usr" || e.Detail != "{}" || e.Address != "203.0.113.7" || len(e.Prev) != 0 {
		t.Errorf("first entry %+v", e)
	}
	if e := entries[2]; e.Actor != "crd" || e.Detail != `{"id":"1"}` {
		t.Errorf("third entry %+v", e)
	}
	for i, e := range entries {
		if e.Seq != int64(i+1) || len(e.Hash) != 32 ||
			i > 0 && (!bytes.Equal(e.Prev, entries[i-1].Hash) || e.At.Before(entries[i-1].At)) {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	head, err := f.Verify(t.Context(), nil)
	if last := entries[3]; err != nil || head.Seq != 4 || !bytes.Equal(head.Hash, last.Hash) {
		t.Errorf("head %+v, %v", head, err)
	}
}

func TestEmptyLogIsValid(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if head, err := f.Verify(t.Context(), nil); err != nil || head.Seq != 0 {
		t.Errorf("head %+v, %v", head, err)
	}
}

func TestConcurrentAppendsLeaveNoGap(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() { f.Note(t.Context(), audit.Record{Event: audit.SignedIn, UserID: fmt.Sprintf("usr_%d", i)}) })
	}
	wg.Wait()
	if head, err := f.Verify(t.Context(), nil); err != nil || head.Seq != 20 {
		t.Errorf("head %+v, %v", head, err)
	}
}

// TestTamperingIsFound changes the rows in every way that a write to the database can.
func TestTamperingIsFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(6)
	edit := func(i int, change func(*audit.Entry)) func([]audit.Entry) []audit.Entry {
		return func(entries []audit.Entry) []audit.Entry { change(&entries[i]); return entries }
	}
	for name, c := range map[string]struct {
		change func([]audit.Entry) []audit.Entry
		seq    int64
	}{
		"time":    {edit(2, func(e *audit.Entry) { e.At = e.At.Add(time.Second) }), 3},
		"user":    {edit(2, func(e *audit.Entry) { e.UserID = "usr_x" }), 3},
		"actor":   {edit(2, func(e *audit.Entry) { e.Actor = "crd_x" }), 3},
		"event":   {edit(2, func(e *audit.Entry) { e.Event = audit.KeyRevoked }), 3},
		"detail":  {edit(2, func(e *audit.Entry) { e.Detail = "{}" }), 3},
		"address": {edit(2, func(e *audit.Entry) { e.Address = "" }), 3},
		"hash":    {edit(2, func(e *audit.Entry) { e.Hash = bytes.Repeat([]byte{1}, 32) }), 3},
		"prev":    {edit(2, func(e *audit.Entry) { e.Prev = bytes.Repeat([]byte{1}, 32) }), 3},
		"bytes moved between fields": {edit(2, func(e *audit.Entry) {
			e.UserID, e.Actor = e.UserID+e.Actor[:1], e.Actor[1:]
		}), 3},
		"removed row":       {func(entries []audit.Entry) []audit.Entry { return slices.Delete(entries, 2, 3) }, 3},
		"removed first row": {func(entries []audit.Entry) []audit.Entry { return entries[1:] }, 1},
		"removed last row":  {func(entries []audit.Entry) []audit.Entry { return entries[:5] }, 6},
		"removed all rows":  {func([]audit.Entry) []audit.Entry { return nil }, 1},
		"inserted row":      {func(entries []audit.Entry) []audit.Entry { return slices.Insert(entries, 2, entries[1]) }, 3},
		"swapped rows": {func(entries []audit.Entry) []audit.Entry {
			entries[2], entries[3] = entries[3], entries[2]
			return entries
		}, 3},
		"redaction without a deletion":              {edit(2, func(e *audit.Entry) { e.UserID, e.RedactedBy = "", 99 }), 99},
		"redaction by an entry that is no deletion": {edit(2, func(e *audit.Entry) { e.UserID, e.RedactedBy = "", 5 }), 5},
	} {
		f.rows.change = c.change
		_, err := f.Verify(t.Context(), nil)
		var broken *audit.BrokenError
		if !errors.As(err, &broken) || broken.Seq != c.seq {
			t.Errorf("%s: %v, want entry %d", name, err, c.seq)
		}
	}
	f.rows.change = nil
	if _, err := f.Verify(t.Context(), nil); err != nil {
		t.Errorf("unchanged: %v", err)
	}
}

// TestRewrittenChainIsFoundByANotedHead replaces the whole log by a valid one.
func TestRewrittenChainIsFoundByANotedHead(t *testing.T) {
	t.Parallel()
	f, forged := newFixture(t), newFixture(t)
	f.fill(4)
	noted, err := f.Verify(t.Context(), nil)
	f.must(err)
	f.fill(2)
	if _, err := f.Verify(t.Context(), &noted); err != nil {
		t.Errorf("noted head of an unchanged log: %v", err)
	}
	forged.clock.Advance(time.Hour)
	forged.fill(6)
	head, err := forged.db.AuditHead(t.Context())
	f.must(err)
	rows := forged.all()
	f.rows.change, f.rows.head = func([]audit.Entry) []audit.Entry { return slices.Clone(rows) }, &head
	if _, err := f.Verify(t.Context(), nil); err != nil {
		t.Errorf("a forged chain without a noted head: %v", err)
	}
	var broken *audit.BrokenError
	if _, err := f.Verify(t.Context(), &noted); !errors.As(err, &broken) || broken.Seq != 4 {
		t.Errorf("a forged chain with a noted head: %v", err)
	}
	short := audit.Head{Seq: rows[2].Seq, Hash: rows[2].Hash}
	f.rows.change, f.rows.head = func([]audit.Entry) []audit.Entry { return slices.Clone(rows[:3]) }, &short
	if _, err := f.Verify(t.Context(), &noted); !errors.As(err, &broken) || broken.Seq != 4 {
		t.Errorf("a truncated chain with a noted head: %v", err)
	}
}

// redact removes the personal data of a user from the log, as the deletion of the account does, and appends the
// deletion.
func (f *fixture) redact(userID string) {
	f.t.Helper()
	var redacted audit.Redacted
	var deletion int64
	f.must(f.db.AppendAudit(f.t.Context(), func(head audit.Head) audit.Entry {
		deletion, redacted = head.Seq+1, audit.Redacted{}
		for _, e := range f.all() {
			if e.UserID == userID {
				redacted.Add(e)
			}
		}
		return audit.Deletion(head, f.clock.Now(), "operator", &redacted)
	}))
	f.rows.change = func(entries []audit.Entry) []audit.Entry {
		for i, e := range entries {
			if e.UserID == userID {
				entries[i].UserID, entries[i].Actor, entries[i].Detail, entries[i].Address = "", "", "", ""
				entries[i].RedactedBy = deletion
			}
		}
		return entries
	}
}

func TestRedactedEntriesAreAccountedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(6)
	f.redact("usr_1")
	f.fill(1)
	if head, err := f.Verify(t.Context(), nil); err != nil || head.Seq != 8 {
		t.Fatalf("after a deletion: head %+v, %v", head, err)
	}
	honest := f.rows.change
	for name, change := range map[string]func([]audit.Entry) []audit.Entry{
		"another entry is redacted too": func(entries []audit.Entry) []audit.Entry {
			entries[2].UserID, entries[2].RedactedBy = "", 7
			return entries
		},
		"the event of a redacted entry changes": func(entries []audit.Entry) []audit.Entry {
			entries[1].Event = audit.SignedOut
			return entries
		},
		"the time of a redacted entry changes": func(entries []audit.Entry) []audit.Entry {
			entries[1].At = entries[1].At.Add(time.Second)
			return entries
		},
	} {
		f.rows.change = func(entries []audit.Entry) []audit.Entry { return change(honest(entries)) }
		var broken *audit.BrokenError
		if _, err := f.Verify(t.Context(), nil); !errors.As(err, &broken) || broken.Seq != 7 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDeletionOfAnAccountWithoutEntriesIsValid(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(2)
	f.redact("usr_none")
	entries := f.all()
	if last := entries[len(entries)-1]; last.Event != audit.AccountDeleted || last.UserID != "" ||
		last.Detail != `{"entries":"0"}` {
		t.Errorf("deletion %+v", last)
	}
	if _, err := f.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestEntriesAreListedInPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(7)
	scopes := []core.Scope{core.ScopeAccount}
	user := core.Actor{UserID: "usr_0", Plan: core.PlanOpen, Credential: core.CredentialSession, Scopes: scopes}
	pages := func(list func(core.Page) ([]audit.Entry, string, error)) (seqs []int64) {
		t.Helper()
		page := core.Page{Limit: 2}
		for {
			entries, next, err := list(page)
			f.must(err)
			for _, e := range entries {
				seqs = append(seqs, e.Seq)
			}
			if page.Cursor = next; next == "" {
				return seqs
			}
			f.fill(2) // entries appended between two pages do not shift them
		}
	}
	own := pages(func(p core.Page) ([]audit.Entry, string, error) { return f.Own(t.Context(), user, p) })
	if !slices.Equal(own, []int64{7, 5, 3, 1}) {
		t.Errorf("own entries %v", own)
	}
	head, err := f.db.AuditHead(t.Context())
	f.must(err)
	all := pages(func(p core.Page) ([]audit.Entry, string, error) { return f.All(t.Context(), core.Operator(""), "", p) })
	if int64(len(all)) != head.Seq || !slices.IsSortedFunc(all, func(a, b int64) int { return int(b - a) }) {
		t.Errorf("all entries %v, head %d", all, head.Seq)
	}
	if _, _, err := f.All(t.Context(), user, "usr_1", core.Page{}); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("a member reads the log of others: %v", err)
	}
	if _, _, err := f.Own(t.Context(), core.Actor{}, core.Page{}); err == nil {
		t.Error("the zero actor reads a log")
	}
	for _, cursor := range []string{
		"x", core.EncodeCursor("audit", "0"), core.EncodeCursor("audit", "-1"), core.EncodeCursor("keys", "1"),
	} {
		if _, _, err := f.Own(t.Context(), user, core.Page{Cursor: cursor}); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

func TestNoteOutlivesTheRequestAndLogsFailures(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.Note(ctx, audit.Record{Event: audit.SignedOut, UserID: "usr"})
	if entries := f.all(); len(entries) != 1 || entries[0].Event != audit.SignedOut {
		t.Errorf("entries after a cancelled request: %+v", entries)
	}
	f.must(f.db.Close())
	f.Note(t.Context(), audit.Record{Event: audit.SignedIn, UserID: "usr"})
	if got := f.output.String(); !strings.Contains(got, "audit entry not stored") || !strings.Contains(got, "sign_in") {
		t.Errorf("log output %q", got)
	}
}

func TestActorIDIsTheCredentialOrItsKind(t *testing.T) {
	t.Parallel()
	if got := audit.ActorID(core.Actor{CredentialID: "crd", Credential: core.CredentialKey}); got != "crd" {
		t.Errorf("with a key: %q", got)
	}
	if got := audit.ActorID(core.Operator("usr")); got != "operator" {
		t.Errorf("the operator: %q", got)
	}
}

func TestNewPanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	log := slog.New(slog.DiscardHandler)
	for missing, deps := range map[string]audit.Deps{
		"Store": {Clock: f.clock, Log: log}, "Clock": {Store: f.db, Log: log}, "Log": {Store: f.db, Clock: f.clock},
	} {
		func() {
			defer func() {
				if message := fmt.Sprint(recover()); !strings.Contains(message, "Deps."+missing) {
					t.Errorf("without %s: %s", missing, message)
				}
			}()
			audit.New(deps)
		}()
	}
}
