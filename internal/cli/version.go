package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"

	"carrel/internal/app"
	"carrel/internal/builtin"
)

type versionCommand struct {
	Notice bool `help:"Print the origin and the licences of the built-in models."`
}

// Run prints the version or the notice.
func (c versionCommand) Run(env *Env) error {
	if c.Notice {
		_, err := io.WriteString(env.Out, builtin.Notice)
		return err
	}
	_, err := fmt.Fprintf(env.Out, "carrel %s (%s, %s/%s)\n", app.Version(),
		runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

type configCommand struct {
	Data *string `placeholder:"DIR" help:"${help_data}"`
	JSON bool    `help:"Print JSON."`
}

// Run prints the settings.
func (c configCommand) Run(env *Env) error {
	cfg, err := flags{"data": c.Data}.load(env)
	if err != nil {
		return err
	}
	settings := cfg.Describe()
	if c.JSON {
		return json.NewEncoder(env.Out).Encode(map[string]any{"settings": settings})
	}
	w := tabwriter.NewWriter(env.Out, 0, 4, 2, ' ', 0)
	for _, s := range settings {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Name, s.Value, s.Source, s.Env) // Flush returns the error
	}
	for _, warning := range cfg.Warnings {
		_, _ = fmt.Fprintln(env.Err, "carrel:", warning)
	}
	return w.Flush()
}
