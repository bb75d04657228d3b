package httpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/go-faster/jx"

	"carrel/internal/httpapi/oas"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// messageOf converts a message with its answer and feedback.
func messageOf(m thread.Message) oas.Message {
	a := m.Answer
	out := oas.Message{
		ID: m.ID, Role: oas.MessageRole(m.Role), Text: m.Text, Status: oas.TurnEnd(m.Status),
		TurnId: m.TurnID, CreatedAt: timestamp(m.CreatedAt),
		Partial: trueOrOmitted(a.Partial), Citations: citationsOf(a), Checks: checksOf(a),
		Sentences: sentencesOf(a), Actions: actionsOf(a), FollowUps: a.FollowUps,
		Query: optional(a.Query), MemoriesUsed: usedOf(a), Usage: usageOf(a),
		SourceIds: m.Scope.SourceIDs, DocumentIds: m.Scope.DocumentIDs, Steps: stepsOf(a),
	}
	if m.Feedback != nil {
		out.Feedback = oas.NewOptFeedback(feedbackOf(*m.Feedback))
	}
	if m.Error != nil {
		out.Error = oas.NewOptTurnError(oas.TurnError{Code: m.Error.Code, Detail: m.Error.Detail})
	}
	if v := m.Versions; v != nil {
		out.Versions = oas.NewOptMessageVersions(oas.MessageVersions{
			Number: v.Number, Count: v.Count, PreviousId: optional(v.Previous), NextId: optional(v.Next),
		})
	}
	return out
}

// completeOf converts a finished turn for the reply to its message.
func completeOf(turn thread.Turn) *oas.TurnComplete {
	a := turn.Reply.Answer
	return &oas.TurnComplete{
		Status: "complete", Text: turn.Reply.Text, TurnId: turn.ID, MessageId: turn.Reply.ID,
		Partial: trueOrOmitted(a.Partial), Citations: citationsOf(a), Checks: checksOf(a),
		Sentences: sentencesOf(a), Actions: actionsOf(a), FollowUps: a.FollowUps,
		Query: optional(a.Query), MemoriesUsed: usedOf(a), Usage: usageOf(a),
	}
}

func stepsOf(a thread.Answer) []oas.TurnStep {
	var out []oas.TurnStep
	for _, s := range a.Steps {
		out = append(out, turnStepOf(s.N, s.Kind, s.Label, s.State, s.StartedAt, s.EndedAt))
	}
	return out
}

func turnStepOf(
	n int, kind, label string, state task.StepState, startedAt time.Time, endedAt *time.Time,
) oas.TurnStep {
	out := oas.TurnStep{
		N: n, Kind: kind, Label: label, State: oas.StepState(state), StartedAt: timestamp(startedAt),
	}
	if endedAt != nil {
		out.EndedAt = oas.NewOptString(timestamp(*endedAt))
	}
	return out
}

// trueOrOmitted returns true, or nothing if b is false.
func trueOrOmitted(b bool) oas.OptBool { return oas.OptBool{Value: b, Set: b} }

func citationsOf(a thread.Answer) []oas.Citation {
	if len(a.Citations) == 0 {
		return nil
	}
	out := make([]oas.Citation, len(a.Citations))
	for i, c := range a.Citations {
		out[i] = oas.Citation{
			N: c.N, CardId: c.CardID, DocumentId: c.DocumentID, SourceId: c.SourceID, Title: c.Title,
			Authors: emptyNotNull(c.Authors),
			Year:    positive(c.Year), URL: link(c.URL), Doi: optional(c.DOI), Type: optional(c.Type),
			Quote: c.Quote, Start: c.Start, End: c.End, Page: positive(c.Page),
		}
	}
	return out
}

// emptyNotNull returns an empty list for nil, because the contract requires a list.
func emptyNotNull(words []string) []string {
	if words == nil {
		return []string{}
	}
	return words
}

// checksOf returns the sentences whose citations were judged. Clients of earlier versions know only two states, so the
// other sentences are left out here and are part of sentencesOf.
func checksOf(a thread.Answer) []oas.Check {
	var out []oas.Check
	for _, c := range a.Checks {
		state := oas.CheckStateSupported
		switch c.State {
		case thread.Quoted, thread.Supported:
		case thread.Contradicted, thread.Unsupported:
			state = oas.CheckStateUnsupported
		default:
			continue
		}
		out = append(out, oas.Check{
			Start: c.Start, End: c.End, State: state, Verdict: oas.NewOptVerdict(oas.Verdict(c.State)),
			By:         oas.OptJudge{Value: oas.Judge(c.By), Set: c.By != ""},
			ReasonCode: optional(c.Reason), Reason: optional(c.Detail),
		})
	}
	return out
}

// sentencesOf returns all sentences of a reply.
func sentencesOf(a thread.Answer) []oas.Sentence {
	var out []oas.Sentence
	for _, c := range a.Checks {
		out = append(out, oas.Sentence{
			Start: c.Start, End: c.End, Verdict: oas.Verdict(c.State),
			By:         oas.OptJudge{Value: oas.Judge(c.By), Set: c.By != ""},
			ReasonCode: optional(c.Reason), Reason: optional(c.Detail), Citations: c.Citations,
		})
	}
	return out
}

func actionsOf(a thread.Answer) []oas.Action {
	var out []oas.Action
	for _, x := range a.Actions {
		one := oas.Action{
			Kind: oas.ActionKind(x.Kind), State: oas.ActionState(x.State), ID: optional(x.ID), Text: optional(x.Text),
			Title: optional(x.Title), Undo: oas.OptActionUndo{Value: oas.ActionUndo(x.Undo), Set: x.Undo != ""},
		}
		var card map[string]json.RawMessage
		if x.Card != nil && json.Unmarshal(x.Card, &card) == nil {
			one.Card = oas.NewOptActionCard(oas.ActionCard{})
			for key, value := range card {
				one.Card.Value[key] = jx.Raw(value)
			}
		}
		out = append(out, one)
	}
	return out
}

func usedOf(a thread.Answer) []oas.UsedMemory {
	if len(a.MemoriesUsed) == 0 {
		return nil
	}
	out := make([]oas.UsedMemory, len(a.MemoriesUsed))
	for i, m := range a.MemoriesUsed {
		out[i] = oas.UsedMemory{ID: m.ID, Text: m.Text}
	}
	return out
}

func usageOf(a thread.Answer) oas.OptUsage {
	u := a.Usage
	if u == nil {
		return oas.OptUsage{}
	}
	return oas.NewOptUsage(oas.Usage{
		Model: u.Model, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
		CostMicros: u.CostMicros, Estimated: u.Estimated,
	})
}

// GiveFeedback answers PUT …/feedback.
func (h handlers) GiveFeedback(
	ctx context.Context, req *oas.FeedbackGive, p oas.GiveFeedbackParams,
) (*oas.FeedbackReply, error) {
	f, err := h.Threads.GiveFeedback(ctx, actor(ctx), p.AgentId, p.ThreadId, p.MessageId, thread.Thumb(req.Thumb),
		req.Note.Value)
	if err != nil {
		return nil, err
	}
	return &oas.FeedbackReply{Feedback: feedbackOf(f)}, nil
}

// RemoveFeedback answers DELETE …/feedback.
func (h handlers) RemoveFeedback(ctx context.Context, p oas.RemoveFeedbackParams) (*oas.Deleted, error) {
	return deleted(h.Threads.RemoveFeedback(ctx, actor(ctx), p.AgentId, p.ThreadId, p.MessageId))
}

func feedbackOf(f thread.Feedback) oas.Feedback {
	return oas.Feedback{Thumb: oas.Thumb(f.Thumb), Note: optional(f.Note), UpdatedAt: timestamp(f.UpdatedAt)}
}
