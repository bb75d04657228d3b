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
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/term"

	"carrel/internal/cli/cmdline"
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

// commandLine is the command line in the form that cmdline parses.
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

// Main runs a command line and returns the exit code.
func Main(args []string, env Env) (code int) {
	parser := newParser(grammarFor(args), env)
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	switch {
	case errors.Is(err, cmdline.ErrHelp):
		_, _ = io.WriteString(env.Out, parser.Help(command, helpWidth(env)))
		return exitOK
	case err != nil:
		_, _ = fmt.Fprintf(env.Err, "carrel: %v\nTry \"carrel --help\", or --help after a command.\n", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := runCommand(ctx, &env, parser, command); err != nil {
		printError(env, err)
		if hint := hintOf(err); hint != "" {
			_, _ = fmt.Fprintln(env.Err, hint)
		}
		return exitCodeOf(err)
	}
	return exitOK
}

// runCommand calls the Run method of a command with what it takes. A command without a known one is an error: a test
// looks for them.
func runCommand(ctx context.Context, env *Env, parser *cmdline.Parser, command *cmdline.Node) error {
	switch c := command.Target().(type) {
	case interface{ Run(env *Env) error }:
		return c.Run(env)
	case interface {
		Run(ctx context.Context, env *Env) error
	}:
		return c.Run(ctx, env)
	case interface {
		Run(ctx context.Context, env *Env, parent *adminCommand) error
	}:
		return c.Run(ctx, env, parentOf[adminCommand](command))
	case interface {
		Run(ctx context.Context, env *Env, parent *backupCommand) error
	}:
		return c.Run(ctx, env, parentOf[backupCommand](command))
	case interface {
		Run(env *Env, root *cmdline.Node) error
	}:
		return c.Run(env, parser.Root)
	}
	return fmt.Errorf("the command %q can not be run", command.Path())
}

// parentOf returns the parent of a command with the type P.
func parentOf[P any](command *cmdline.Node) *P {
	for n := command.Parent; n != nil; n = n.Parent {
		if parent, ok := n.Target().(*P); ok {
			return parent
		}
	}
	return nil
}

// newParser returns the parser of a grammar, which is a pointer to a struct of commands.
func newParser(grammar any, env Env) *cmdline.Parser {
	vars := helpVariables()
	return cmdline.New(grammar, cmdline.Options{
		Name: "carrel", Description: description, Getenv: env.Getenv,
		Groups: map[string]string{"client": "Use a server from this terminal:"},
		Vars: func(name string) (string, bool) {
			text, ok := vars[name]
			return text, ok
		},
	})
}

// helpWidth returns the width of help: that of the terminal, at most 100.
func helpWidth(env Env) int {
	const most, usual = 100, 80
	width, err := strconv.Atoi(env.Getenv("COLUMNS"))
	if f, ok := env.Out.(*os.File); ok && err != nil {
		width, _, err = term.GetSize(int(f.Fd()))
	}
	if err != nil || width <= 0 {
		width = usual
	}
	return min(width, most)
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

// helpVariables returns the texts of the variables in help, most of them from the table of settings.
func helpVariables() map[string]string {
	texts := map[string]string{
		"file_extensions": format.ExtensionList(),
		"live_kinds":      strings.Join(federated.Names(), ", "),
		"synced_kinds":    strings.Join(syncedKinds(), ", "),
	}
	for _, s := range config.Defaults() {
		help := s.Help
		if s.Value != "" && s.Value != "false" {
			help += " Default: " + s.Value + "."
		}
		texts["help_"+strings.ReplaceAll(s.Name, "-", "_")] = help + " (" + s.Env + ")"
	}
	return texts
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
