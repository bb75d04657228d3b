package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// turnServer runs turns: a text is stored as durable work of one step, and the reply is sent when the end of that
// work is stored.
type turnServer interface {
	name() string
	// prepare creates the data that turns need, once.
	prepare(ctx context.Context) error
	start(ctx context.Context) (*instance, error)
	turn(in *instance) (request, error)
}

// carrelTurns is Carrel with scripted turns, and threads for them. A turn of the product would search and quote, which
// is not part of the comparison with queues.
type carrelTurns struct {
	carrel
	count int
}

func (c *carrelTurns) prepare(ctx context.Context) error {
	if err := c.signUp(ctx); err != nil {
		return err
	}
	in, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer in.stop()
	return c.makeThreads(ctx, in, c.count)
}

// turn posts to one thread after the other. A thread runs one turn at a time, so there are many more threads than
// connections.
func (c *carrelTurns) turn(in *instance) (request, error) {
	return postTurns(in.addr, c.messagePaths(), c.key)
}

func (c *carrel) messagePaths() []string {
	paths := make([]string, len(c.threads))
	for i, id := range c.threads {
		paths[i] = c.path("threads/" + id + "/messages")
	}
	return paths
}

// peerTurns is another engine behind a minimal HTTP server; see peers.
type peerTurns struct {
	binary   string
	engine   string // as peers spells it
	title    string
	database string // postgres://…; empty is an SQLite file in dir
	dir      string // logs and the SQLite file
}

func (p *peerTurns) name() string { return p.title }

func (p *peerTurns) prepare(context.Context) error { return nil }

func (p *peerTurns) start(ctx context.Context) (*instance, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	database := p.database
	if database == "" {
		database = filepath.Join(p.dir, p.engine+".db")
	}
	cmd := exec.Command(p.binary, p.engine, database, addr)
	cmd.Env = cleanEnv()
	proc, err := startProcess(ctx, p.title, filepath.Join(p.dir, p.engine+".log"), "http://"+addr+"/healthz", cmd)
	if err != nil {
		return nil, err
	}
	return &instance{process: proc, addr: addr}, nil
}

func (p *peerTurns) turn(in *instance) (request, error) {
	return postTurns(in.addr, []string{"/turns"}, "-")
}

// postTurns posts a unique text to each path in turn and expects its echo.
func postTurns(addr string, paths []string, token string) (request, error) {
	if len(paths) == 0 {
		return request{}, errors.New("no threads to ask in")
	}
	heads := make([][]byte, len(paths))
	length := len(appendTurn(nil, 1))
	for i, path := range paths {
		heads[i] = buildPostHead(addr, path, token, length)
	}
	complete, echo := countOf(`"status":"complete"`, 1), countOf("You wrote: note ", 1)
	return request{
		append: func(dst []byte, n uint64) []byte { return appendTurn(append(dst, heads[n%uint64(len(heads))]...), n) },
		check: func(body []byte) error {
			return errors.Join(complete(body), echo(body))
		},
	}, nil
}

// appendTurn writes the body of the n-th turn; all have the same length.
func appendTurn(dst []byte, n uint64) []byte {
	return fmt.Appendf(dst, `{"text":"note %012d: %s"}`, n, rowText(0)[len("note 000000000000: "):])
}

// checkEcho decodes a reply and checks that the turn is complete and echoes the text.
func checkEcho(body []byte, n uint64) error {
	var asked, got struct {
		Status string `json:"status"`
		Text   string `json:"text"`
	}
	if err := json.Unmarshal(appendTurn(nil, n), &asked); err != nil {
		return err
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return err
	}
	if got.Status != "complete" || got.Text != "You wrote: "+asked.Text {
		return fmt.Errorf("unexpected reply %.300s", body)
	}
	return nil
}

// buildGo builds the program in a package folder, or returns an existing file.
func buildGo(ctx context.Context, source, out string) (string, error) {
	info, err := os.Stat(source)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return filepath.Abs(source)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", out, ".")
	cmd.Dir = source
	cmd.Env = cleanEnv("CGO_ENABLED=0") // like Carrel
	if printed, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", source, err, printed)
	}
	return out, nil
}

// peerVersions returns the versions of the built peers.
func peerVersions(ctx context.Context, binary string) (map[string]string, error) {
	printed, err := exec.CommandContext(ctx, binary, "versions").Output()
	if err != nil {
		return nil, fmt.Errorf("%s versions: %w", binary, err)
	}
	versions := map[string]string{}
	return versions, json.Unmarshal(printed, &versions)
}
