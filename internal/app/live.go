package app

import (
	"carrel/internal/config"
	"carrel/internal/federated"
	"carrel/internal/language"
	"carrel/internal/outbound"
	"carrel/internal/search/analysis"
	"carrel/internal/source"
)

// wireSources makes the service of sources, with all kinds that there are.
func (in *installation) wireSources(cfg config.Config, sealer source.Sealer) {
	catalogue := federated.New(federated.Options{
		Client:  outbound.NewClient(outbound.Options{Private: cfg.OutboundPrivate, Timeout: fetchTimeout}),
		Contact: cfg.Contact, Version: Version(), Private: cfg.OutboundPrivate,
	})
	in.sources = source.NewService(in.store, in.agents, in.search, in.clock, source.Options{
		Guess: analysis.Guess, Languages: language.Codes(), Sealer: sealer,
		Kinds: append(source.StoredKinds(), catalogue.Kinds()...), Live: catalogue, Payer: payer{in.spending, cfg.SearchPrices},
	})
}
