package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	_ "github.com/pocketbase/pocketbase/migrations" // PocketBase's own tables
)

// PocketBase runs in its own process, like Carrel. This program starts itself again with one of these internal
// commands.
const (
	pocketBaseSetup = "pocketbase-setup"
	pocketBaseServe = "pocketbase-serve"
)

// Names on the metrics page of the PocketBase child.
const (
	metricMallocs     = "go_memstats_mallocs_total"
	metricSynchronous = "pocketbase_sqlite_synchronous"
)

// pocketBase is the peer.
type pocketBase struct {
	dir   string // data folder and logs
	rows  int
	setup pocketBaseData
}

// pocketBaseData is the output of the set-up child.
type pocketBaseData struct {
	Token string   `json:"token"`
	IDs   []string `json:"ids"`
}

func (p *pocketBase) name() string { return "PocketBase" }

func (p *pocketBase) listField() string { return "items" }

func (p *pocketBase) dataDir() string { return filepath.Join(p.dir, "pb_data") }

// prepare runs a child that creates the collection, its rows and a user token.
func (p *pocketBase) prepare(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, pocketBaseSetup, p.dataDir(), fmt.Sprint(p.rows))
	cmd.Env = cleanEnv()
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = dieWithParent()
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("set up PocketBase: %w", err)
	}
	return json.Unmarshal(out, &p.setup)
}

func (p *pocketBase) start(ctx context.Context) (*instance, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	addr, err1 := freeAddr()
	metrics, err2 := freeAddr()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	cmd := exec.Command(self, pocketBaseServe, p.dataDir(), addr, metrics)
	cmd.Env = cleanEnv()
	proc, err := startProcess(ctx, p.name(), filepath.Join(p.dir, "pocketbase.log"), "http://"+addr+"/api/health", cmd)
	if err != nil {
		return nil, err
	}
	return &instance{process: proc, addr: addr, metricsAddr: metrics}, nil
}

func (p *pocketBase) request(in *instance, scenario string) (request, error) {
	const records = "/api/collections/notes/records"
	one := countOf(`"text":"note `, 1)
	switch scenario {
	case "list":
		return repeatGet(in.addr, fmt.Sprintf("%s?perPage=%d&skipTotal=1", records, pageSize), p.setup.Token,
			onceThenSame(countOf(`"text":"note `, pageSize))), nil
	case "read":
		paths := make([]string, len(p.setup.IDs))
		for i, id := range p.setup.IDs {
			paths[i] = records + "/" + id
		}
		return rotateGets(in.addr, paths, p.setup.Token, one)
	case "create":
		return postText(in.addr, records, p.setup.Token, "text", one), nil
	}
	return request{}, fmt.Errorf("unknown scenario %q", scenario)
}

func (p *pocketBase) notes(ctx context.Context, in *instance) ([]string, error) {
	level, err := scrape(ctx, in.metricsAddr, metricSynchronous)
	if err != nil {
		return nil, err
	}
	return []string{
		fmt.Sprintf("PocketBase %s, as a library, its default settings but for: request logs off (Logs.MaxDays = 0), rate "+
			"limits off (their default).", pocketBaseVersion()),
		fmt.Sprintf("PocketBase: WAL, PRAGMA synchronous = %s, read from the connection of the serving process that writes.",
			synchronousName(level)),
		`PocketBase: collection "notes" (text, created, updated), rules @request.auth.id != "", asked with a user's token.`,
	}, nil
}

// synchronousName returns the name of a value of SQLite's synchronous pragma.
func synchronousName(level float64) string {
	names := []string{"OFF", "NORMAL", "FULL", "EXTRA"}
	if i := int(level); i >= 0 && i < len(names) {
		return names[i]
	}
	return fmt.Sprint(level)
}

// pocketBaseVersion returns the version that is linked into this program.
func pocketBaseVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/pocketbase/pocketbase" {
				return dep.Version
			}
		}
	}
	return "of unknown version"
}

// runPocketBase runs the child commands. It reports whether it handled the arguments.
func runPocketBase(args []string) (bool, error) {
	switch {
	case len(args) == 3 && args[0] == pocketBaseSetup:
		var rows int
		if _, err := fmt.Sscan(args[2], &rows); err != nil {
			return true, err
		}
		return true, setUpPocketBase(args[1], rows)
	case len(args) == 4 && args[0] == pocketBaseServe:
		return true, servePocketBase(args[1], args[2], args[3])
	}
	return false, nil
}

// setUpPocketBase fills an empty data folder and prints the token and row ids.
func setUpPocketBase(dir string, rows int) error {
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: dir})
	if err := app.Bootstrap(); err != nil {
		return err
	}
	defer func() { _ = app.ResetBootstrapState() }()
	if err := app.RunAllMigrations(); err != nil {
		return err
	}

	// Request logs are off, because Carrel writes no second database either. Rate limits are off by default.
	settings := app.Settings()
	settings.Logs.MaxDays = 0
	settings.RateLimits.Enabled = false
	if err := app.Save(settings); err != nil {
		return err
	}

	token, err := makePocketBaseUser(app)
	if err != nil {
		return err
	}
	ids, err := makePocketBaseNotes(app, rows)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(pocketBaseData{Token: token, IDs: ids})
}

// makePocketBaseUser creates an ordinary user, because access rules, like Carrel's access checks, are part of the
// measurement.
func makePocketBaseUser(app core.App) (string, error) {
	users, err := app.FindCollectionByNameOrId("users")
	if err != nil {
		return "", err
	}
	user := core.NewRecord(users)
	user.SetEmail("bench@example.org")
	user.SetPassword("correct horse battery")
	user.SetVerified(true)
	if err := app.Save(user); err != nil {
		return "", err
	}
	return user.NewAuthToken()
}

// makePocketBaseNotes creates the collection as the dashboard would, with its two dates and the cheapest rule that
// requires a signed-in user.
func makePocketBaseNotes(app core.App, rows int) ([]string, error) {
	notes := core.NewBaseCollection("notes")
	notes.Fields.Add(
		&core.TextField{Name: "text", Required: true, Max: 4000},
		&core.AutodateField{Name: "created", OnCreate: true},
		&core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true},
	)
	signedIn := `@request.auth.id != ""`
	notes.ListRule, notes.ViewRule, notes.CreateRule = &signedIn, &signedIn, &signedIn
	if err := app.Save(notes); err != nil {
		return nil, err
	}
	ids := make([]string, 0, rows)
	err := app.RunInTransaction(func(tx core.App) error {
		for n := range rows {
			note := core.NewRecord(notes)
			note.Set("text", rowText(uint64(n)))
			if err := tx.Save(note); err != nil {
				return err
			}
			ids = append(ids, note.Id)
		}
		return nil
	})
	return ids, err
}

// servePocketBase serves until it gets a signal.
func servePocketBase(dir, addr, metricsAddr string) error {
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: dir})
	if err := app.Bootstrap(); err != nil {
		return err
	}
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.InstallerFunc = nil // would open a browser to create a superuser
		return e.Next()
	})

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	failed := make(chan error, 2)
	go func() { failed <- serveMetrics(app, metricsAddr) }()
	go func() { failed <- apis.Serve(app, apis.ServeConfig{HttpAddr: addr}) }()
	select {
	case err := <-failed:
		return err
	case <-stop:
		return app.ResetBootstrapState()
	}
}

// serveMetrics serves the Prometheus metrics that the parent reads.
func serveMetrics(app core.App, addr string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		var level int
		if err := app.NonconcurrentDB().NewQuery("PRAGMA synchronous").Row(&level); err != nil {
			log.Print(err)
			http.Error(w, "cannot read the pragma", http.StatusInternalServerError)
			return
		}
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		fmt.Fprintf(w, "%s %d\n%s %d\n", metricMallocs, stats.Mallocs, metricSynchronous, level)
	})
	return http.ListenAndServe(addr, mux)
}
