package app

import (
	"context"
	"log/slog"
	"time"

	"carrel/internal/config"
	"carrel/internal/intake"
	"carrel/internal/outbound"
)

// fetchTimeout is how long the connection to a page or feed may take.
const fetchTimeout = 10 * time.Second

// wireIntake makes what fills sources. It comes after the services that it works with.
func (in *installation) wireIntake(cfg config.Config, log *slog.Logger) {
	in.intake = intake.NewService(in.store, in.sources, in.tasks, in.clock, log, intake.Options{
		Client: outbound.NewClient(outbound.Options{Private: cfg.OutboundPrivate, Timeout: fetchTimeout}),
		Imported: func(ctx context.Context) {
			if in.embedding == nil {
				return
			}
			if err := in.embedding.Check(ctx); err != nil {
				log.WarnContext(ctx, "could not see whether documents lack vectors; it is tried again", slog.Any("error", err))
			}
		},
	})
	in.tasks.Register(in.intake.Kind())
}
