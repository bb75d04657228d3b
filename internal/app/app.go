// Package app is the only place where the parts are wired together, and the commands that people type.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
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

// What a command ends with. Scripts rely on these.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Env is what a command has of the world around it, so that tests can give it another.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Environ  []string
	// Answerer writes the replies of turns; nil means the program's own. Tests of durability put a slow one here that
	// counts what it is asked.
	Answerer thread.Answerer
}

// System is the process's own environment.
func System() Env {
	return Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Environ: os.Environ()}
}

// commands is the command line, as kong reads it.
type commands struct {
	Serve   serveCommand      `cmd:"" help:"Run the server."`
	Admin   adminCommand      `cmd:"" help:"Manage accounts, keys, agents and sources, also while the server runs."`
	Source  librarianCommands `cmd:"" help:"Fill a source of a server from this machine."`
	Config  configCommand     `cmd:"" help:"Show every setting, its value and where it comes from; secrets are hidden."`
	Version versionCommand    `cmd:"" help:"Show the version."`
}

const description = `Agents that know their sources.

Start with "carrel serve --demo" to look around, or "carrel serve" for an installation of your own.
Every setting can also be given as a variable (CARREL_ADDR for --addr) or in carrel.conf in the data folder.
A command ends with 0 when it worked, 1 when it failed, 2 when it was not understood.`

// ended is how kong's own exits (help) come back to Main.
type ended int

// Main runs a command line and returns what the process ends with.
func Main(args []string, env Env) (code int) {
	defer func() {
		if e, ok := recover().(ended); ok {
			code = int(e)
		}
	}()
	var cli commands
	parser, err := kong.New(&cli,
		kong.Name("carrel"), kong.Description(description), kong.Writers(env.Out, env.Err),
		kong.Exit(func(code int) { panic(ended(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}), settingHelp(),
	)
	if err != nil {
		complain(env, err)
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
		complain(env, err)
		return exitFailed
	}
	return exitOK
}

// settingHelp makes the help of flags from the table of settings, so that it is written once.
func settingHelp() kong.Option {
	vars := kong.Vars{}
	for _, s := range config.Defaults() {
		help := s.Help
		if s.Value != "" && s.Value != "false" {
			help += " Default: " + s.Value + "."
		}
		vars["help_"+strings.ReplaceAll(s.Name, "-", "_")] = help + " (" + s.Env + ")"
	}
	vars["file_extensions"] = format.ExtensionList()
	vars["live_kinds"] = strings.Join(federated.Names(), ", ")
	vars["synced_kinds"] = strings.Join(syncedKinds(), ", ")
	return vars
}

// complain tells a person what went wrong and what to do.
func complain(env Env, err error) {
	var e *core.Error
	switch {
	case !errors.As(err, &e) || e.Kind == core.KindInternal:
		_, _ = fmt.Fprintf(env.Err, "carrel: %v\n", err)
	case len(e.Fields) == 0:
		_, _ = fmt.Fprintf(env.Err, "carrel: %s\n", e.Detail)
	default:
		for _, f := range e.Fields {
			_, _ = fmt.Fprintf(env.Err, "carrel: --%s: %s\n", strings.TrimPrefix(strings.TrimPrefix(f.Pointer, "/"), "settings/"), f.Detail)
		}
	}
}

// isTerminal reports whether a person reads what is written there.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// flags are the settings that a command takes as flags; what was not given stays nil.
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

// databaseFile is the name of SQLite's file in the data folder.
const databaseFile = "carrel.db"

func databasePath(cfg config.Config) string { return filepath.Join(cfg.Data, databaseFile) }
