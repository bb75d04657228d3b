// Package cli holds the commands: those that run and administer a server, and those that use one.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/federated"
	"carrel/internal/format"
	"carrel/internal/thread"
)

// Env is the environment of a command. Tests replace it.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Environ  []string
	// ConfigDir returns the folder of the user's configuration files, in which credentials are stored.
	ConfigDir func() (string, error)
	// Answerer writes the replies of turns. Nil means the research agent; durability tests set a scripted one.
	Answerer thread.Answerer
}

// System returns the environment of this process.
func System() Env {
	return Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Environ: os.Environ(), ConfigDir: os.UserConfigDir,
	}
}

// commandLine is the command line in the form that kong parses.
type commandLine struct {
	Serve   serveCommand         `cmd:"" help:"Run the server."`
	Admin   adminCommand         `cmd:"" help:"Manage accounts, keys, agents and sources, also while the server runs."`
	Backup  backupCommand        `cmd:"" help:"Make, check and restore backups of the installation."`
	Import  importCommand        `cmd:"" help:"Import files and folders of this machine, and print the result of each file."`
	Source  clientSourceCommands `cmd:"" help:"Send files from this machine to a source."`
	Config  configCommand        `cmd:"" help:"Show every setting, its value and its origin. Secrets are redacted."`
	Health  healthCommand        `cmd:"" help:"Ask the server of this machine whether it can serve requests."`
	Version versionCommand       `cmd:"" help:"Show the version."`

	Login      loginCommand      `cmd:"" group:"client" help:"Sign in to a server with a browser, an API key or a connect code."`
	Logout     logoutCommand     `cmd:"" group:"client" help:"Sign out, and revoke the sign-in of the browser."`
	Whoami     whoamiCommand     `cmd:"" group:"client" help:"Show the account, the server and the credential."`
	Profiles   profilesCommand   `cmd:"" group:"client" help:"List the servers that you are signed in to, or choose one."`
	Ask        askCommand        `cmd:"" group:"client" help:"Ask an agent, and print the answer with its sources."`
	Search     searchCommand     `cmd:"" group:"client" help:"Search the sources of an agent."`
	Agents     userAgentCommands `cmd:"" group:"client" help:"List, create and choose agents."`
	Threads    threadCommands    `cmd:"" group:"client" help:"List, show, export, cancel and delete threads."`
	Memories   memoryCommands    `cmd:"" group:"client" help:"List, add and delete memories."`
	Favourites favouriteCommands `cmd:"" group:"client" help:"List, add and remove favourites."`
	Export     exportCommand     `cmd:"" group:"client" help:"Export your account or a thread."`
	Open       openCommand       `cmd:"" group:"client" help:"Open an agent, a thread or a document in the browser."`
	MCP        mcpCommand        `cmd:"" name:"mcp" group:"client" help:"Connect a program that speaks MCP over standard input and output."`

	Completion completionCommand `cmd:"" help:"Print a completion script for a shell."`
	Man        manCommand        `cmd:"" help:"Print a manual page, for man -l."`
}

const description = `Agents that know their sources.

Run "carrel serve --demo" to try it, or "carrel serve" to start your own installation.
Every setting can also be an environment variable (CARREL_ADDR for --addr) or a line in carrel.conf in the data folder.
Run "carrel login --server URL" to use a server from this terminal, and then "carrel ask".
Exit codes: 0 success, 1 failure, 2 usage error; client commands also 3 not signed in, 4 not allowed, 5 not found,
6 conflict or limit, 7 server not reachable, 130 interrupted.`

// exit carries the exit code from kong, which exits by itself after --help, back to Main.
type exit int

// Main runs a command line and returns the exit code.
func Main(args []string, env Env) (code int) {
	defer func() {
		if e, ok := recover().(exit); ok {
			code = int(e)
		}
	}()
	parser, err := newParser(grammarFor(args), env)
	if err != nil {
		printError(env, err)
		return exitFailed
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if err != nil {
		_, _ = fmt.Fprintf(env.Err, "carrel: %v\nTry \"carrel --help\", or --help after a command.\n", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command.BindTo(ctx, (*context.Context)(nil))
	if err := command.Run(&env); err != nil {
		printError(env, err)
		if hint := hintOf(err); hint != "" {
			_, _ = fmt.Fprintln(env.Err, hint)
		}
		return exitCodeOf(err)
	}
	return exitOK
}

// newParser returns the parser of a grammar, which is a pointer to a struct of commands.
func newParser(grammar any, env Env) (*kong.Kong, error) {
	return kong.New(grammar,
		kong.Name("carrel"), kong.Description(description), kong.Writers(env.Out, env.Err),
		kong.Exit(func(code int) { panic(exit(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}), settingHelp(),
		kong.ExplicitGroups([]kong.Group{{Key: "client", Title: "Use a server from this terminal:"}}),
	)
}

// grammarFor returns the part of the command line that an invocation needs: the command that it names, or else all of
// them. To build all of them takes a fifth of the start of a server.
func grammarFor(args []string) any {
	if len(args) == 0 {
		return new(commandLine)
	}
	whole := reflect.TypeFor[commandLine]()
	for i := range whole.NumField() {
		// A completion script and a manual page describe all commands.
		switch f := whole.Field(i); cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name)) {
		case "completion", "man":
		case args[0]:
			return reflect.New(reflect.StructOf([]reflect.StructField{f})).Interface()
		}
	}
	return new(commandLine)
}

// settingHelp fills the placeholders in help texts, most of them from the table of settings. It does not use kong.Vars,
// which kong interpolates once more for every flag of every command: 15 MB of garbage at each start.
func settingHelp() kong.Option {
	texts := []string{
		"${file_extensions}", format.ExtensionList(),
		"${live_kinds}", strings.Join(federated.Names(), ", "),
		"${synced_kinds}", strings.Join(syncedKinds(), ", "),
	}
	for _, s := range config.Defaults() {
		help := s.Help
		if s.Value != "" && s.Value != "false" {
			help += " Default: " + s.Value + "."
		}
		texts = append(texts, "${help_"+strings.ReplaceAll(s.Name, "-", "_")+"}", help+" ("+s.Env+")")
	}
	fill := strings.NewReplacer(texts...)
	return kong.PostBuild(func(k *kong.Kong) error {
		return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
			if value, ok := node.(*kong.Value); ok {
				value.Help = fill.Replace(value.Help)
			}
			return next(nil)
		})
	})
}

// printError prints an error, one line for each invalid field.
func printError(env Env, err error) {
	var e *core.Error
	switch {
	case !errors.As(err, &e) || e.Kind == core.KindInternal:
		_, _ = fmt.Fprintf(env.Err, "carrel: %v\n", err)
	case len(e.Fields) == 0:
		_, _ = fmt.Fprintf(env.Err, "carrel: %s\n", e.Detail)
	default:
		for _, f := range e.Fields {
			_, _ = fmt.Fprintf(env.Err, "carrel: --%s: %s\n",
				strings.TrimPrefix(strings.TrimPrefix(f.Pointer, "/"), "settings/"), f.Detail)
		}
	}
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// flags maps settings to the values of their flags; a flag that was not given is nil.
type flags map[string]*string

func (f flags) load(env *Env) (config.Config, error) {
	overrides := map[string]string{}
	for name, value := range f {
		if value != nil {
			overrides[name] = *value
		}
	}
	return config.Load(config.LoadOptions{Getenv: env.Getenv, Environ: env.Environ, Overrides: overrides})
}
