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

// adminCommand groups the commands for the operator. They open the database themselves and need no lock, so they
// work while the server runs.
type adminCommand struct {
	// With PostgreSQL only the index commands need the data folder of their node.
	Data     *string `placeholder:"DIR" help:"${help_data}"`
	Database *string `placeholder:"URL" help:"${help_database}"`

	User         userCommands         `cmd:"" help:"Create, list, disable, export and delete accounts, and set passwords."`
	Invitation   invitationCommands   `cmd:"" help:"Invite people to create their accounts."`
	Key          keyCommands          `cmd:"" help:"Create, list and revoke API keys."`
	ConnectCode  connectCodeCommands  `cmd:"" name:"connect-code" help:"Create one-time connect codes."`
	Connection   connectionCommands   `cmd:"" help:"List and revoke connected programs."`
	Keys         signingKeyCommands   `cmd:"" help:"Rotate the signing keys of ID tokens, and change secret-key."`
	Agent        agentCommands        `cmd:"" help:"Create and list agents."`
	Source       sourceCommands       `cmd:"" help:"Add sources and show their imports."`
	Index        indexCommands        `cmd:"" help:"Check or rebuild the search index of this node."`
	Plan         planCommands         `cmd:"" help:"Create plans and assign them to accounts."`
	Spend        spendCommands        `cmd:"" help:"Set spend caps and check the ledger."`
	Usage        usageCommands        `cmd:"" help:"Show usage."`
	Subscription subscriptionCommands `cmd:"" help:"Manage subscriptions."`
	Audit        auditCommands        `cmd:"" help:"Read and verify the audit log."`
	Doctor       doctorCommand        `cmd:"" help:"Check this installation and print what to do about problems."`
	Tasks        taskCommands         `cmd:"" help:"List, show and cancel tasks, such as turns and imports."`
}

// admin is the opened installation and the environment of an admin command.
type admin struct {
	*app.App
	env *Env
}

// settings loads the settings with the flags of the command.
func (c *adminCommand) settings(env *Env) (config.Config, error) {
	return flags{"data": c.Data, "database": c.Database}.load(env)
}

// run calls f with the opened installation. Unless create is set, it fails if there is no database.
func (c *adminCommand) run(ctx context.Context, env *Env, create bool, f func(admin) error) error {
	return c.runWith(ctx, env, create, app.Options{Log: slog.New(slog.DiscardHandler), Answerer: env.Answerer}, f)
}

// runWith is run with options of the installation.
func (c *adminCommand) runWith(
	ctx context.Context, env *Env, create bool, o app.Options, f func(admin) error,
) error {
	cfg, err := c.settings(env)
	if err != nil {
		return err
	}
	if cfg.Database == "" && !create {
		if _, err := os.Stat(app.DatabasePath(cfg)); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("there is no installation in %s; set its folder with --data, or create the first account with: "+
				"carrel admin --data %s user create",
				cfg.Data, core.ShellQuote(cfg.Data))
		}
	}
	in, err := app.Open(ctx, cfg, o)
	if err != nil {
		return err
	}
	return errors.Join(f(admin{in, env}), in.Close())
}

// user returns the account with an e-mail address.
func (a admin) user(ctx context.Context, email string) (account.User, error) {
	u, err := a.Accounts.ByEmail(ctx, core.Operator(""), email)
	if core.IsKind(err, core.KindNotFound) {
		return u, errors.New("no account has this e-mail address; see: carrel admin user list")
	}
	return u, err
}

// print prints a result: one JSON object for scripts, or a sentence for people.
func (a admin) print(asJSON bool, object map[string]any, format string, args ...any) error {
	if asJSON {
		return json.NewEncoder(a.env.Out).Encode(object)
	}
	_, err := fmt.Fprintf(a.env.Out, format+"\n", args...)
	return err
}

// table prints rows aligned in columns, which tabs separate in the header.
func (a admin) table(header string, rows [][]string) error {
	w := tabwriter.NewWriter(a.env.Out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, header) // Flush returns the error
	for _, r := range rows {
		_, _ = fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	return w.Flush()
}

// readSecret returns the secret given as a flag. For "-" it prompts, or reads a line from standard input, which keeps
// the secret out of the shell history and the process list.
func readSecret(env *Env, value, prompt string) (string, error) {
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

// userFlag names the account that a command works on.
type userFlag struct {
	User string `required:"" aliases:"email" placeholder:"EMAIL" help:"The account."`
}

// runForUser is run for a command about one account.
func (c *adminCommand) runForUser(
	ctx context.Context, env *Env, email string, f func(admin, account.User) error,
) error {
	return c.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, email)
		if err != nil {
			return err
		}
		return f(a, u)
	})
}

// printList prints items: one JSON object with a list under key for scripts, or a table for people.
func printList[T any](
	a admin, asJSON bool, key string, items []T, object func(T) map[string]any, header string, row func(T) []string,
) error {
	if asJSON {
		list := make([]map[string]any, len(items))
		for i, item := range items {
			list[i] = object(item)
		}
		return a.print(true, map[string]any{key: list}, "")
	}
	rows := make([][]string, len(items))
	for i, item := range items {
		rows[i] = row(item)
	}
	return a.table(header, rows)
}
