package research

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/memory"
	"carrel/internal/model"
	"carrel/internal/research/quote"
	"carrel/internal/task"
	"carrel/internal/thread"
)

const (
	// talkTokens limits the reply of a conversation.
	talkTokens = 600
	// maxKnown and knownTokens limit the memories that are shown to the model.
	maxKnown, knownTokens = 20, 800
)

// recall returns the memories relevant to the message, and the other memories that fit into the budget. If they cannot
// be read, the turn continues without.
func (t *turn) recall(ctx context.Context) (relevant, others []thread.UsedMemory) {
	recalled, err := t.Memories.Recall(ctx, t.q.UserID, t.q.AgentID, t.q.Text)
	var known []memory.Memory
	if err == nil {
		known, err = t.Memories.Known(ctx, t.q.UserID, t.q.AgentID)
	}
	if err != nil {
		t.Log.WarnContext(ctx, "recall memories", "error", err)
	}
	budget := knownTokens
	fits := func(m memory.Memory) bool {
		one := thread.UsedMemory{ID: m.ID, Text: m.Text}
		n := tokensOf(m.Text)
		if n > budget || len(relevant)+len(others) == maxKnown || slices.Contains(relevant, one) {
			return false
		}
		budget -= n
		return true
	}
	for _, m := range recalled {
		if fits(m) {
			relevant = append(relevant, thread.UsedMemory{ID: m.ID, Text: m.Text})
		}
	}
	for _, m := range known {
		if fits(m) {
			others = append(others, thread.UsedMemory{ID: m.ID, Text: m.Text})
		}
	}
	return relevant, others
}

// showAllMemories adds the other memories to the relevant ones. Replies that are not searched for need not share words
// with the memories that matter to them ("What do you know about me?").
func (t *turn) showAllMemories() {
	t.ready.Memories, t.ready.OtherMemories = append(t.ready.Memories, t.ready.OtherMemories...), nil
}

// converse replies from the conversation, the memories and the agent's description, without a search. declined is set
// if the model needs facts from the sources.
func (t *turn) converse(ctx context.Context) (answer thread.Answer, declined bool, err error) {
	live := &answerStream{say: t.run.Delta}
	text := t.ready.about() + t.ready.conversation() + t.ready.notes() + "Message: " + t.ready.defuse(t.q.Text)
	draft, err := t.ask(ctx, "reply", "Writing the reply", model.Request{
		System: t.ready.system(talkPrompt), MaxTokens: min(talkTokens, t.limits.AnswerTokens),
		Messages: []model.Message{{Role: model.RoleUser, Text: text}},
	}, live)
	if err != nil {
		return thread.Answer{}, false, err
	}
	reply := draft.whole()
	small := guessKind(t.rest, true).smallTalk
	switch {
	case reply == "" && draft.Failure == nil:
		draft.Failure = modelFailed("The model returned an empty answer. Try again.")
		fallthrough
	case reply == "":
		answer, err = t.withoutReply(draft.Failure)
		return answer, false, err
	case declinesToAnswer(reply) && !small:
		return thread.Answer{}, true, nil
	}
	t.memoriesShown = true
	checked, err := step(ctx, t, "check", "Checking the reply", func(context.Context, *task.Step) (checked, error) {
		checks := sanitize(reply, nil)
		out := checked{Text: strings.TrimRight(checks.Text, " \n\t")}
		out.Checks = t.judgeSentences(checks, nil)
		return out, nil
	})
	if err != nil {
		return thread.Answer{}, false, err
	}
	if checked.Text == "" {
		answer, err = t.withoutReply(modelFailed("The model returned an empty answer. Try again."))
		return answer, false, err
	}
	if draft.Unseen {
		t.discard(draft.Shown)
		t.run.Delta(checked.Text)
	}
	return t.reply(&gathered{}, draft, checked), false, nil
}

// about returns the description of the agent and its sources.
func (p prepared) about() string {
	var b strings.Builder
	b.WriteString("name: " + p.Name + "\n")
	if p.Description != "" {
		b.WriteString("description: " + p.Description + "\n")
	}
	for _, s := range p.Sources {
		fmt.Fprintf(&b, "source: %s (%s)\n", s.Name, count(s.Documents, "document"))
	}
	return p.fence(`kind="description of this assistant"`, b.String())
}

// withoutReply replies if the model did not. A model that is too slow is no reason for a failed turn, so the reply says
// what is known without it.
func (t *turn) withoutReply(f *failure) (thread.Answer, error) {
	if !f.isTimeout() {
		return thread.Answer{}, f.err()
	}
	var answer thread.Answer
	switch intent := quote.IntentOf(t.rest); {
	case intent == quote.AskAboutUser && len(t.ready.Memories) > 0, intent == quote.AskHistory && len(t.ready.Talk) > 0:
		t.memoriesShown = intent == quote.AskAboutUser
		answer = t.fixedReply(intent, t.ready.Memories, t.ready.Talk, nil)
	}
	answer.Text = strings.TrimSpace(t.actionTexts().noReply + "\n\n" + answer.Text)
	answer.Partial, answer.Checks = true, wholeText(answer.Text)
	t.run.Delta(answer.Text)
	return answer, nil
}

// fixedExamples is how many example questions a reply without a model holds.
const fixedExamples = 3

// talkWithoutModel replies to a message that is no question to the sources: from fixed texts, the memories and the
// thread. done reports whether it is such a message.
func (t *turn) talkWithoutModel(ctx context.Context) (answer thread.Answer, done bool, err error) {
	intent := quote.IntentOf(t.rest)
	if intent == quote.AskSources {
		return thread.Answer{}, false, nil
	}
	answer, err = step(ctx, t, "reply", "Writing the reply",
		func(ctx context.Context, _ *task.Step) (thread.Answer, error) {
			var memories []thread.UsedMemory
			var examples []string
			talk := t.ready.Talk
			switch intent {
			case quote.AskAboutUser:
				relevant, others := t.recall(ctx)
				memories = append(relevant, others...)
			case quote.AskHistory:
				messages, err := t.Conversation.Messages(ctx, t.q.ThreadID, 0, historyMessages)
				if err != nil {
					return thread.Answer{}, err
				}
				var all prepared
				all.history(t, messages)
				talk = all.Talk
			case quote.Greeting, quote.AskAbilities:
				var err error
				if examples, err = t.Examples(ctx, t.q.UserID, t.q.AgentID, fixedExamples); err != nil {
					t.Log.WarnContext(ctx, "find example questions", "turn", t.run.Task().ID, "error", err)
				}
			}
			out := t.fixedReply(intent, memories, talk, examples)
			t.run.Delta(out.Text)
			return out, nil
		})
	return answer, true, err
}

// fixedReply returns the reply without a model to a message that is no question to the sources.
func (t *turn) fixedReply(
	intent quote.Intent, memories []thread.UsedMemory, talk []exchange, examples []string,
) thread.Answer {
	o := quote.Occasion{Message: t.rest, Examples: examples}
	for _, m := range memories {
		o.Memories = append(o.Memories, oneLine(m.Text))
	}
	for _, e := range talk {
		o.Questions = append(o.Questions, oneLine(clip(e.Question, longestMemory)))
	}
	answer := thread.Answer{Text: quote.Reply(intent, o), MemoriesUsed: memories}
	answer.Checks = wholeText(answer.Text)
	if intent == quote.AskAboutUser && len(memories) > 0 {
		answer.Checks[0].State = thread.FromMemory
	}
	return answer
}

// describe returns the outcomes of actions as a text.
func (x actionTexts) describe(actions []thread.Action) string {
	var lines []string
	choices := 0
	for _, a := range actions {
		object := oneLine(cmp.Or(a.Text, a.Title))
		var line string
		switch a.State {
		case thread.ActionDone:
			line = fill(x.done[a.Kind], object)
		case thread.ActionUnchanged:
			line = fill(x.unchanged[a.Kind], object)
		case thread.ActionProposed:
			line = fill(x.proposed, a.Text)
		case thread.ActionChoice:
			if choices++; choices == 1 {
				lines = append(lines, x.choose[a.Kind])
			}
			line = fmt.Sprintf("%d. %s", choices, object)
		case thread.ActionNotFound:
			line = fill(x.noDocument, object)
			if isMemory(a.Kind) {
				line = fill(x.noMemory, object)
			}
		case thread.ActionRefused:
			line = x.refused
		default:
			line = x.failed
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
