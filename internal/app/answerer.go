package app

import (
	"log/slog"

	"carrel/internal/config"
	"carrel/internal/model"
	"carrel/internal/research"
	"carrel/internal/thread"
)

// newModel returns the client of the configured model provider.
func (in *installation) newModel() (model.Provider, error) {
	m := in.config.Model
	provider, err := model.New(model.Options{
		API: model.API(m.API), BaseURL: m.BaseURL, Key: m.Key, Name: m.Name, Allowed: m.Allowed,
	}, in.clock)
	if err != nil {
		return nil, err
	}
	in.closers = append(in.closers, provider.Close)
	return provider, nil
}

// newAnswerer returns the answerer of messages: the one that a test provides, or research with or without a model.
func (in *installation) newAnswerer(env *Env, provider model.Provider, log *slog.Logger) thread.Answerer {
	if env.Answerer != nil {
		return env.Answerer
	}
	return research.New(research.Deps{
		Search: in.sources, Documents: in.sources, Conversation: in.store, Memories: in.memories, Agents: in.store,
		Spend: in.spending, Model: provider, Clock: in.clock, Log: log,
	}, research.Options{Prices: prices(in.config.Model)})
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
