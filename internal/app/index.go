package app

import (
	"context"
	"log/slog"
	"path/filepath"

	"carrel/internal/config"
	"carrel/internal/search"
	"carrel/internal/search/local"
)

// IndexPath returns the folder of the search index, which can be deleted at any time.
func IndexPath(cfg config.Config) string { return filepath.Join(cfg.Data, "index") }

// IndexFolder describes the search index of this node.
func (in *App) IndexFolder(ctx context.Context) (local.Folder, error) {
	secret, err := in.Store.Secret(ctx)
	if err != nil {
		return local.Folder{}, err
	}
	folder := local.Folder{
		Path: IndexPath(in.Config), Identity: local.Identity(secret), Changes: in.Store, Positions: in.Store,
		SingleNode: in.Config.Database == "",
	}
	switch {
	case in.Embedding != nil:
		folder.Changes = search.WithVectors(in.Store, in.Embedding)
	case in.Config.Embeddings.BuiltIn():
		folder.Encoder = search.BuiltInEncoder
	}
	return folder, nil
}

// openIndex opens the search index of a server and makes it answer searches.
func (in *App) openIndex(ctx context.Context, log *slog.Logger) (*local.Node, error) {
	folder, err := in.IndexFolder(ctx)
	if err != nil {
		return nil, err
	}
	node, err := local.OpenNode(folder, log)
	if err != nil {
		return nil, err
	}
	in.search.Open(node.Index())
	return node, nil
}

// closeIndex closes the index after searches have been switched off.
func (in *App) closeIndex(node *local.Node) error {
	in.search.Shut()
	return node.Close()
}
