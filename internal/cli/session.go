package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"carrel/client"
	"carrel/internal/app"
)

// connectFlags choose the server and the credential of a client command.
type connectFlags struct {
	Profile string `placeholder:"NAME" help:"The profile of carrel login. Default: the profile of the server, or the last sign-in." env:"CARREL_PROFILE"`
	Server  string `placeholder:"URL" help:"The address of the server. Default: that of the profile." env:"CARREL_SERVER"`
	Key     string `placeholder:"KEY" help:"An API key instead of the credential of the profile." env:"CARREL_KEY"`
	JSON    bool   `help:"Print JSON: one object, or one line for each event of a stream."`
}

// agentFlag chooses the agent of a client command.
type agentFlag struct {
	Agent string `placeholder:"AGENT" help:"The id or name of the agent. Default: the agent of carrel agents use, or the only one."`
}

// session is a client command's connection to a server.
type session struct {
	*client.Client
	env    *Env
	screen *screen
	json   bool
	store  profileStore
	// name is the name of the profile, or empty with a key from a flag or a variable.
	name    string
	profile profile
}

// open connects to the server. It sends no request.
func (c connectFlags) open(env *Env) (*session, error) {
	s := &session{env: env, screen: newScreen(env, env.Out), json: c.JSON}
	server := strings.TrimSuffix(c.Server, "/")
	transport := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	opts := client.Options{HTTP: transport, UserAgent: "carrel/" + app.Version()}
	if c.Key != "" && server != "" {
		s.profile = profile{Server: server, Kind: profileKey}
		s.Client = client.New(server, client.APIKey(c.Key), opts)
		return s, nil
	}
	var err error
	if s.store, err = env.profileStore(); err != nil {
		return nil, err
	}
	file, err := s.store.read()
	if err != nil {
		return nil, err
	}
	name, p, err := file.find(c.Profile, server)
	if err != nil {
		return nil, err
	}
	s.name, s.profile = name, *p
	if c.Key != "" {
		s.name = ""
		s.Client = client.New(p.Server, client.APIKey(c.Key), opts)
		return s, nil
	}
	s.Client = client.New(p.Server, &profileCredential{store: s.store, name: name, http: transport}, opts)
	return s, nil
}

// with connects to the server, calls f and closes the connections.
func (c connectFlags) with(env *Env, f func(*session) error) error {
	s, err := c.open(env)
	if err != nil {
		return err
	}
	defer s.Close()
	return f(s)
}

// withAgent is with for a command about one agent, which it resolves.
func (c connectFlags) withAgent(ctx context.Context, env *Env, agent string, f func(*session, string) error) error {
	return c.with(env, func(s *session) error {
		id, err := s.agentID(ctx, agent)
		if err != nil {
			return err
		}
		return f(s, id)
	})
}

// agentPrefix begins the ids of agents.
const agentPrefix = "agt_"

// agentID returns the id of an agent given by id or name. Without a name it is the default agent of the profile, or the
// only one of the account.
func (s *session) agentID(ctx context.Context, wanted string) (string, error) {
	if wanted = cmp.Or(wanted, s.profile.Agent); strings.HasPrefix(wanted, agentPrefix) {
		return wanted, nil
	}
	var found []string
	for a, err := range s.ListAgentsAll(ctx, client.ListAgentsParams{Limit: 200}) {
		if err != nil {
			return "", err
		}
		if wanted == "" || strings.EqualFold(a.Name, wanted) {
			found = append(found, a.ID)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case wanted != "" && len(found) == 0:
		return "", &commandError{
			message: "there is no agent " + wanted, code: exitNotFound, hint: "List the agents: carrel agents",
		}
	case wanted != "":
		return "", &commandError{
			message: fmt.Sprintf("%d agents have the name %s; use an id", len(found), wanted), code: exitUsage,
			hint: "List the agents: carrel agents",
		}
	case len(found) == 0:
		return "", &commandError{
			message: "you have no agent", code: exitNotFound, hint: "Create one: carrel agents create NAME",
		}
	}
	return "", &commandError{
		message: "you have several agents; set --agent", code: exitUsage,
		hint: "List them: carrel agents. Choose a default: carrel agents use NAME",
	}
}

// printJSON prints a value as one line.
func (s *session) printJSON(value any) error {
	encoder := json.NewEncoder(s.env.Out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// done prints that something was done: a JSON object or a sentence.
func (s *session) done(object any, format string, args ...any) error {
	if s.json {
		return s.printJSON(object)
	}
	_, err := fmt.Fprintf(s.env.Out, format+"\n", args...)
	return err
}

// list prints entries: one JSON object with a list under key, or a table, or a sentence if there are none.
func list[T any](s *session, key string, entries []T, none string, header []string, row func(T) []string) error {
	if s.json {
		if entries == nil {
			entries = []T{}
		}
		return s.printJSON(map[string]any{key: entries})
	}
	if len(entries) == 0 {
		_, err := fmt.Fprintln(s.env.Out, none)
		return err
	}
	rows := make([][]string, len(entries))
	for i, e := range entries {
		rows[i] = row(e)
	}
	return s.screen.table(header, rows)
}

// collect returns at most limit entries of an iterator; 0 means all.
func collect[T any](limit int, entries func(yield func(T, error) bool)) ([]T, error) {
	var out []T
	for entry, err := range entries {
		if err != nil {
			return nil, err
		}
		if out = append(out, entry); len(out) == limit {
			break
		}
	}
	return out, nil
}
