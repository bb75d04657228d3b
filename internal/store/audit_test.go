package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/testkit"
)

func (w *fixture) auditLog() *audit.Log {
	return audit.New(audit.Deps{
		Store: w.db, Clock: core.SystemClock{}, Log: slog.New(slog.DiscardHandler),
		Address: func(context.Context) string { return "203.0.113.7" },
	})
}

func (w *fixture) note(log *audit.Log, userID, n string) {
	w.t.Helper()
	w.must(log.Append(w.ctx, audit.Record{Event: audit.SignedIn, UserID: userID, Detail: map[string]string{"n": n}}))
}

var auditTests = []test{
	{"EntriesAreListedNewestFirstForOneUserOrAll", func(w *fixture) {
		log := w.auditLog()
		for i := range 3 {
			w.note(log, w.ada.id, strconv.Itoa(i))
			w.note(log, w.bert.id, strconv.Itoa(i))
		}
		w.note(log, "", "nobody")
		all, err := log.List(w.ctx, "", 0, 3)
		w.must(err)
		w.same("all", details(all), []string{`{"n":"nobody"}`, `{"n":"2"}`, `{"n":"2"}`})
		hers, err := log.List(w.ctx, w.ada.id, 0, 2)
		w.must(err)
		w.same("hers", details(hers), []string{`{"n":"2"}`, `{"n":"1"}`})
		older, err := log.List(w.ctx, w.ada.id, hers[1].Seq, 10)
		w.must(err)
		w.same("older", details(older), []string{`{"n":"0"}`})
		e := older[0]
		if e.UserID != w.ada.id || e.Actor != w.ada.id || e.Event != audit.SignedIn || e.Address != "203.0.113.7" ||
			e.At.IsZero() {
			w.t.Errorf("an entry is %+v", e)
		}
	}},
	{"ConcurrentAppendsFormOneChain", func(w *fixture) {
		const callers, each = 24, 20
		log := w.auditLog()
		before, err := w.db.AuditHead(w.ctx)
		w.must(err)
		testkit.Concurrently(callers, func(i int) {
			for n := range each {
				if err := log.Append(w.ctx, audit.Record{
					Event: audit.SignedIn, UserID: w.ada.id,
					Detail: map[string]string{"n": fmt.Sprint(i, n)},
				}); err != nil {
					w.t.Error(err)
				}
			}
		})
		end, err := log.Verify(w.ctx, nil)
		w.must(err)
		w.same("entries", end.Seq-before.Seq, int64(callers*each))
		entries, err := w.db.AuditFrom(w.ctx, before.Seq, callers*each)
		w.must(err)
		for i := 1; i < len(entries); i++ {
			if entries[i].At.Before(entries[i-1].At) {
				w.t.Errorf("entry %d is older than the one before it", entries[i].Seq)
			}
		}
		again, err := log.Verify(w.ctx, &end)
		w.must(err)
		w.same("the noted end", again, end)
	}},
	{"MissingHeadIsDetected", func(w *fixture) {
		log := w.auditLog()
		w.note(log, w.ada.id, "x")
		end, err := log.Verify(w.ctx, nil)
		w.must(err)
		for name, noted := range map[string]audit.Head{
			"another hash": {Seq: end.Seq, Hash: []byte("other")}, "a later entry": {Seq: end.Seq + 1, Hash: end.Hash},
		} {
			_, err := log.Verify(w.ctx, &noted)
			var broken *audit.BrokenError
			if !errors.As(err, &broken) || broken.Seq != noted.Seq {
				w.t.Errorf("%s: %v", name, err)
			}
		}
	}},
}

func details(entries []audit.Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Detail)
	}
	return out
}
