package cli

import (
	"context"
	"errors"
	"log/slog"

	"carrel/internal/app"
)

type secretKeyReseal struct {
	JSON bool `help:"Print one JSON object: {\"resealed\":…,\"unreadable\":…}."`
}

// Run encrypts stored secrets with the current secret key. A server does the same when it starts with a new key; this
// command also finds secrets that another node has stored with the old key since.
func (c secretKeyReseal) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		r, err := a.Reseal(ctx)
		if err != nil {
			return err
		}
		text := "Encrypted %d secrets with secret-key; %d could not be decrypted with any key. secret-key-previous is no " +
			"longer needed, unless a server still runs with the old key."
		return a.print(c.JSON, map[string]any{"resealed": r.Secrets, "unreadable": r.Unreadable}, text, r.Secrets,
			r.Unreadable)
	})
}

type secretKeyReset struct {
	Yes  bool `help:"Confirm that all keys, sessions, connections and stored secrets become invalid."`
	JSON bool `help:"Print one JSON object: {\"reset\":true}."`
}

// Run accepts a secret key that is not the one of the database.
func (c secretKeyReset) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	if !c.Yes {
		return errors.New("nothing was changed; confirm with --yes that all keys, sessions, connections and stored secrets " +
			"become invalid")
	}
	o := app.Options{Log: slog.New(slog.DiscardHandler), Answerer: env.Answerer, ResetKey: true}
	return parent.runWith(ctx, env, false, o, func(a admin) error {
		return a.print(c.JSON, map[string]any{"reset": true}, "The installation uses secret-key now. Passwords are "+
			"unchanged; create keys and enter the secrets of sources and webhooks again.")
	})
}
