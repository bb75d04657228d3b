package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"carrel/internal/app"
	"carrel/internal/format"
	"carrel/internal/importer"
	"carrel/internal/source"
)

// importCommand imports files and folders into a source of kind upload, on a server or in the data folder of this
// machine.
type importCommand struct {
	Profile  string   `placeholder:"NAME" help:"The profile of carrel login." env:"CARREL_PROFILE"`
	Server   string   `placeholder:"URL" help:"The address of the server. Default: that of the profile, or else the installation in the data folder of this machine." env:"CARREL_SERVER"`
	Key      string   `placeholder:"KEY" help:"With --server: an API key that may manage agents, instead of a profile." env:"CARREL_KEY"`
	Data     *string  `placeholder:"DIR" help:"${help_data}"`
	Database *string  `placeholder:"URL" help:"${help_database}"`
	Agent    string   `placeholder:"AGENT" help:"The agent's id, or on a server its name. Default on a server: the default agent of the profile, or the only one."`
	Source   string   `placeholder:"SOURCE" help:"The id or name of a source of kind upload. Default: the default source of the agent."`
	JSON     bool     `help:"Print one JSON object: {\"files\":[…]}."`
	Paths    []string `arg:"" name:"path" help:"Files (${file_extensions}) and folders of such files, whose relative paths are kept. Hidden files are skipped."`
}

// resultRefused is the result of a file that was not imported. The other results are the outcomes of package importer.
const resultRefused = "refused"

// importResult is the result of one file.
type importResult struct {
	Name   string `json:"name"`
	Result string `json:"result"`
	// Reason says why the file was refused, or why records of it were skipped.
	Reason    string `json:"reason,omitempty"`
	Documents int    `json:"documents"`
	Skipped   int    `json:"skipped,omitempty"`
}

// fileImporter imports files and returns one result for each, in the same order.
type fileImporter func(ctx context.Context, env *Env, files []foundFile) ([]importResult, error)

// Run imports the files and prints the result of each once. It fails if a file was refused.
func (c importCommand) Run(ctx context.Context, env *Env) error {
	remote, err := c.remote(env)
	if err != nil {
		return err
	}
	if !remote && c.Agent == "" {
		return &commandError{
			message: "set --agent to the id of an agent", code: exitUsage, hint: "See: carrel admin agent list",
		}
	}
	found, err := findFiles(c.Paths)
	if err != nil {
		return err
	}
	var send fileImporter = c.importLocal
	if remote {
		send = c.importRemote
	}
	var files []foundFile
	for _, f := range found {
		if f.refused == "" {
			files = append(files, f)
		}
	}
	results, err := send(ctx, env, files)
	if err != nil {
		return err
	}
	return c.print(env, inOrder(found, results))
}

// remote reports whether the files are sent to a server: if one is named, or if there is a profile and no installation
// in the data folder of this machine.
func (c importCommand) remote(env *Env) (bool, error) {
	if c.Server != "" || c.Profile != "" {
		return true, nil
	}
	cfg, err := flags{"data": c.Data, "database": c.Database}.load(env)
	if err != nil || cfg.Database != "" || c.Data != nil {
		return false, err
	}
	if _, err := os.Stat(app.DatabasePath(cfg)); err == nil {
		return false, nil
	}
	store, err := env.profileStore()
	if err != nil {
		return false, err
	}
	file, err := store.read()
	return len(file.Profiles) > 0, err
}

// inOrder inserts the files that were not sent into the results.
func inOrder(found []foundFile, sent []importResult) []importResult {
	out := make([]importResult, 0, len(found))
	for _, f := range found {
		if f.refused != "" {
			out = append(out, importResult{Name: f.name, Result: resultRefused, Reason: f.refused})
			continue
		}
		out, sent = append(out, sent[0]), sent[1:]
	}
	return out
}

// print prints the results and returns an error if a file was refused.
func (c importCommand) print(env *Env, results []importResult) error {
	count := map[string]int{}
	for _, r := range results {
		count[r.Result]++
	}
	var err error
	switch {
	case c.JSON:
		err = json.NewEncoder(env.Out).Encode(map[string]any{"files": results})
	case len(results) == 0:
		_, err = fmt.Fprintf(env.Out, "No files found. Name files, or a folder that contains files that are not hidden, of "+
			"these formats: %s.\n", format.ExtensionList())
	default:
		var b strings.Builder
		for _, r := range results {
			b.WriteString(r.line())
		}
		_, err = fmt.Fprintf(env.Out, "%s%d files: %d added, %d updated, %d unchanged, %d refused.\n",
			b.String(), len(results),
			count[importer.OutcomeAdded], count[importer.OutcomeUpdated], count[importer.OutcomeUnchanged], count[resultRefused])
	}
	if n := count[resultRefused]; err == nil && n > 0 {
		return fmt.Errorf("%d of %d files were refused", n, len(results))
	}
	return err
}

// line describes the result for people.
func (r importResult) line() string {
	line := fmt.Sprintf("%-9s  %s", r.Result, printableName(r.Name))
	if r.Documents > 1 {
		line += fmt.Sprintf(" (%d documents)", r.Documents)
	}
	if r.Skipped > 0 {
		line += fmt.Sprintf(", %d skipped", r.Skipped)
	}
	if r.Reason != "" {
		line += ": " + r.Reason
	}
	return line + "\n"
}

// setOutcome sets the result of a file that the importer has processed.
func (r *importResult) setOutcome(outcome, reason string, documents, skipped int) {
	r.Result, r.Documents, r.Skipped = outcome, documents, skipped
	if outcome == importer.OutcomeFailed {
		r.Result, r.Reason = resultRefused, strings.TrimPrefix(reason, path.Base(r.Name)+": ")
	}
}

// importLocal imports into the installation of this machine.
func (c importCommand) importLocal(ctx context.Context, env *Env, files []foundFile) ([]importResult, error) {
	parent := &adminCommand{Data: c.Data, Database: c.Database}
	var results []importResult
	err := parent.run(ctx, env, false, func(a admin) error {
		actor, err := a.ownerOf(ctx, c.Agent)
		if err != nil {
			return err
		}
		sources, err := a.Sources.List(ctx, actor, c.Agent)
		if err != nil {
			return err
		}
		choices := make([]sourceChoice, len(sources))
		for i, s := range sources {
			choices[i] = sourceChoice{ID: s.ID, Name: s.Name, Kind: s.Kind, Default: s.Default}
		}
		sourceID, err := c.choose(choices)
		if err != nil {
			return err
		}
		p := newImportProgress(env, files)
		defer p.finish()
		local := make([]importer.LocalFile, len(files))
		for i, f := range files {
			local[i] = importer.LocalFile{Name: f.name, Path: f.path, Size: f.size}
		}
		err = a.Imports.ImportFiles(ctx, actor, c.Agent, sourceID, local, func(f importer.File, problems []string) {
			r := importResult{Name: f.Name, Reason: strings.Join(problems[:min(1, len(problems))], "")}
			r.setOutcome(f.Outcome, f.Error, f.Documents, f.Skipped)
			results = append(results, r)
			p.fileDone(f.Name, f.Size)
		})
		if err != nil {
			return err
		}
		p.finish()
		_, err = a.index(ctx)
		return err
	})
	return results, err
}

// sourceChoice is a source that the files may be imported into.
type sourceChoice struct {
	ID, Name, Kind string
	Default        bool
}

// choose returns the id of the source: the named one, or the default source if it takes uploads, or else the first that
// does.
func (c importCommand) choose(sources []sourceChoice) (string, error) {
	first := ""
	for _, s := range sources {
		named := c.Source != "" && (s.ID == c.Source || s.Name == c.Source)
		switch {
		case named && s.Kind != source.KindUpload:
			return "", fmt.Errorf("the source %s takes no uploads: its kind is %s", s.Name, s.Kind)
		case named || c.Source == "" && s.Default && s.Kind == source.KindUpload:
			return s.ID, nil
		case first == "" && s.Kind == source.KindUpload:
			first = s.ID
		}
	}
	if c.Source != "" || first == "" {
		return "", errors.New("the agent has no such source; see: carrel admin source status --agent " + c.Agent)
	}
	return first, nil
}

// remoteSource returns the id of the source on the server.
func (c importCommand) remoteSource(ctx context.Context, api *agentClient) (string, error) {
	list, err := api.ListSources(ctx, api.agent)
	if err != nil {
		return "", err
	}
	choices := make([]sourceChoice, len(list.Sources))
	for i, s := range list.Sources {
		choices[i] = sourceChoice{ID: s.ID, Name: s.Name, Kind: s.Kind, Default: s.Default}
	}
	return c.choose(choices)
}
