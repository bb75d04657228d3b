package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"carrel/internal/search"
	"carrel/internal/search/local"
)

type indexCommands struct {
	Check   indexCheck   `cmd:"" help:"Read the whole search index of this node and compare it with the documents."`
	Rebuild indexRebuild `cmd:"" help:"Build the search index of this node anew from the documents; a running server answers meanwhile."`
}

type indexCheck struct {
	JSON bool `help:"Print one JSON object: {\"ok\":true,…}."`
}

// Run checks the index. It changes nothing, and a server may run meanwhile.
func (c indexCheck) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		report, err := a.checkIndex(ctx)
		if err != nil {
			return err
		}
		head, err := a.store.Head(ctx)
		if err != nil {
			return err
		}
		missing := missingOf(report.Covered, head)
		ok := len(report.Problems) == 0
		if c.JSON {
			err = a.print(true, map[string]any{
				"ok": ok, "documents": report.Documents, "segments": len(report.Segments), "bytes": bytesOf(report),
				"head": head, "missing": missing, "problems": append([]string{}, report.Problems...),
			}, "")
		} else {
			err = c.show(a, report, head, missing)
		}
		if err == nil && !ok {
			err = errors.New("the search index is damaged; a running server mends it when it meets the damage, or at once with: carrel admin index rebuild")
		}
		return err
	})
}

// checkIndex reads the index of this node. One of another database holds nothing of this one.
func (a admin) checkIndex(ctx context.Context) (local.Report, error) {
	if err := a.needFolder(); err != nil {
		return local.Report{}, err
	}
	folder, err := a.indexFolder(ctx)
	if err != nil {
		return local.Report{}, err
	}
	report, err := local.Check(ctx, folder.Path)
	if err == nil && report.Identity != "" && report.Identity != folder.Identity {
		report = local.Report{Problems: []string{"the index belongs to another database"}}
	}
	return report, err
}

// needFolder fails unless the data folder is there. With PostgreSQL it may be anywhere.
func (a admin) needFolder() error {
	_, err := os.Stat(a.config.Data)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no data folder %s; name that of the node with --data", a.config.Data)
	}
	return err
}

func (indexCheck) show(a admin, report local.Report, head, missing uint64) error {
	rows := make([][]string, len(report.Segments))
	for i, s := range report.Segments {
		state := "sound"
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
		return a.print(false, nil, "%d documents; %d of %d changes are not indexed yet: a running server is at it, or takes them up when it starts.",
			report.Documents, missing, head)
	}
	return a.print(false, nil, "%d documents; the index holds every change.", report.Documents)
}

// missingOf counts the changes up to the head that no span covers.
func missingOf(covered []search.Span, head uint64) uint64 {
	missing := head
	for _, s := range covered {
		if through := min(s.Through, head); through > s.After {
			missing -= through - s.After
		}
	}
	return missing
}

func bytesOf(r local.Report) int64 {
	var n int64
	for _, s := range r.Segments {
		n += s.Bytes
	}
	return n
}

type indexRebuild struct {
	JSON bool `help:"Print one JSON object: {\"rebuilt\":true,…}."`
}

// Run throws the index away and waits until it is whole again: by the server of this folder, or by itself when there
// is none.
func (c indexRebuild) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		if err := a.needFolder(); err != nil {
			return err
		}
		bar := progressBar(env, 0, "Indexing")
		err := a.rebuild(ctx, bar.of)
		bar.finish()
		if errors.Is(err, local.ErrNotIndexed) {
			return errors.New("the index is thrown away, and the server of this folder has not begun a new one; look at its log")
		}
		if err != nil {
			return err
		}
		report, err := a.checkIndex(ctx)
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"rebuilt": true, "documents": report.Documents},
			"The search index is built anew: %d documents.", report.Documents)
	})
}

func (a admin) rebuild(ctx context.Context, progress func(done, all uint64)) error {
	folder, err := a.indexFolder(ctx)
	if err != nil {
		return err
	}
	discarded := false
	began := time.Now()
	return a.thereOrHere(ctx, func(ctx context.Context) error {
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
				return fmt.Errorf("throw the search index away: %w", err)
			}
		}
		return folder.CatchUp(ctx, progress)
	})
}

// indexAll returns when all that is stored can be found: indexed by the servers that run, or here when this folder
// has none.
func (a admin) indexAll(ctx context.Context, progress func(done, all uint64)) error {
	folder, err := a.indexFolder(ctx)
	if err != nil {
		return err
	}
	there := func(ctx context.Context) error { return folder.WaitForNodes(ctx, progress) }
	if a.config.Database != "" {
		return there(ctx)
	}
	return a.thereOrHere(ctx, there, func(ctx context.Context) error { return folder.CatchUp(ctx, progress) })
}

// lookAgain is how often a command that waits for the server of its folder looks whether there still is one.
const lookAgain = time.Second

// thereOrHere waits with there as long as somebody has the data folder, and else has it for here. Whoever had it may be
// killed meanwhile, or be a command like this one, which ends when its own work is done.
func (a admin) thereOrHere(ctx context.Context, there, here func(context.Context) error) error {
	for {
		lock, err := lockFolder(a.config.Data)
		if err == nil {
			defer func() { _ = lock.Close() }() // the kernel would do it
			return here(ctx)
		}
		if !errors.As(err, new(lockedError)) {
			return err
		}
		while, cancel := context.WithTimeout(ctx, lookAgain)
		err = there(while)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}
