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

// kindFlags are the settings of all kinds of sources; each kind uses some of them.
type kindFlags struct {
	Path        string   `placeholder:"DIR" help:"folder: the folder on this machine."`
	URL         []string `placeholder:"URL" help:"web: the address of each page. feed: the feed. searxng, mcp: the server. zotero: the API."`
	Bucket      string   `help:"s3: the bucket. --secret is the secret access key; a public bucket needs none."`
	Prefix      string   `help:"s3: read only objects whose keys have this prefix."`
	Region      string   `help:"s3: the region. Default: us-east-1."`
	Endpoint    string   `placeholder:"URL" help:"s3: the endpoint of a service other than AWS."`
	AccessKeyID string   `name:"access-key-id" placeholder:"ID" help:"s3: the access key id."`
	Library     string   `placeholder:"users/ID" help:"zotero: the library, users/ID or groups/ID. Default: that of the key."`
	Collection  string   `help:"zotero: read only the collection with this name or key."`
	Tool        string   `help:"mcp: the search tool of the server. Default: detected."`
	Every       int      `placeholder:"MINUTES" help:"Interval between synchronisations; 0 turns them off."`
	Secret      string   `placeholder:"SECRET" help:"The key or token of the service; - prompts for it, or reads it from standard input."`
}

// syncedKinds returns the kinds of sources that a server synchronises.
func syncedKinds() []string {
	var names []string
	for _, k := range source.StoredKinds() {
		if k.Syncs {
			names = append(names, k.Name)
		}
	}
	return names
}

// isKind reports whether the argument names a kind of source. A file of the same name takes precedence.
func (c sourceAdd) isKind() bool {
	_, err := os.Stat(c.Of)
	return errors.Is(err, fs.ErrNotExist) && slices.Contains(append(federated.Names(), syncedKinds()...), c.Of)
}

// settings returns the settings for the kind.
func (c sourceAdd) settings() source.Settings {
	set := source.Settings{
		Path: c.Path, SyncMinutes: c.Every, Tool: c.Tool,
		Bucket: c.Bucket, Prefix: c.Prefix, Region: c.Region, Endpoint: c.Endpoint, AccessKeyID: c.AccessKeyID,
		Library: c.Library, Collection: c.Collection,
	}
	if c.Of == source.KindWeb || len(c.URL) > 1 {
		set.URLs = c.URL // kinds with a single address refuse several
	} else if len(c.URL) == 1 {
		set.URL = c.URL[0]
	}
	if slices.Contains(federated.Names(), c.Of) {
		set.Language = c.Language // the edition to search, not the language of documents
	}
	return set
}

// addKind adds a source that is searched live, or that a running server synchronises.
func (c sourceAdd) addKind(ctx context.Context, env *Env, parent *adminCommand) error {
	secret, err := readSecret(env, c.Secret, "Secret")
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
		said := map[string]any{"source": map[string]any{
			"id":      src.ID,
			"name":    src.Name,
			"kind":    src.Kind,
			"agentId": src.AgentID,
			"default": src.Default,
		}}
		if !slices.Contains(syncedKinds(), c.Of) {
			return a.print(c.JSON, said, "Source %s (%s) is part of the next search.", src.Name, src.ID)
		}
		if _, err := a.Imports.Sync(ctx, actor, c.Agent, src.ID); err != nil {
			return err
		}
		return a.print(c.JSON, said,
			"Source %s (%s) is imported by the running server, or at its next start. See: carrel admin source status --agent "+
				"%s --id %s", src.Name, src.ID, c.Agent, src.ID)
	})
}
