package httpapi

import (
	"context"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
	"carrel/internal/research"
	"carrel/internal/thread"
)

// TextChecker checks texts against the documents of an agent.
type TextChecker interface {
	CheckText(ctx context.Context, actor core.Actor, agentID string, d research.Draft) (research.CheckedText, error)
}

// CheckText answers POST …/check.
func (h handlers) CheckText(
	ctx context.Context, req *oas.CheckTextRequest, p oas.CheckTextParams,
) (*oas.CheckTextReply, error) {
	checked, err := h.Texts.CheckText(ctx, actor(ctx), p.AgentId, research.Draft{
		Text: req.Text, SourceIDs: req.SourceIds, DocumentIDs: req.DocumentIds, Markdown: req.Markdown.Value,
	})
	if err != nil {
		return nil, err
	}
	out := &oas.CheckTextReply{
		Sentences: make([]oas.CheckedSentence, len(checked.Sentences)), Counts: checkCountsOf(checked.Counts),
		Warnings: warningsOf(checked.Warnings), Usage: usageOf(thread.Answer{Usage: checked.Usage}),
		Markdown: oas.OptString{Value: checked.Markdown, Set: req.Markdown.Value},
	}
	if i := checked.Incomplete; i != nil {
		out.Incomplete = oas.NewOptCheckIncomplete(oas.CheckIncomplete{Code: i.Code, Detail: i.Detail})
	}
	for i, s := range checked.Sentences {
		out.Sentences[i] = oas.CheckedSentence{
			Start: s.Start, End: s.End, State: oas.Verdict(s.State),
			By:         oas.OptJudge{Value: oas.Judge(s.By), Set: s.By != ""},
			ReasonCode: optional(s.Reason), Reason: optional(s.Detail), Evidence: evidenceOf(s.Evidence),
		}
	}
	return out, nil
}

func evidenceOf(list []research.Evidence) []oas.Evidence {
	out := make([]oas.Evidence, len(list))
	for i, e := range list {
		out[i] = oas.Evidence{
			DocumentId: e.DocumentID, SourceId: e.SourceID, CardId: optional(e.CardID), Title: e.Title,
			Year: positive(e.Year), Page: positive(e.Page), Quote: e.Quote, Start: e.Start, End: e.End,
			Stance: oas.EvidenceStance(e.Stance),
		}
	}
	return out
}

func checkCountsOf(counts map[thread.CheckState]int) oas.CheckCounts {
	return oas.CheckCounts{
		Quoted: counts[thread.Quoted], Supported: counts[thread.Supported], Cited: counts[thread.Cited],
		Contradicted: counts[thread.Contradicted], Unsupported: counts[thread.Unsupported],
		Uncited: counts[thread.Uncited], Talk: counts[thread.Talk], Memory: counts[thread.FromMemory],
	}
}
