package cli

import (
	"context"
	"errors"
	"log/slog"

	"carrel/internal/search"
	"carrel/internal/search/opensearch"
)

// withCluster calls do with a node on the OpenSearch cluster of the installation.
func (a admin) withCluster(ctx context.Context, do func(*opensearch.Node) error) error {
	node, err := a.OpenSearch(ctx, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return errors.Join(do(node), node.Close())
}

// clusterState reads what the cluster holds, and how many changes up to the head of the change log it lacks.
func (a admin) clusterState(ctx context.Context) (status search.Status, head, missing uint64, err error) {
	if head, err = a.Store.Head(ctx); err != nil {
		return search.Status{}, 0, 0, err
	}
	err = a.withCluster(ctx, func(node *opensearch.Node) error {
		var err error
		status, err = node.Inspect(ctx)
		return err
	})
	return status, head, missingChanges(status.Covered, head), err
}

// cluster checks the index of the OpenSearch cluster. The cluster itself verifies its files.
func (c indexCheck) cluster(ctx context.Context, a admin) error {
	status, head, missing, err := a.clusterState(ctx)
	if err != nil {
		return err
	}
	text := "%d documents; %d of %d changes are not indexed yet. A server indexes them while it runs."
	args := []any{status.Documents, missing, head}
	if missing == 0 {
		text, args = "%d documents; the index is up to date.", args[:1]
	}
	return a.print(c.JSON, map[string]any{
		"ok": true, "documents": status.Documents, "segments": status.Segments, "bytes": status.Bytes,
		"head": head, "missing": missing, "problems": []string{},
	}, text, args...)
}

// cluster rebuilds the index of the OpenSearch cluster. The server that has the lease does the work or, without one,
// this process.
func (c indexRebuild) cluster(ctx context.Context, a admin) error {
	bar := progressBar(a.env, 0, "Indexing")
	err := a.withCluster(ctx, func(node *opensearch.Node) error {
		if err := node.Rebuild(ctx); err != nil {
			return err
		}
		return node.CatchUp(ctx, bar.of)
	})
	bar.finish()
	if err != nil {
		return err
	}
	status, _, _, err := a.clusterState(ctx)
	if err != nil {
		return err
	}
	return a.print(c.JSON, map[string]any{"rebuilt": true, "documents": status.Documents},
		"Rebuilt the search index: %d documents.", status.Documents)
}

// checkCluster checks the OpenSearch cluster.
func (d *doctor) checkCluster(ctx context.Context, a admin) {
	const name = "index"
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	status, head, missing, err := a.clusterState(limited)
	switch {
	case err != nil:
		d.fail(name, "Check that the OpenSearch cluster runs, and the settings search-….",
			"the search index can't be read: %v", err)
	case missing > 0:
		d.warn(name, "A running server indexes them. If the number does not fall, see its log.",
			"%d of %d changes are not indexed in the OpenSearch cluster", missing, head)
	default:
		d.ok(name, "%d documents in the OpenSearch cluster, up to date", status.Documents)
	}
}
