package memory_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/memory"
)

// recalled returns the texts recalled for a text.
func (w *testService) recalled(t *testing.T, text string) []string {
	t.Helper()
	memories, err := w.Recall(t.Context(), w.Ada.UserID, w.Agent, text)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, m := range memories {
		out = append(out, m.Text)
	}
	return out
}

func (w *testService) pin(t *testing.T, m memory.Memory) {
	t.Helper()
	pinned := true
	if _, err := w.Change(t.Context(), w.Ada, w.Agent, m.ID, memory.Change{Pinned: &pinned}); err != nil {
		t.Fatal(err)
	}
}

func TestMemoriesWithSharedWordsAreRecalledBestFirst(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.add(t, w.Agent, "My thesis is about relational databases and query planning.")
	w.add(t, w.Agent, "I read German.")
	w.add(t, w.Agent, "Databases bore my sister.")
	w.add(t, w.SecondAgent, "Another agent knows of relational databases.")
	want := []string{"My thesis is about relational databases and query planning.", "Databases bore my sister."}
	if got := w.recalled(t, "Who proposed RELATIONAL databases?"); !slices.Equal(got, want) {
		t.Errorf("recalled %q", got)
	}
	if got := w.recalled(t, "Something else entirely"); len(got) != 0 {
		t.Errorf("recalled %q", got)
	}
	if got, err := w.Recall(t.Context(), w.Bob.UserID, w.Agent, "relational databases"); err != nil || len(got) != 0 {
		t.Errorf("another user's turn recalled %v, %v", got, err)
	}
}

func TestNewerAndPinnedMemoriesRankHigher(t *testing.T) {
	t.Parallel()
	w := newService(t)
	old := w.add(t, w.Agent, "green tea please")
	w.Clock.Advance(365 * 24 * time.Hour)
	w.add(t, w.Agent, "green tea always")
	if got := w.recalled(t, "tea"); !slices.Equal(got, []string{"green tea always", "green tea please"}) {
		t.Errorf("recalled %q", got)
	}
	w.pin(t, old)
	if got := w.recalled(t, "tea"); !slices.Equal(got, []string{"green tea please", "green tea always"}) {
		t.Errorf("with a pin %q", got)
	}
	if got := w.recalled(t, "what is the weather"); !slices.Equal(got, []string{"green tea please"}) {
		t.Errorf("a pinned one that shares no word: %q", got)
	}
}

func TestRecallIsLimitedInLength(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.add(t, w.Agent, "tea "+strings.Repeat("x", 1700))
	for _, text := range []string{"tea one", "tea two", "tea three", "tea four", "tea five", "tea six"} {
		w.add(t, w.Agent, text)
	}
	if got := w.recalled(t, "tea"); len(got) != 5 ||
		slices.ContainsFunc(got, func(s string) bool { return len(s) > 20 }) {
		t.Errorf("recalled %q", got)
	}
	for _, c := range []struct {
		text string
		most int
	}{{"milk " + strings.Repeat("y", 700) + " ", 2}, {"honig " + strings.Repeat("蜜", 150), 2}} {
		word, _, _ := strings.Cut(c.text, " ")
		for i := range 4 {
			w.add(t, w.Agent, c.text+strings.Repeat("z", i+1))
		}
		if got := w.recalled(t, word); len(got) != c.most {
			t.Errorf("%d of %s are recalled, want %d", len(got), word, c.most)
		}
	}
}

func TestProposalIsNotRecalledBeforeItIsConfirmed(t *testing.T) {
	t.Parallel()
	w, ctx := newService(t), t.Context()
	propose := func(text string) {
		t.Helper()
		if err := w.Propose(ctx, w.Ada.UserID, w.Agent, "", "", text); err != nil {
			t.Fatal(err)
		}
	}
	proposed := func() []memory.Memory {
		t.Helper()
		list, _, err := w.List(ctx, w.Ada, w.Agent, memory.Filter{Status: memory.StatusProposed}, core.Page{})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	propose(" I like  Green ")
	propose("i like green")
	list := proposed()
	if len(list) != 1 || list[0].Text != "I like  Green" || list[0].Origin != memory.OriginAgent ||
		list[0].Status != memory.StatusProposed {
		t.Fatalf("proposed %+v", list)
	}
	if got := w.recalled(t, "green"); len(got) != 0 {
		t.Errorf("recalled before confirmation: %q", got)
	}
	if _, err := w.Confirm(ctx, w.Bob, w.BobsAgent, list[0].ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("confirmation by another user: %v", err)
	}
	if m, err := w.Confirm(ctx, w.Ada, w.Agent, list[0].ID); err != nil || m.Status != memory.StatusActive {
		t.Errorf("confirmed %+v, %v", m, err)
	}
	if got := w.recalled(t, "green"); len(got) != 1 {
		t.Errorf("recalled after confirmation: %q", got)
	}
	propose("blue")
	if err := w.Dismiss(ctx, w.Ada, w.Agent, proposed()[0].ID); err != nil {
		t.Fatal(err)
	}
	propose("BLUE")
	if left := proposed(); len(left) != 0 {
		t.Errorf("proposed again after dismissal: %+v", left)
	}
	for _, bad := range []string{"", " ", strings.Repeat("x", 4001), "a\x00b"} {
		if err := w.Propose(ctx, w.Ada.UserID, w.Agent, "", "", bad); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%.10q: %v", bad, err)
		}
	}
	_, _, err := w.List(ctx, w.Ada, w.Agent, memory.Filter{Status: "dismissed"}, core.Page{})
	if !core.IsKind(err, core.KindInvalid) {
		t.Errorf("the dismissed ones can be listed: %v", err)
	}
}
