package app

import (
	"context"
	"encoding/json"
	"time"

	"carrel/internal/builtin"
	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/model"
	"carrel/internal/research"
	"carrel/internal/research/quote"
	"carrel/internal/thread"
)

// newModel returns the client of the configured model provider.
func (in *App) newModel() (model.Provider, error) {
	m := in.Config.Model
	provider, err := model.New(model.Options{
		API: model.API(m.API), BaseURL: m.BaseURL, Key: m.Key, Name: m.Name, Allowed: m.Allowed,
		Idle: m.IdleTime(),
	}, in.Clock)
	if err != nil {
		return nil, err
	}
	in.closers = append(in.closers, provider.Close)
	if len(provider.Models()) == 0 {
		return provider, nil
	}
	return in.traceModel(meteredModel{provider, in.meters}), nil
}

// newResearch returns the research agent with the model, if there is one.
func (in *App) newResearch(o Options, provider model.Provider) *research.Agent {
	return research.New(research.Deps{
		Search: in.Sources, Documents: in.Sources, Conversation: in.Store, Memories: in.memories,
		Favourites: favourites{in}, Agents: in.Store, Spend: turnSpend{in.Billing.Spending, in.meters}, Model: provider,
		Ranker: quote.Builtin, Clock: in.Clock, Log: o.Log,
	}, research.Options{
		Prices:   prices(in.Config.Model),
		Ordinary: research.Limits{Time: in.Config.Model.OrdinaryTime()},
		Research: research.Limits{Time: in.Config.Model.ResearchTime()},
		NoJudge:  !in.Config.Model.Judge,
	})
}

// maxTextTime limits the model's judgement of a text, because the client waits for it.
const maxTextTime = 2 * time.Minute

// newTextChecker returns the checker of users' texts.
func (in *App) newTextChecker(o Options, provider model.Provider) *research.TextChecker {
	var ranker func(context.Context) quote.Ranker
	if builtin.Fast() { // otherwise a text would take seconds
		ranker = quote.Builtin
	}
	return research.NewTextChecker(research.TextCheckerDeps{
		Ranker: ranker, Access: in.Agents, Agents: in.Store, Library: in.Sources, Model: provider,
		Payer: payer{spending: in.Billing.Spending, priceVersion: in.priceVersion, meters: in.meters},
		Clock: in.Clock, Log: o.Log,
	}, research.TextCheckerOptions{
		Prices: prices(in.Config.Model), NoJudge: !in.Config.Model.Judge,
		Time: min(in.Config.Model.OrdinaryTime(), maxTextTime),
	})
}

// answerer returns the answerer of a test, or the research agent.
func (in *App) answerer(o Options) thread.Answerer {
	if o.Answerer != nil {
		return o.Answerer
	}
	return in.research
}

// favourites passes the calls of turns to the favourites, which are created after the answerer because they check
// threads.
type favourites struct{ in *App }

// List implements research.Favourites.
func (f favourites) List(
	ctx context.Context, actor core.Actor, agentID, q string, page core.Page,
) ([]favourite.Favourite, string, error) {
	return f.in.favourites.List(ctx, actor, agentID, q, page)
}

// Save implements research.Favourites.
func (f favourites) Save(
	ctx context.Context, actor core.Actor, agentID string, card json.RawMessage, threadID string,
) (favourite.Favourite, error) {
	return f.in.favourites.Save(ctx, actor, agentID, card, threadID)
}

// Delete implements research.Favourites.
func (f favourites) Delete(ctx context.Context, actor core.Actor, agentID, cardID string) error {
	return f.in.favourites.Delete(ctx, actor, agentID, cardID)
}

// turnDeadline leaves a turn time to end with what it has after its own time limit.
func turnDeadline(m config.Model) time.Duration { return m.ResearchTime() + 5*time.Minute }

// prices returns the configured prices of models.
func prices(m config.Model) model.Prices {
	out := model.Prices{Each: make(map[string]model.Price, len(m.Prices))}
	for name, p := range m.Prices {
		out.Each[name] = model.Price{In: model.Micros(p.In), Out: model.Micros(p.Out)}
	}
	if m.PriceIn.Known && m.PriceOut.Known {
		out.Default = &model.Price{In: model.Micros(m.PriceIn.Micros), Out: model.Micros(m.PriceOut.Micros)}
	}
	return out
}
