package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"carrel/internal/core"
	"carrel/internal/intake"
	"carrel/internal/source"
	"carrel/internal/task"
)

type sourceConnect struct {
	Agent       string   `required:"" placeholder:"ID" help:"The agent's id."`
	Name        string   `required:"" help:"The source's name."`
	Kind        string   `required:"" enum:"folder,web,feed,s3" help:"What it is made of: folder (--path), web (--url, as often as there are pages), feed (--url) or s3 (--bucket)."`
	Path        string   `placeholder:"DIR" help:"The folder on this machine."`
	URL         []string `placeholder:"URL" help:"The address of a page or of the feed."`
	Bucket      string   `help:"The S3 bucket. --secret is the secret of its access key; a public bucket needs none."`
	Prefix      string   `help:"What the keys of the objects begin with that are read."`
	Region      string   `help:"Where the bucket is; us-east-1 when omitted."`
	Endpoint    string   `placeholder:"URL" help:"The address of a store that is not Amazon's."`
	AccessKeyID string   `name:"access-key-id" placeholder:"ID" help:"The id of the access key."`
	Every       int      `placeholder:"MINUTES" help:"How often it is brought up to date; 0 leaves that to people."`
	Secret      string   `placeholder:"SECRET" help:"What the source asks for; - asks for it or reads it from the standard input."`
	Default     bool     `help:"Make it the source that is searched when none is named."`
	JSON        bool     `help:"Print one JSON object: {\"source\":{\"id\":…}}."`
}

// Run makes a source that a running server fills, and keeps filled.
func (c sourceConnect) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	secret, err := secretOf(env, c.Secret, "Secret")
	if err != nil {
		return err
	}
	return parent.run(ctx, env, false, func(a admin) error {
		actor, err := a.ownerOf(ctx, c.Agent)
		if err != nil {
			return err
		}
		set := source.Settings{
			Path: c.Path, SyncMinutes: c.Every,
			Bucket: c.Bucket, Prefix: c.Prefix, Region: c.Region, Endpoint: c.Endpoint, AccessKeyID: c.AccessKeyID,
		}
		if c.Kind == source.KindFeed && len(c.URL) == 1 {
			set.URL = c.URL[0]
		} else {
			set.URLs = c.URL
		}
		src, err := a.sources.Add(ctx, actor, c.Agent, source.New{Name: c.Name, Kind: c.Kind, Settings: set, Secret: secret, Default: c.Default})
		if err != nil {
			return err
		}
		if _, err := a.intake.Sync(ctx, actor, c.Agent, src.ID); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"source": map[string]any{"id": src.ID, "name": src.Name, "kind": src.Kind}},
			"Source %s (%s) is filled by the running server, or by the next that starts. See: carrel admin source status --agent %s --id %s", src.Name, src.ID, c.Agent, src.ID)
	})
}

// ownerOf returns the actor for commands about an agent.
func (a admin) ownerOf(ctx context.Context, agentID string) (core.Actor, error) {
	owner, err := a.store.AgentOwner(ctx, agentID)
	if core.IsKind(err, core.KindNotFound) {
		return core.Actor{}, errors.New("there is no such agent; see: carrel admin agent list --user EMAIL")
	}
	return core.Operator(owner), err
}

type sourceStatus struct {
	Agent string `required:"" placeholder:"ID" help:"The agent's id."`
	ID    string `placeholder:"ID" help:"A source's id; all of the agent's when omitted."`
	Wait  bool   `help:"With --id: show how far its import is until it ends."`
	JSON  bool   `help:"Print one JSON object: {\"sources\":[…]}."`
}

// Run shows what sources hold and how far their imports are.
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
		sources, err := a.sources.List(ctx, actor, c.Agent)
		if err != nil {
			return err
		}
		var rows [][]string
		objects := []any{}
		for _, src := range sources {
			if c.ID != "" && src.ID != c.ID {
				continue
			}
			imports, err := a.intake.Imports(ctx, actor, c.Agent, src.ID)
			if err != nil {
				return err
			}
			i, _ := intake.Telling(imports)
			objects = append(objects, map[string]any{"id": src.ID, "name": src.Name, "kind": src.Kind, "documents": src.Documents, "import": i.Report, "state": i.State})
			rows = append(rows, []string{src.ID, src.Name, src.Kind, strconv.Itoa(src.Documents), string(i.State), progressOf(i)})
		}
		if c.JSON {
			return a.print(true, map[string]any{"sources": objects}, "")
		}
		return a.table("ID\tNAME\tKIND\tDOCUMENTS\tIMPORT\tPROGRESS", rows)
	})
}

// progressOf says in a few words how far an import is.
func progressOf(i intake.Import) string {
	if i.ID == "" {
		return ""
	}
	s := fmt.Sprintf("%d/%d files, %d documents", i.Files.Done, i.Files.Total, i.Documents.Added+i.Documents.Updated)
	if i.Failed > 0 {
		s += fmt.Sprintf(", %d not read", i.Failed)
	}
	if i.ETASeconds > 0 {
		s += ", " + (time.Duration(i.ETASeconds) * time.Second).String() + " left"
	}
	return s
}

// awaitImport shows how far an import is until it has ended.
func (a admin) awaitImport(ctx context.Context, actor core.Actor, agentID, sourceID string) error {
	bar := progressBar(a.env, 0, "Importing")
	defer bar.finish()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		imports, err := a.intake.Imports(ctx, actor, agentID, sourceID)
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
