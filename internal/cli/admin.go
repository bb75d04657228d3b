package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"carrel/internal/account"
	"carrel/internal/app"
	"carrel/internal/config"
	"carrel/internal/core"
)

// adminCommand is the part of the command line for the person at the machine. It writes through the same database
// as the server and needs no lock, so it works while the server runs.
type adminCommand struct {
	// With PostgreSQL only the index commands need the folder: that of the node whose index it is.
	Data     *string `placeholder:"DIR" help:"${help_data}"`
	Database *string `placeholder:"URL" help:"${help_database}"`

	User         userCommands         `cmd:"" help:"Create, list, disable, export and delete accounts, and set passwords."`
	Key          keyCommands          `cmd:"" help:"Create, list and revoke API keys."`
	ConnectCode  connectCodeCommands  `cmd:"" name:"connect-code" help:"Create one-time connect codes."`
	Connection   connectionCommands   `cmd:"" help:"List and revoke the programs that act for an account."`
	Keys         signingKeyCommands   `cmd:"" help:"Rotate the keys that id tokens are signed with."`
	Agent        agentCommands        `cmd:"" help:"Create and list agents."`
	Source       sourceCommands       `cmd:"" help:"Give agents documents to search."`
	Index        indexCommands        `cmd:"" help:"Check the search index of this node, or build it anew."`
	Plan         planCommands         `cmd:"" help:"Make plans, and give accounts one."`
	Spend        spendCommands        `cmd:"" help:"Set spend caps, and check the ledger."`
	Usage        usageCommands        `cmd:"" help:"Show what accounts have used."`
	Subscription subscriptionCommands `cmd:"" help:"Give accounts a plan for a time."`
	Audit        auditCommands        `cmd:"" help:"Read and check the log of what happened to accounts and credentials."`
	Tasks        taskCommands         `cmd:"" help:"Look at durable work, such as turns, and cancel it."`
}

// admin is what an admin command works with.
type admin struct {
	*app.App
	env *Env
}

// settings loads the settings of the installation that a command works on.
func (c *adminCommand) settings(env *Env) (config.Config, error) {
	return flags{"data": c.Data, "database": c.Database}.load(env)
}

// run opens the installation, runs one command and closes it.
func (c *adminCommand) run(ctx context.Context, env *Env, create bool, f func(admin) error) error {
	cfg, err := c.settings(env)
	if err != nil {
		return err
	}
	if cfg.Database == "" && !create {
		if _, err := os.Stat(app.DatabasePath(cfg)); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("there is no installation in %s; name its folder with --data, or make the first account with: carrel admin --data %s user create",
				cfg.Data, shellQuote(cfg.Data))
		}
	}
	in, err := app.Open(ctx, cfg, app.Options{Log: slog.New(slog.DiscardHandler), Answerer: env.Answerer})
	if err != nil {
		return err
	}
	return errors.Join(f(admin{in, env}), in.Close())
}

// user finds the account that a command is about.
func (a admin) user(ctx context.Context, email string) (account.User, error) {
	u, err := a.Accounts.ByEmail(ctx, core.Operator(""), email)
	if core.IsKind(err, core.KindNotFound) {
		return u, errors.New("there is no account with that e-mail address; see: carrel admin user list")
	}
	return u, err
}

// print shows the outcome: one JSON object for scripts, or a sentence for people.
func (a admin) print(asJSON bool, object map[string]any, format string, args ...any) error {
	if asJSON {
		return json.NewEncoder(a.env.Out).Encode(object)
	}
	_, err := fmt.Fprintf(a.env.Out, format+"\n", args...)
	return err
}

// table shows rows to people.
func (a admin) table(header string, rows [][]string) error {
	w := tabwriter.NewWriter(a.env.Out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, header) // Flush tells
	for _, r := range rows {
		_, _ = fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	return w.Flush()
}

// secretOf returns a secret given as a flag; "-" is asked for, or read from the standard input, so that it stays
// out of the shell's history and the list of processes.
func secretOf(env *Env, value, prompt string) (string, error) {
	if value != "-" {
		return value, nil
	}
	if f, ok := env.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		_, _ = fmt.Fprint(env.Err, prompt+": ")
		b, err := term.ReadPassword(int(f.Fd()))
		_, _ = fmt.Fprintln(env.Err)
		return string(b), err
	}
	line, err := bufio.NewReader(env.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func dateOr(t *time.Time, none string) string {
	if t == nil {
		return none
	}
	return date(*t)
}
