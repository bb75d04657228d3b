package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"carrel/internal/federated"
	"carrel/internal/source"
)

// kindFlags are what sources of the kinds are made of; which of them count depends on the kind.
type kindFlags struct {
	Path        string   `placeholder:"DIR" help:"The folder on this machine, for folder."`
	URL         []string `placeholder:"URL" help:"The address: of each page for web, of the feed, or of the server to ask for searxng and mcp."`
	Bucket      string   `help:"The bucket, for s3. --secret is the secret of its access key; a public bucket needs none."`
	Prefix      string   `help:"What the keys of the objects begin with that are read, for s3."`
	Region      string   `help:"Where the bucket is, for s3; us-east-1 when omitted."`
	Endpoint    string   `placeholder:"URL" help:"The address of a store that is not Amazon's, for s3."`
	AccessKeyID string   `name:"access-key-id" placeholder:"ID" help:"The id of the access key, for s3."`
	Tool        string   `help:"The tool of the server that searches, for mcp; when omitted, the one that looks like it."`
	Every       int      `placeholder:"MINUTES" help:"How often it is brought up to date; 0 leaves that to people."`
	Secret      string   `placeholder:"SECRET" help:"The key or token for the kind; - asks for it or reads it from the standard input."`
}

// syncedKinds are the names of the kinds that a server fills.
func syncedKinds() []string {
	var names []string
	for _, k := range source.StoredKinds() {
		if k.Syncs {
			names = append(names, k.Name)
		}
	}
	return names
}

// isKind reports whether the command is about a kind. A file of that name comes first, as it did before there were kinds.
func (c sourceAdd) isKind() bool {
	_, err := os.Stat(c.Of)
	return errors.Is(err, fs.ErrNotExist) && slices.Contains(append(federated.Names(), syncedKinds()...), c.Of)
}

// settings are those of the kind.
func (c sourceAdd) settings() source.Settings {
	set := source.Settings{
		Path: c.Path, SyncMinutes: c.Every, Tool: c.Tool,
		Bucket: c.Bucket, Prefix: c.Prefix, Region: c.Region, Endpoint: c.Endpoint, AccessKeyID: c.AccessKeyID,
	}
	if c.Of == source.KindWeb || len(c.URL) > 1 {
		set.URLs = c.URL // more than one is said to be wrong by the kinds that have one
	} else if len(c.URL) == 1 {
		set.URL = c.URL[0]
	}
	if slices.Contains(federated.Names(), c.Of) {
		set.Language = c.Language // what is asked, not what the documents are written in
	}
	return set
}

// addKind gives an agent a source that is asked at question time, or that the running server fills, or the next that
// starts.
func (c sourceAdd) addKind(ctx context.Context, env *Env, parent *adminCommand) error {
	secret, err := secretOf(env, c.Secret, "Secret")
	if err != nil {
		return err
	}
	return parent.run(ctx, env, false, func(a admin) error {
		actor, err := a.ownerOf(ctx, c.Agent)
		if err != nil {
			return err
		}
		n := source.New{Name: c.Name, Kind: c.Of, Default: c.Default, Secret: secret, Settings: c.settings()}
		if n.Settings.Language == "" {
			n.Language = c.Language
		}
		src, err := a.Sources.Add(ctx, actor, c.Agent, n)
		if err != nil {
			return err
		}
		said := map[string]any{"source": map[string]any{"id": src.ID, "name": src.Name, "kind": src.Kind, "agentId": src.AgentID, "default": src.Default}}
		if !slices.Contains(syncedKinds(), c.Of) {
			return a.print(c.JSON, said, "Source %s (%s) is asked with the next search.", src.Name, src.ID)
		}
		if _, err := a.Imports.Sync(ctx, actor, c.Agent, src.ID); err != nil {
			return err
		}
		return a.print(c.JSON, said,
			"Source %s (%s) is filled by the running server, or by the next that starts. See: carrel admin source status --agent %s --id %s", src.Name, src.ID, c.Agent, src.ID)
	})
}
