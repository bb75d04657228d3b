package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/source"
)

func TestCheckText(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"SentencesHaveAStateAndEvidence", checkedSentences},
		{"SourcesAndDocumentsLimitTheEvidence", checkLimits},
		{"SharedAgentNeedsTheGrantOfAUser", checkSharedAgent},
		{"PlanAndSpendCapRefuseTheCheck", checkRefused},
	})
}

func checkedSentences(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	d := p.loaded(codd())
	text := "  # Nötes\n\nA relational model is proposed. A relational model is not proposed. Bees dance."
	got := p.post(p.at("/check"), object{"text": text, "markdown": true}).ok(t)
	sentences := got.value("sentences").([]any)
	var states []string
	for _, s := range sentences {
		states = append(states, s.(object)["state"].(string))
	}
	if want := []string{"talk", "quoted", "contradicted", "uncited"}; !slices.Equal(states, want) {
		t.Fatalf("the states are %q, want %q: %s", states, want, got.body)
	}
	quoted := sentences[1].(object)
	evidence := quoted["evidence"].([]any)[0].(object)
	want := object{
		"documentId": d.ID, "sourceId": d.SourceID, "cardId": d.CardID(), "title": d.Title, "year": 1970.0,
		"quote": "A relational model is proposed.", "start": 25.0, "end": 56.0, "stance": "supports",
	}
	for key, value := range want {
		if evidence[key] != value {
			t.Errorf("%s is %v, want %v", key, evidence[key], value)
		}
	}
	// Leading white space counts, so that clients need not know how the server trims.
	runes := []rune(text)
	if start, end := int(quoted["start"].(float64)), int(quoted["end"].(float64)); start != 11 ||
		string(runes[start:end]) != "A relational model is proposed." || quoted["by"] != "rules" {
		t.Errorf("the quoted sentence is %v", quoted)
	}
	if s := sentences[2].(object); s["reasonCode"] != "negation" || s["reason"] == "" ||
		s["evidence"].([]any)[0].(object)["stance"] != "contradicts" {
		t.Errorf("the contradicted sentence is %v", s)
	}
	if counts := got.value("counts").(object); counts["quoted"] != 1.0 || counts["talk"] != 1.0 ||
		counts["uncited"] != 1.0 || counts["memory"] != 0.0 || len(counts) != 8 {
		t.Errorf("the counts are %v", counts)
	}
	if md := got.str("markdown"); !strings.HasPrefix(md, "  # Nötes\n\nA relational model is proposed.[^") {
		t.Errorf("the Markdown is %s", md)
	}
	if got := p.post(p.at("/check"), object{"text": "Hello!"}).ok(t); strings.Contains(string(got.body), "markdown") {
		t.Errorf("Markdown without a request: %s", got.body)
	}
}

func checkLimits(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	d, theirs := p.loaded(codd()), other.loaded(codd())
	added, err := w.sources.AddOrFind(t.Context(), core.Operator(p.id), p.agent, source.New{Name: "Second"})
	if err != nil {
		t.Fatal(err)
	}
	second := added.ID
	state := func(body object) string {
		body["text"] = "A relational model is proposed."
		return p.post(p.at("/check"), body).ok(t).value("sentences").([]any)[0].(object)["state"].(string)
	}
	for name, c := range map[string]struct {
		body object
		want string
	}{
		"everything":            {object{"sourceIds": []string{}, "documentIds": []string{}}, "quoted"},
		"the source":            {object{"sourceIds": []string{d.SourceID, d.SourceID}}, "quoted"},
		"another source":        {object{"sourceIds": []string{second}}, "uncited"},
		"the document":          {object{"documentIds": []string{d.ID}}, "quoted"},
		"not in another source": {object{"documentIds": []string{d.ID}, "sourceIds": []string{second}}, "uncited"},
	} {
		if got := state(c.body); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	refuse := func(body object) answer {
		body["text"] = "A relational model is proposed."
		return p.post(p.at("/check"), body)
	}
	refuse(object{"documentIds": []string{theirs.ID}}).refused(t, 404, "not_found")
	refuse(object{"documentIds": []string{d.ID, "doc_none"}}).refused(t, 404, "not_found")
	for pointer, body := range map[string]object{
		"/sourceIds":     {"sourceIds": []string{d.SourceID, theirs.SourceID}},
		"/sourceIds/0":   {"sourceIds": []string{""}},
		"/documentIds":   {"documentIds": slices.Repeat([]string{d.ID}, 51)},
		"/markdown":      {"markdown": "yes"},
		"/documentIds/0": {"documentIds": []string{""}},
	} {
		if got := refuse(body).refused(t, 400, "invalid_request").pointers(); !slices.Equal(got, []string{pointer}) {
			t.Errorf("%v is refused at %q", body, got)
		}
	}
}

// A check may cost money, so that viewers of a shared agent cannot use it.
func checkSharedAgent(t *testing.T, w *testServer) {
	owner, reader := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	owner.loaded(codd())
	check := func() answer {
		return reader.post(owner.at("/check"), object{"text": "A relational model is proposed."})
	}
	check().refused(t, 404, "not_found")
	for _, grant := range []string{"viewer", "user"} {
		owner.send("PUT", owner.at("/grants/"+reader.id), `{"grant":"`+grant+`"}`).ok(t)
		if grant == "viewer" {
			reader.accept(owner.agent)
			check().refused(t, 403, "forbidden")
		}
	}
	got := check().ok(t)
	if s := got.value("sentences").([]any)[0].(object); s["state"] != "quoted" {
		t.Errorf("checked %v", s)
	}
}

func checkRefused(t *testing.T, w *testServer) {
	p, poor := w.user(t, core.PlanOpen), w.user(t, core.PlanNone)
	body := object{"text": "A relational model is proposed."}
	poor.post(poor.at("/check"), body).refused(t, 402, "no_subscription")
	nothing := int64(0)
	if err := w.db.SetSpendCap(t.Context(), p.id, &nothing); err != nil {
		t.Fatal(err)
	}
	p.post(p.at("/check"), body).refused(t, 402, "spend_cap_reached")
	w.user(t, core.PlanOpen).post(p.at("/check"), body).refused(t, 404, "not_found")
}
