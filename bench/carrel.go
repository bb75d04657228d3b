package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	carrelEmail = "bench@example.org"
	// carrelPassword is the password of the account, which is deleted after the run.
	carrelPassword = "correct horse battery"
)

// carrel runs the built binary of this repository through its commands and its REST API.
type carrel struct {
	binary string
	dir    string // data folder and logs
	rows   int
	// database is a PostgreSQL URL; empty means SQLite in the data folder.
	database string
	more     []string // additional environment variables
	key      string
	agent    string
	threads  []string
}

func (c *carrel) name() string { return "Carrel" }

func (c *carrel) listField() string { return "memories" }

func (c *carrel) dataDir() string { return filepath.Join(c.dir, "carrel_data") }

// env returns the environment of a Carrel process.
func (c *carrel) env(add ...string) []string {
	if c.database != "" {
		add = append(add, "CARREL_DATABASE="+c.database)
	}
	return cleanEnv(append(add, c.more...)...)
}

// prepare creates the account, and its rows through the API, so that they are the rows that the API creates.
func (c *carrel) prepare(ctx context.Context) error {
	if err := c.signUp(ctx); err != nil {
		return err
	}
	in, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer in.stop()
	none := func([]byte) error { return nil }
	memory := postText(in.addr, c.path("memories"), c.key, "text", none)
	if _, err := collect(ctx, in.addr, memory, c.rows, pickID("memory")); err != nil {
		return fmt.Errorf("make memories: %w", err)
	}
	return c.makeThreads(ctx, in, c.rows)
}

func (c *carrel) makeThreads(ctx context.Context, in *instance, count int) (err error) {
	thread := postText(in.addr, c.path("threads"), c.key, "title", func([]byte) error { return nil })
	if c.threads, err = collect(ctx, in.addr, thread, count, pickID("thread")); err != nil {
		return fmt.Errorf("make threads: %w", err)
	}
	return nil
}

// signUp creates an account, a key and an agent with admin commands.
func (c *carrel) signUp(ctx context.Context) error {
	var made struct {
		Key   string `json:"key"`
		Agent struct {
			ID string `json:"id"`
		} `json:"agent"`
	}
	for _, args := range [][]string{
		{"user", "create", "--email", carrelEmail, "--name", "Bench", "--password", carrelPassword},
		{"key", "create", "--user", carrelEmail, "--name", "bench"},
		{"agent", "create", "--user", carrelEmail, "--name", "Bench"},
	} {
		if err := c.admin(ctx, &made, args...); err != nil {
			return err
		}
	}
	if made.Key == "" || made.Agent.ID == "" {
		return errors.New("carrel admin printed no key or no agent id")
	}
	c.key, c.agent = made.Key, made.Agent.ID
	return nil
}

// admin runs an admin command and decodes its JSON output.
func (c *carrel) admin(ctx context.Context, out any, args ...string) error {
	args = append(append([]string{"admin", "--data", c.dataDir()}, args...), "--json")
	cmd := exec.CommandContext(ctx, c.binary, args...)
	cmd.Env = c.env()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	printed, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("carrel %s: %w: %s", strings.Join(args[:5], " "), err, stderr.String())
	}
	return json.Unmarshal(printed, out)
}

func (c *carrel) path(rest string) string { return "/api/agents/" + c.agent + "/" + rest }

func (c *carrel) start(ctx context.Context) (*instance, error) {
	addr, err1 := freeAddr()
	metrics, err2 := freeAddr()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	cmd := exec.Command(c.binary, "serve", "--addr", addr, "--data", c.dataDir(), "--metrics-addr", metrics)
	cmd.Env = c.env("CARREL_RATE_LIMITS=off", "CARREL_EVENT_STREAMS=1000000", "CARREL_LOG_LEVEL=warn",
		"CARREL_TURNS_PER_USER=0", "CARREL_TURNS_PER_NODE=0")
	proc, err := startProcess(ctx, c.name(), filepath.Join(c.dir, "carrel.log"), "http://"+addr+"/healthz", cmd)
	if err != nil {
		return nil, err
	}
	return &instance{process: proc, addr: addr, metricsAddr: metrics}, nil
}

func (c *carrel) request(in *instance, scenario string) (request, error) {
	one := countOf(`"title":"note `, 1)
	switch scenario {
	case "list":
		path := c.path(fmt.Sprintf("memories?limit=%d", pageSize))
		return repeatGet(in.addr, path, c.key, onceThenSame(countOf(`"text":"note `, pageSize))), nil
	case "read":
		paths := make([]string, len(c.threads))
		for i, id := range c.threads {
			paths[i] = c.path("threads/" + id)
		}
		return rotateGets(in.addr, paths, c.key, one)
	case "create":
		return postText(in.addr, c.path("threads"), c.key, "title", one), nil
	}
	return request{}, fmt.Errorf("unknown scenario %q", scenario)
}

func (c *carrel) notes(context.Context, *instance) ([]string, error) {
	return []string{
		"Carrel: the built binary with CARREL_RATE_LIMITS=off, no limit of concurrent turns and CARREL_LOG_LEVEL=warn " +
			"(no line per request), otherwise its default settings; SQLite in WAL with synchronous = FULL, which is not a setting.",
		"Carrel: memories are listed, threads are read and created, each with a text of the same size as PocketBase's, " +
			"asked with an API key.",
	}, nil
}

// pickID returns the id in {"<name>": {"id": …}}.
func pickID(name string) func([]byte) (string, error) {
	return func(body []byte) (string, error) {
		var reply map[string]struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(body, &reply); err != nil {
			return "", err
		}
		if reply[name].ID == "" {
			return "", fmt.Errorf("no %s.id", name)
		}
		return reply[name].ID, nil
	}
}
