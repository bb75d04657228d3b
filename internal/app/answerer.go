package app

import (
	"carrel/internal/config"
	"carrel/internal/model"
	"carrel/internal/research"
	"carrel/internal/thread"
)

// newAnswerer returns the research agent, with the configured model or without one.
func (in *App) newAnswerer(o Options) (thread.Answerer, error) {
	if o.Answerer != nil {
		return o.Answerer, nil
	}
	m := in.Config.Model
	provider, err := model.New(model.Options{
		API: model.API(m.API), BaseURL: m.BaseURL, Key: m.Key, Name: m.Name, Allowed: m.Allowed,
	}, in.Clock)
	if err != nil {
		return nil, err
	}
	in.closers = append(in.closers, provider.Close)
	in.Agents.AllowModels(provider.Models())
	return research.New(research.Deps{
		Search: in.Sources, Documents: in.Sources, Conversation: in.Store, Memories: in.memories, Agents: in.Store,
		Spend: in.Billing.Spending, Model: provider, Clock: in.Clock, Log: o.Log,
	}, research.Options{Prices: prices(m)}), nil
}

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
