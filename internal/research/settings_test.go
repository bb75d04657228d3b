package research_test

import (
	"slices"
	"strings"
	"testing"

	"carrel/internal/agent"
	"carrel/internal/thread"
)

func TestPolicyDecidesAboutUnsupportedSentences(t *testing.T) {
	t.Parallel()
	const answer = "The old bridge was built of stone in 1850 [1]. It fell down in 1999 [1]. " +
		"Bridges like it are famous in Norway."
	for policy, c := range map[agent.Policy]struct {
		want   string
		asked  []string
		states []thread.CheckState
	}{
		"": {answer, []string{"plan", "evidence", "answer", "repair"}, []thread.CheckState{
			thread.Quoted, thread.Unsupported, thread.Uncited,
		}},
		agent.PolicyMarked: {answer, []string{"plan", "evidence", "answer", "repair"}, []thread.CheckState{
			thread.Quoted, thread.Unsupported, thread.Uncited,
		}},
		agent.PolicyStrict: {
			"The old bridge was built of stone in 1850 [1].",
			[]string{"plan", "evidence", "answer", "repair"},
			[]thread.CheckState{thread.Quoted},
		},
		agent.PolicyOpen: {answer, []string{"plan", "evidence", "answer"}, []thread.CheckState{
			thread.Quoted, thread.Unsupported, thread.Uncited,
		}},
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			w := bridges(t)
			w.agent.Policy = policy
			s := w.fake(brain{answer: says(answer), repair: says(answer)})
			got := w.ask(aboutBridge)
			w.holds(got)
			var states []thread.CheckState
			for _, x := range got.Checks {
				state := x.State
				if x.Refuted() {
					state = thread.Unsupported
				}
				states = append(states, state)
			}
			if got.Text != c.want || got.shown != c.want || !slices.Equal(states, c.states) ||
				!slices.Equal(stages(s), c.asked) {
				t.Errorf("%q (shown %q) with %+v after %q", got.Text, got.shown, got.Checks, stages(s))
			}
		})
	}
}

func TestSettingsOfTheAgentReachTheWriter(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.agent.Settings = agent.Settings{AnswerLength: agent.AnswerShort, Language: "de"}
	s := w.fake(brain{})
	w.ask(aboutBridge)
	for _, r := range s.Requests() {
		if stage(r) == "answer" && (!strings.Contains(r.System, "one to three sentences") ||
			!strings.Contains(r.System, "unless the user asks for another: German.") || r.MaxTokens != 750) {
			t.Errorf("%d tokens: %s", r.MaxTokens, r.System)
		}
	}
}
