package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"carrel/internal/app"
	"carrel/internal/config"
)

type doctorCommand struct {
	JSON bool `help:"Print one JSON object: {\"ok\":true,\"checks\":[…]}."`
}

// finding is the result of one check of the doctor.
type finding struct {
	Check  string      `json:"check"`
	Status checkStatus `json:"status"`
	Detail string      `json:"detail"`
	// Action says what to do about a warning or a failure.
	Action string `json:"action,omitempty"`
}

type checkStatus string

const (
	statusOK   checkStatus = "ok"
	statusWarn checkStatus = "warn"
	statusFail checkStatus = "fail"
)

// doctor checks an installation. It changes nothing except that it writes and removes a file in the data folder.
type doctor struct {
	env      *Env
	cfg      config.Config
	findings []finding
}

func (d *doctor) ok(check, format string, args ...any) {
	d.findings = append(d.findings, finding{check, statusOK, fmt.Sprintf(format, args...), ""})
}

func (d *doctor) warn(check, action, format string, args ...any) {
	d.findings = append(d.findings, finding{check, statusWarn, fmt.Sprintf(format, args...), action})
}

func (d *doctor) fail(check, action, format string, args ...any) {
	d.findings = append(d.findings, finding{check, statusFail, fmt.Sprintf(format, args...), action})
}

// Run runs all checks and fails if one of them does. It works with and without a running server.
func (c doctorCommand) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	cfg, err := parent.settings(env)
	if err != nil {
		return err
	}
	d := &doctor{env: env, cfg: cfg}
	for _, w := range cfg.Warnings {
		d.warn("settings", "Correct the setting, then restart the server.", "%s", w)
	}
	if len(cfg.Warnings) == 0 {
		d.ok("settings", "all settings are valid")
	}
	d.checkFolder()
	d.checkDisk()
	if d.checkDatabase(ctx) {
		d.checkIndex(ctx)
	}
	d.checkModel(ctx)
	d.checkEmbeddings(ctx)
	d.checkCollector(ctx)
	d.checkAddress(ctx)
	failed := 0
	for _, f := range d.findings {
		if f.Status == statusFail {
			failed++
		}
	}
	if err := d.print(c.JSON, failed == 0); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(d.findings))
	}
	return nil
}

func (d *doctor) print(asJSON, ok bool) error {
	if asJSON {
		return json.NewEncoder(d.env.Out).Encode(map[string]any{"ok": ok, "checks": d.findings})
	}
	var b strings.Builder
	for _, f := range d.findings {
		fmt.Fprintf(&b, "%-4s  %-11s  %s\n", f.Status, f.Check, f.Detail)
		if f.Action != "" {
			fmt.Fprintf(&b, "%-4s  %-11s  %s\n", "", "", f.Action)
		}
	}
	_, err := d.env.Out.Write([]byte(b.String()))
	return err
}

// checkIndex verifies the search index of this node. The schema is known to be current, so that opening the
// installation migrates nothing.
func (d *doctor) checkIndex(ctx context.Context) {
	const name, rebuild = "index", "Rebuild it with: carrel admin index rebuild"
	in, err := app.Open(ctx, d.cfg, app.Options{Log: slog.New(slog.DiscardHandler), Answerer: d.env.Answerer})
	if err != nil {
		d.fail(name, "See the check of the database.", "the installation can't be opened: %v", err)
		return
	}
	a := admin{in, d.env}
	if d.cfg.Search.OpenSearch() {
		d.checkCluster(ctx, a)
		_ = in.Close() // nothing was written
		return
	}
	report, err := a.checkIndex(ctx)
	head, headErr := a.Store.Head(ctx)
	if err = errors.Join(err, headErr, in.Close()); err != nil {
		d.fail(name, rebuild, "the index can't be read: %v", err)
		return
	}
	missing := missingChanges(report.Covered, head)
	switch {
	case len(report.Problems) > 0:
		d.fail(name, "A running server repairs it when it reads the damaged part. "+rebuild, "the index is damaged: %s",
			strings.Join(report.Problems, "; "))
	case missing > 0:
		d.warn(name, "A running server indexes them. If the number does not fall, see its log.",
			"%d of %d changes are not indexed", missing, head)
	default:
		d.ok(name, "%d documents, up to date", report.Documents)
	}
}
