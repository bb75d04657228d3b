// Command peers serves messages with another durable engine, for the comparison with Carrel: it stores the message as
// durable work of one step, waits for its end, and replies with the result. bench starts it. It is a separate module,
// because the engines need a newer SQLite driver than PocketBase.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

const (
	// maxBody is far above the size of bench's requests.
	maxBody = 64 << 10
	// turnTimeout limits the wait for a turn.
	turnTimeout = 30 * time.Second
	// stopTimeout limits the shutdown of an engine.
	stopTimeout = 5 * time.Second
)

// engine runs durable work.
type engine interface {
	// turn stores the text as work of one step and returns the reply after its end is stored.
	turn(ctx context.Context, text string) (string, error)
	close(ctx context.Context) error
}

// engines by name. Each opens a database: postgres://… or the path of an SQLite file.
var engines = map[string]func(ctx context.Context, database string) (engine, error){
	"river":    openRiver(byEvent),
	"river-tx": openRiver(byTransaction),
	"dbos":     openDBOS,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "versions" {
		return printVersions()
	}
	if len(args) != 3 || engines[args[0]] == nil {
		return errors.New("usage: peers river|river-tx|dbos DATABASE ADDR, or: peers versions")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	base := context.WithoutCancel(ctx) // an engine is shut down, not cancelled
	e, err := engines[args[0]](base, args[1])
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(base, stopTimeout)
		defer cancel()
		if err := e.close(closing); err != nil {
			log.Print(err)
		}
	}()
	failed := make(chan error, 1)
	srv := &http.Server{Addr: args[2], Handler: handler(e), ReadHeaderTimeout: 5 * time.Second}
	go func() { failed <- srv.ListenAndServe() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return srv.Close()
	}
}

// handler is a minimal server of turns without authentication and threads, which is in the peers' favour.
func handler(e engine) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /turns", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Text string `json:"text"`
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&in); err != nil || in.Text == "" {
			http.Error(w, "no text", http.StatusBadRequest)
			return
		}
		// As in Carrel, a client that disconnects does not cancel the turn.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), turnTimeout)
		defer cancel()
		reply, err := e.turn(ctx, in.Text)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"status": "complete", "text": reply}) // the client has disconnected
	})
	return mux
}

// reply is the work of the step.
func reply(text string) string { return "You wrote: " + text }

// isPostgres reports whether an address is a PostgreSQL URL.
func isPostgres(database string) bool { return strings.HasPrefix(database, "postgres://") }

// sqliteDSN has the settings of Carrel: a commit is on disk.
func sqliteDSN(path string) string {
	return "file:" + path + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)" +
		"&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)"
}

// printVersions prints the versions of the linked engines.
func printVersions() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("built without module information")
	}
	versions := map[string]string{}
	for _, dep := range info.Deps {
		switch dep.Path {
		case "github.com/riverqueue/river":
			versions["river"] = dep.Version
		case "github.com/dbos-inc/dbos-transact-golang":
			versions["dbos"] = dep.Version
		case "modernc.org/sqlite":
			versions["sqlite"] = dep.Version
		}
	}
	return json.NewEncoder(os.Stdout).Encode(versions)
}
