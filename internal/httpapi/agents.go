package httpapi

import (
	"cmp"
	"context"
	"slices"

	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

// ListAgents answers GET /api/agents.
func (h handlers) ListAgents(ctx context.Context, p oas.ListAgentsParams) (*oas.AgentList, error) {
	who := actor(ctx)
	agents, next, err := h.Agents.List(ctx, who, page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.AgentList{
		Agents: make([]oas.Agent, len(agents)), Models: h.Agents.Models(who), NextCursor: optional(next),
	}
	for i, a := range agents {
		out.Agents[i] = h.agentOf(who, a)
	}
	return out, nil
}

// CreateAgent answers POST /api/agents.
func (h handlers) CreateAgent(ctx context.Context, req *oas.AgentCreate) (*oas.AgentReply, error) {
	a, err := h.Agents.Create(ctx, actor(ctx), agent.Change{
		Name: &req.Name, Description: pointer(req.Description),
		Instructions: pointer(req.Instructions), Model: pointer(req.Model), Policy: policyOf(req.Policy),
		AnswerLength: answerLengthOf(req.AnswerLength), Language: pointer(req.Language), Opening: pointer(req.Opening),
		Examples: req.Examples,
	})
	return h.agentReply(ctx, a, err)
}

// GetAgent answers GET /api/agents/{agentId}.
func (h handlers) GetAgent(ctx context.Context, p oas.GetAgentParams) (*oas.AgentReply, error) {
	a, err := h.Agents.Get(ctx, actor(ctx), p.AgentId)
	return h.agentReply(ctx, a, err)
}

// ChangeAgent answers PATCH /api/agents/{agentId}.
func (h handlers) ChangeAgent(
	ctx context.Context, req *oas.AgentChange, p oas.ChangeAgentParams,
) (*oas.AgentReply, error) {
	a, err := h.Agents.Change(ctx, actor(ctx), p.AgentId, agent.Change{
		Name: pointer(req.Name), Description: pointer(req.Description),
		Instructions: pointer(req.Instructions), Model: pointer(req.Model), Policy: policyOf(req.Policy),
		AnswerLength: answerLengthOf(req.AnswerLength), Language: pointer(req.Language), Opening: pointer(req.Opening),
		Examples: req.Examples,
	})
	return h.agentReply(ctx, a, err)
}

// DeleteAgent answers DELETE /api/agents/{agentId}.
func (h handlers) DeleteAgent(ctx context.Context, p oas.DeleteAgentParams) (*oas.Deleted, error) {
	return deleted(h.Agents.Delete(ctx, actor(ctx), p.AgentId))
}

func policyOf(o oas.OptAgentPolicy) *agent.Policy {
	if !o.Set {
		return nil
	}
	p := agent.Policy(o.Value)
	return &p
}

func answerLengthOf(o oas.OptAnswerLength) *agent.AnswerLength {
	if !o.Set {
		return nil
	}
	l := agent.AnswerLength(o.Value)
	return &l
}

func (h handlers) agentReply(ctx context.Context, a agent.Agent, err error) (*oas.AgentReply, error) {
	if err != nil {
		return nil, err
	}
	out := &oas.AgentReply{Agent: h.agentOf(actor(ctx), a)}
	if len(a.Examples) > 0 || h.Examples == nil ||
		!slices.Contains(out.Agent.Capabilities, oas.AgentCapabilitiesItemSearch) {
		return out, nil
	}
	// The agent can be used without suggestions, so an error is only logged.
	if out.Agent.SuggestedExamples, err = h.Examples.Suggest(ctx, actor(ctx).UserID, a); err != nil {
		h.log.WarnContext(ctx, "suggest example questions", "agent", a.ID, "error", err)
	}
	return out, nil
}

func (h handlers) agentOf(who core.Actor, a agent.Agent) oas.Agent {
	out := oas.Agent{
		ID: a.ID, Name: a.Name, Description: a.Description, Instructions: a.Instructions, Model: a.Model,
		Policy:       oas.NewOptAgentPolicy(oas.AgentPolicy(cmp.Or(a.Policy, agent.PolicyMarked))),
		AnswerLength: oas.NewOptAnswerLength(oas.AnswerLength(cmp.Or(a.AnswerLength, agent.AnswerNormal))),
		Language:     oas.NewOptString(a.Language), Opening: oas.NewOptString(a.Opening), Examples: emptyNotNull(a.Examples),
		Sources: make([]oas.AgentSource, len(a.Sources)), DefaultSourceId: a.DefaultSource(),
		Access: oas.AgentAccess(a.Grant.String()),
		Shared: a.Shared(), Owner: optional(a.Owner),
		CreatedAt: timestamp(a.CreatedAt), UpdatedAt: timestamp(a.UpdatedAt),
	}
	for i, s := range a.Sources {
		indexed, status := h.Sources.Progress(s.ID, s.Documents)
		out.Sources[i] = oas.AgentSource{
			ID: s.ID, Name: s.Name, Kind: s.Kind, Default: s.Default,
			Documents: int64(s.Documents), Indexed: int64(indexed), Status: oas.SourceStatus(status), Language: s.Language,
		}
	}
	capabilities := who.CapabilitiesOn(a.Grant)
	out.Capabilities = make([]oas.AgentCapabilitiesItem, 0, len(capabilities))
	for _, c := range capabilities {
		if c != core.CapShare || !h.Links.Disabled {
			out.Capabilities = append(out.Capabilities, oas.AgentCapabilitiesItem(c))
		}
	}
	return out
}
