package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"carrel/internal/live"
	"carrel/internal/source"
)

// isLive reports whether the command is about a live kind. A file of that name comes first, as it did before there were
// kinds.
func (c sourceAdd) isLive() bool {
	_, err := os.Stat(c.Path)
	return errors.Is(err, fs.ErrNotExist) && slices.Contains(live.Names(), c.Path)
}

// addLive gives an agent a source that is asked at question time. There is nothing to read and nothing to wait for.
func (c sourceAdd) addLive(ctx context.Context, env *Env, parent *adminCommand) error {
	secret, err := secretOf(env, c.Secret, "Key")
	if err != nil {
		return err
	}
	return parent.run(ctx, env, false, func(a admin) error {
		actor, err := a.ownerOf(ctx, c.Agent)
		if err != nil {
			return err
		}
		src, err := a.sources.Add(ctx, actor, c.Agent, source.New{
			Name: c.Name, Kind: c.Path, Default: c.Default, Secret: secret,
			Settings: source.Settings{URL: c.URL, Language: c.Language, Tool: c.Tool},
		})
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{
			"source": map[string]any{"id": src.ID, "name": src.Name, "kind": src.Kind, "agentId": src.AgentID, "default": src.Default},
		}, "Source %s (%s) is asked with the next search.", src.Name, src.ID)
	})
}
