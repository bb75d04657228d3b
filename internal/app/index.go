package app

import (
	"context"
	"log/slog"
	"path/filepath"

	"carrel/internal/config"
	"carrel/internal/search"
	"carrel/internal/search/local"
)

func indexPath(cfg config.Config) string { return filepath.Join(cfg.Data, "index") }

// indexFolder describes the search index of this node.
func (in *installation) indexFolder(ctx context.Context) (local.Folder, error) {
	secret, err := in.store.Secret(ctx)
	if err != nil {
		return local.Folder{}, err
	}
	var changes search.Log = in.store
	if in.embedding != nil {
		changes = search.WithVectors(in.store, in.embedding)
	}
	return local.Folder{
		Path: indexPath(in.config), Identity: local.Identity(secret), Changes: changes, Positions: in.store,
		SingleNode: in.config.Database == "",
	}, nil
}

// openIndex opens the search index of a server and makes it answer searches.
func (in *installation) openIndex(ctx context.Context, log *slog.Logger) (*local.Node, error) {
	folder, err := in.indexFolder(ctx)
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
func (in *installation) closeIndex(node *local.Node) error {
	in.search.Shut()
	return node.Close()
}
