package app

import (
	"context"
	"log/slog"
	"time"

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
		Client:  in.newClient(outbound.Options{Private: cfg.OutboundPrivate, Timeout: fetchTimeout}),
		Contact: cfg.Contact, Version: Version(), Private: cfg.OutboundPrivate,
	})
	in.Sources = source.NewService(source.Deps{
		Store:         in.Store,
		Agents:        in.Agents,
		Engine:        in.traceEngine(in.search),
		Clock:         in.Clock,
		GuessLanguage: analysis.Guess,
		ParseLanguage: language.Parse,
		Languages:     language.Codes(),
		Kinds:         append(source.StoredKinds(), in.catalogue.Kinds()...),
		Federated:     in.catalogue,
		Payer:         payer{spending: in.Billing.Spending, searchPrices: cfg.SearchPrices, meters: in.meters},
		Sealer:        sealer,
		Originals:     in.Originals,
	})
}

// Pauses of detectLanguages, between batches and after an error.
const (
	detectPause = 100 * time.Millisecond
	detectRetry = time.Minute
)

// detectLanguages detects the languages of the documents of earlier versions in small batches, so that a migration need
// not read all texts, and ends after the last one.
func (in *App) detectLanguages(ctx context.Context, log *slog.Logger) error {
	for {
		pause := detectPause
		done, err := in.Sources.DetectLanguages(ctx)
		switch {
		case done:
			return nil
		case err != nil && ctx.Err() == nil:
			log.WarnContext(ctx, "the languages of documents could not be detected; retrying later", slog.Any("error", err))
			pause = detectRetry
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}
