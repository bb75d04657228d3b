package app

import (
	"context"
	"log/slog"
	"time"

	"carrel/internal/completion"
	"carrel/internal/config"
	"carrel/internal/format"
	"carrel/internal/format/budget"
	"carrel/internal/importer"
	"carrel/internal/ocr"
	"carrel/internal/outbound"
	"carrel/internal/zoteroexport"
)

// fetchTimeout limits connecting to a page or feed.
const fetchTimeout = 10 * time.Second

// ImportLimits returns the limits for reading one upload, the memory pool shared by all uploads of this process, and
// the recognizer of text in images.
func ImportLimits(cfg config.Config) format.Limits {
	c := cfg.Imports
	memory := int64(c.MemoryMiB) << 20
	return format.Limits{
		Limits: budget.Limits{
			Unpacked: int64(c.UnpackedMiB) << 20, Entries: c.Entries, Depth: c.Depth,
			Work: int64(c.Work) * 1e6, Memory: memory, Time: c.Time,
		},
		Pool: budget.NewPool(memory), OCR: recognizer(cfg.OCR),
	}
}

// recognizer returns the OCR of the settings, or nil if it is off. The endpoint is named by the operator, so that its
// address may be private.
func recognizer(c config.OCR) format.Recognizer {
	switch {
	case c.Off():
		return nil
	case c.Tesseract():
		return &ocr.Tesseract{Languages: c.Languages, Timeout: c.Time}
	}
	return &ocr.Endpoint{
		URL: c.Engine, Key: c.Key, Languages: c.Languages, Timeout: c.Time,
		Client: outbound.NewClient(outbound.Options{Private: true, Timeout: fetchTimeout}),
	}
}

// wireZotero creates the service that writes to Zotero libraries. It needs sources and favourites.
func (in *App) wireZotero(cfg config.Config) {
	in.zotero = zoteroexport.NewService(zoteroexport.Deps{
		Store: in.Store, Sources: in.Sources, Favourites: in.favourites, Clock: in.Clock,
		Client:  in.newClient(outbound.Options{Private: cfg.OutboundPrivate, Timeout: fetchTimeout}),
		Version: importer.ZoteroVersion,
	})
}

// wireImporter creates the importer. It needs sources and tasks.
func (in *App) wireImporter(cfg config.Config, log *slog.Logger) {
	options := importer.Options{
		Client: in.newClient(outbound.Options{Private: cfg.OutboundPrivate, Timeout: fetchTimeout}),
		Limits: ImportLimits(cfg), PerUser: cfg.Imports.PerUser, PerNode: cfg.Imports.PerNode,
		Originals: in.Originals, ZoteroStorage: cfg.ZoteroStorage,
		Imported: func(ctx context.Context) {
			if in.Embedding == nil {
				return
			}
			if err := in.Embedding.Check(ctx); err != nil {
				log.WarnContext(ctx, "checking for documents without vectors failed; retrying later", slog.Any("error", err))
			}
		},
	}
	if cfg.CompleteMetadata {
		options.Completer = completion.New(completion.Deps{Catalogue: in.catalogue, Clock: in.Clock, Log: log})
	}
	in.Imports = importer.NewService(importer.Deps{
		Store: in.Store, Sources: in.Sources, Tasks: in.Tasks, Clock: in.Clock, Log: log,
	}, options)
	in.Tasks.Register(in.Imports.Kind())
}
