package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"carrel/internal/search"
	"carrel/internal/search/local"
	"carrel/internal/search/opensearch"
)

type indexCommands struct {
	Check   indexCheck   `cmd:"" help:"Verify the search index of this node, or of the OpenSearch cluster, and compare it with the documents."`
	Rebuild indexRebuild `cmd:"" help:"Rebuild the search index of this node, or of the OpenSearch cluster, from the documents. A running server keeps answering."`
}

type indexCheck struct {
	JSON bool `help:"Print one JSON object: {\"ok\":true,…}."`
}

// Run checks the index. It changes nothing and can run while a server uses the index.
func (c indexCheck) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		if a.Config.Search.OpenSearch() {
			return c.cluster(ctx, a)
		}
		report, err := a.checkIndex(ctx)
		if err != nil {
			return err
		}
		head, err := a.Store.Head(ctx)
		if err != nil {
			return err
		}
		missing := missingChanges(report.Covered, head)
		ok := len(report.Problems) == 0
		if c.JSON {
			err = a.print(true, map[string]any{
				"ok": ok, "documents": report.Documents, "segments": len(report.Segments), "bytes": indexBytes(report),
				"head": head, "missing": missing, "problems": append([]string{}, report.Problems...),
			}, "")
		} else {
			err = c.show(a, report, head, missing)
		}
		if err == nil && !ok {
			err = errors.New("the search index is damaged; a running server repairs it when it reads the damaged part; repair " +
				"it now with: carrel admin index rebuild")
		}
		return err
	})
}

// checkIndex verifies the index of this node. An index of another database is reported as a problem.
func (a admin) checkIndex(ctx context.Context) (local.Report, error) {
	if err := a.needFolder(); err != nil {
		return local.Report{}, err
	}
	folder, err := a.IndexFolder(ctx)
	if err != nil {
		return local.Report{}, err
	}
	report, err := local.Check(ctx, folder.Path)
	if err == nil && report.Identity != "" && report.Identity != folder.Identity {
		report = local.Report{Problems: []string{"the index belongs to another database"}}
	}
	return report, err
}

// needFolder fails if the data folder is missing, which can happen with PostgreSQL.
func (a admin) needFolder() error {
	_, err := os.Stat(a.Config.Data)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no data folder %s; set the folder of the node with --data", a.Config.Data)
	}
	return err
}

func (indexCheck) show(a admin, report local.Report, head, missing uint64) error {
	rows := make([][]string, len(report.Segments))
	for i, s := range report.Segments {
		state := "ok"
		if s.Problem != nil {
			state = s.Problem.Error()
		}
		rows[i] = []string{
			strconv.FormatUint(s.Number, 10), strconv.Itoa(s.Documents), strconv.Itoa(s.Deleted), strconv.FormatInt(s.Bytes, 10),
			fmt.Sprintf("%d–%d", s.Span.After+1, s.Span.Through), state,
		}
	}
	if err := a.table("SEGMENT\tDOCUMENTS\tDELETED\tBYTES\tCHANGES\tSTATE", rows); err != nil {
		return err
	}
	for _, problem := range report.Problems {
		if err := a.print(false, nil, "Problem: %s", problem); err != nil {
			return err
		}
	}
	if missing > 0 {
		return a.print(false, nil, "%d documents; %d of %d changes are not indexed yet. A server indexes them while it runs.",
			report.Documents, missing, head)
	}
	return a.print(false, nil, "%d documents; the index is up to date.", report.Documents)
}

// missingChanges counts the changes up to head that no span covers.
func missingChanges(covered []search.Span, head uint64) uint64 {
	missing := head
	for _, s := range covered {
		if through := min(s.Through, head); through > s.After {
			missing -= through - s.After
		}
	}
	return missing
}

func indexBytes(r local.Report) int64 {
	var n int64
	for _, s := range r.Segments {
		n += s.Bytes
	}
	return n
}

type indexRebuild struct {
	JSON bool `help:"Print one JSON object: {\"rebuilt\":true,…}."`
}

// Run discards the index and waits until it is rebuilt by the server of the data folder or, without one, by this
// process.
func (c indexRebuild) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		if a.Config.Search.OpenSearch() {
			return c.cluster(ctx, a)
		}
		if err := a.needFolder(); err != nil {
			return err
		}
		bar := progressBar(env, 0, "Indexing")
		err := a.rebuild(ctx, bar.of)
		bar.finish()
		if errors.Is(err, local.ErrNotIndexed) {
			return errors.New("the index was discarded, but the server of this folder has not started a new one; see its log")
		}
		if err != nil {
			return err
		}
		report, err := a.checkIndex(ctx)
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"rebuilt": true, "documents": report.Documents},
			"Rebuilt the search index: %d documents.", report.Documents)
	})
}

func (a admin) rebuild(ctx context.Context, progress func(done, all uint64)) error {
	folder, err := a.IndexFolder(ctx)
	if err != nil {
		return err
	}
	discarded := false
	began := time.Now()
	return a.waitOrRun(ctx, func(ctx context.Context) error {
		if !discarded {
			if err := local.Discard(folder.Path); err != nil {
				return err
			}
			discarded = true
		}
		return folder.WaitForRebuild(ctx, began, progress)
	}, func(ctx context.Context) error {
		if !discarded {
			if err := os.RemoveAll(folder.Path); err != nil {
				return fmt.Errorf("discard the search index: %w", err)
			}
		}
		return folder.CatchUp(ctx, progress)
	})
}

// indexAll returns when all stored documents can be found. The running servers index them or, if the data folder has
// none, this process does.
func (a admin) indexAll(ctx context.Context, progress func(done, all uint64)) error {
	if a.Config.Search.OpenSearch() {
		return a.withCluster(ctx, func(node *opensearch.Node) error { return node.CatchUp(ctx, progress) })
	}
	folder, err := a.IndexFolder(ctx)
	if err != nil {
		return err
	}
	wait := func(ctx context.Context) error { return folder.WaitForNodes(ctx, progress) }
	if a.Config.Database != "" {
		return wait(ctx)
	}
	return a.waitOrRun(ctx, wait, func(ctx context.Context) error { return folder.CatchUp(ctx, progress) })
}

// lockRetry is how often a command that waits for the server of its data folder tries to take the lock itself.
const lockRetry = time.Second

// waitOrRun calls wait while another process holds the lock of the data folder, and run once this process has it. The
// other process may be killed, or may be a command that ends before the work is done.
func (a admin) waitOrRun(ctx context.Context, wait, run func(context.Context) error) error {
	for {
		lock, err := lockFolder(a.Config.Data)
		if err == nil {
			defer func() { _ = lock.Close() }() // the kernel releases the lock in any case
			return run(ctx)
		}
		if !errors.As(err, new(lockedError)) {
			return err
		}
		while, cancel := context.WithTimeout(ctx, lockRetry)
		err = wait(while)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}
