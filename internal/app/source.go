package app

import (
	"carrel/internal/config"
	"carrel/internal/federated"
	"carrel/internal/language"
	"carrel/internal/outbound"
	"carrel/internal/search/analysis"
	"carrel/internal/source"
)

// wireSources creates the source service with all kinds of sources.
func (in *App) wireSources(cfg config.Config, sealer source.Sealer) {
	in.catalogue = federated.New(federated.Options{
		Client:  outbound.NewClient(outbound.Options{Private: cfg.OutboundPrivate, Timeout: fetchTimeout}),
		Contact: cfg.Contact, Version: Version(), Private: cfg.OutboundPrivate,
	})
	in.Sources = source.NewService(source.Deps{
		Store:         in.Store,
		Agents:        in.Agents,
		Engine:        in.search,
		Clock:         in.Clock,
		GuessLanguage: analysis.Guess,
		Languages:     language.Codes(),
		Kinds:         append(source.StoredKinds(), in.catalogue.Kinds()...),
		Federated:     in.catalogue,
		Payer:         payer{spending: in.Billing.Spending, searchPrices: cfg.SearchPrices},
		Sealer:        sealer,
		Originals:     in.Originals,
	})
}
