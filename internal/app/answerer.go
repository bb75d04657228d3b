package app

import (
	"log/slog"

	"carrel/internal/config"
	"carrel/internal/model"
	"carrel/internal/research"
	"carrel/internal/thread"
)

// newAnswerer returns who answers messages: the agent, with the model that the settings name or without any.
func (in *installation) newAnswerer(env *Env, log *slog.Logger) (thread.Answerer, error) {
	if env.Answerer != nil {
		return env.Answerer, nil
	}
	m := in.config.Model
	provider, err := model.New(model.Options{
		API: model.API(m.API), BaseURL: m.BaseURL, Key: m.Key, Name: m.Name, Allowed: m.Allowed,
	}, in.clock)
	if err != nil {
		return nil, err
	}
	in.closers = append(in.closers, provider.Close)
	in.agents.AllowModels(provider.Models())
	return research.New(research.Deps{
		Search: in.sources, Documents: in.sources, Conversation: in.store, Memories: in.memories, Agents: in.store,
		Spend: in.billing.Spending, Model: provider, Clock: in.clock, Log: log,
	}, research.Options{Prices: prices(m)}), nil
}

// prices are what the settings say that models cost.
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
