package source

import (
	"context"
	"slices"

	"carrel/internal/core"
)

// AgentHit is a match of a search across agents.
type AgentHit struct {
	Card
	AgentID string
}

// AgentsPage is one page of a search across agents.
type AgentsPage struct {
	SearchPage
	Hits []AgentHit
}

// SearchAgents searches the stored documents of several agents and returns a page of the matches, best first. The actor
// needs access to each agent. Live sources are left out, because each query of theirs may cost money.
func (s *Service) SearchAgents(
	ctx context.Context, actor core.Actor, agentIDs []string, r SearchRequest,
) (AgentsPage, error) {
	if err := actor.Allow(core.OpSearchAgents); err != nil {
		return AgentsPage{}, err
	}
	if err := r.Check(); err != nil {
		return AgentsPage{}, err
	}
	r.Sources = agentIDs // the cursor continues the search of the same agents
	offset, err := r.offset()
	if err != nil {
		return AgentsPage{}, err
	}
	agentOf := map[string]string{}
	w := window{service: s, hits: map[string]windowHit{}}
	for _, id := range agentIDs {
		err := s.agents.Allow(ctx, actor, core.OpSearch, id)
		if core.IsKind(err, core.KindNotFound) {
			err = core.InvalidField("/agentIds", "There is no such agent.")
		}
		if err != nil {
			return AgentsPage{}, err
		}
		sources, err := s.store.Sources(ctx, actor.UserID, id)
		if err != nil {
			return AgentsPage{}, err
		}
		for _, src := range slices.DeleteFunc(sources, s.isFederated) {
			agentOf[src.ID] = id
			w.Searched = append(w.Searched, src)
		}
	}
	s.count(actor.UserID, s.clock.Now())
	if err := w.fill(ctx, Buyer{}, r.Query); err != nil {
		return AgentsPage{}, err
	}
	page, err := w.page(ctx, r, offset)
	if err != nil {
		return AgentsPage{}, err
	}
	out := AgentsPage{SearchPage: page, Hits: make([]AgentHit, len(page.Cards))}
	for i, c := range page.Cards {
		out.Hits[i] = AgentHit{Card: c, AgentID: agentOf[c.SourceID]}
	}
	return out, nil
}
