package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"carrel/internal/core"
	"carrel/internal/importer"
	"carrel/internal/task"
)

// ownerOf returns an operator acting for the owner of an agent.
func (a admin) ownerOf(ctx context.Context, agentID string) (core.Actor, error) {
	owner, err := a.Store.AgentOwner(ctx, agentID)
	if core.IsKind(err, core.KindNotFound) {
		return core.Actor{}, errors.New("there is no such agent; see: carrel admin agent list --user EMAIL")
	}
	return core.Operator(owner), err
}

type sourceStatus struct {
	Agent string `required:"" placeholder:"ID" help:"The agent's id."`
	ID    string `placeholder:"ID" help:"The id of a source. Default: all sources of the agent."`
	Wait  bool   `help:"With --id: show the progress of its import until it ends."`
	JSON  bool   `help:"Print one JSON object: {\"sources\":[…]}."`
}

// Run shows sources and the progress of their imports.
func (c sourceStatus) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		actor, err := a.ownerOf(ctx, c.Agent)
		if err != nil {
			return err
		}
		if c.Wait && c.ID != "" {
			if err := a.awaitImport(ctx, actor, c.Agent, c.ID); err != nil {
				return err
			}
		}
		sources, err := a.Sources.List(ctx, actor, c.Agent)
		if err != nil {
			return err
		}
		var rows [][]string
		objects := []any{}
		for _, src := range sources {
			if c.ID != "" && src.ID != c.ID {
				continue
			}
			imports, err := a.Imports.Imports(ctx, actor, c.Agent, src.ID)
			if err != nil {
				return err
			}
			i, _ := importer.MostRelevant(imports)
			objects = append(objects, map[string]any{
				"id":        src.ID,
				"name":      src.Name,
				"kind":      src.Kind,
				"documents": src.Documents,
				"import":    i.Report,
				"state":     i.State,
			})
			rows = append(rows,
				[]string{src.ID, src.Name, src.Kind, strconv.Itoa(src.Documents), string(i.State), progressOf(i)})
		}
		if c.JSON {
			return a.print(true, map[string]any{"sources": objects}, "")
		}
		return a.table("ID\tNAME\tKIND\tDOCUMENTS\tIMPORT\tPROGRESS", rows)
	})
}

// progressOf describes the progress of an import.
func progressOf(i importer.Import) string {
	if i.ID == "" {
		return ""
	}
	s := fmt.Sprintf("%d/%d files, %d documents", i.Files.Done, i.Files.Total, i.Documents.Added+i.Documents.Updated)
	if i.Failed > 0 {
		s += fmt.Sprintf(", %d failed", i.Failed)
	}
	if i.ETASeconds > 0 {
		s += ", " + (time.Duration(i.ETASeconds) * time.Second).String() + " left"
	}
	return s
}

// awaitImport shows the progress of an import until it ends.
func (a admin) awaitImport(ctx context.Context, actor core.Actor, agentID, sourceID string) error {
	bar := progressBar(a.env, 0, "Importing")
	defer bar.finish()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		imports, err := a.Imports.Imports(ctx, actor, agentID, sourceID)
		if err != nil || len(imports) == 0 || imports[0].State != task.StateQueued && imports[0].State != task.StateRunning {
			return err
		}
		bar.of(uint64(max(0, imports[0].Bytes.Done)), uint64(max(0, imports[0].Bytes.Total)))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
