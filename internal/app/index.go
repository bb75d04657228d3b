package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/search"
	"carrel/internal/search/local"
	"carrel/internal/search/opensearch"
)

// searchNode is the search engine of a server, which follows the change log.
type searchNode interface {
	Engine() search.Engine
	// Run follows the change log until the context ends.
	Run(ctx context.Context) error
	// WaitReady waits until the engine holds the stored documents, for the timeout at most.
	WaitReady(ctx context.Context, timeout time.Duration) error
	// CoversStart reports whether the engine has held everything that was stored at WaitReady.
	CoversStart() bool
	Progress() search.Progress
	// Finish completes deletions within the timeout, after Run.
	Finish(ctx context.Context, timeout time.Duration)
	Close() error
}

// IndexPath returns the folder of the search index, which can be deleted at any time.
func IndexPath(cfg config.Config) string { return filepath.Join(cfg.Data, "index") }

// IndexFolder describes the search index of this node.
func (in *App) IndexFolder(ctx context.Context) (local.Folder, error) {
	secret, err := in.Store.Secret(ctx)
	if err != nil {
		return local.Folder{}, err
	}
	folder := local.Folder{
		Path: IndexPath(in.Config), Identity: search.Identity(secret), Changes: in.Store, Positions: in.Store,
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

// errNoCluster is returned if no OpenSearch cluster is configured.
var errNoCluster = errors.New("search-url is not set")

// OpenSearch returns the node of this process on the OpenSearch cluster, without contacting the cluster. The caller
// must close the node.
func (in *App) OpenSearch(ctx context.Context, log *slog.Logger) (*opensearch.Node, error) {
	s := in.Config.Search
	if !s.OpenSearch() {
		return nil, errNoCluster
	}
	secret, err := in.Store.Secret(ctx)
	if err != nil {
		return nil, err
	}
	o := opensearch.Options{
		URLs: s.URLs, User: s.User, Password: s.Password, Identity: search.Identity(secret),
		Shards: s.Shards, Replicas: s.Replicas, Log: log,
	}
	if s.CAFile != "" {
		if o.CA, err = os.ReadFile(s.CAFile); err != nil {
			return nil, fmt.Errorf("read search-ca-file: %w", err)
		}
	}
	var changes search.Log = in.Store
	switch {
	case in.Embedding != nil:
		changes, o.Model = search.WithVectors(in.Store, in.Embedding), in.Embedding.Model()
	case in.Config.Embeddings.BuiltIn():
		o.Encoder = search.BuiltInEncoder
	}
	engine, err := opensearch.New(o)
	if err != nil {
		return nil, err
	}
	return opensearch.NewNode(opensearch.NodeOptions{
		Engine: engine, Changes: changes, Leases: in.Store, Name: core.NewID("node"), Log: log,
	}), nil
}

// openIndex opens the search engine of a server and makes it answer searches.
func (in *App) openIndex(ctx context.Context, log *slog.Logger) (searchNode, error) {
	node, err := in.newSearchNode(ctx, log)
	if err != nil {
		return nil, err
	}
	in.search.Open(node.Engine())
	return node, nil
}

func (in *App) newSearchNode(ctx context.Context, log *slog.Logger) (searchNode, error) {
	if in.Config.Search.OpenSearch() {
		return in.OpenSearch(ctx, log)
	}
	folder, err := in.IndexFolder(ctx)
	if err != nil {
		return nil, err
	}
	return local.OpenNode(folder, log)
}

// closeIndex closes the engine after searches have been switched off.
func (in *App) closeIndex(node searchNode) error {
	in.search.Shut()
	return node.Close()
}
