package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"go.yaml.in/yaml/v3"
)

// alertCase has series in the notation of promtool. The value of a sample is the one before plus the step, and samples
// are a minute apart; the rule is evaluated after the last one.
type alertCase struct {
	alert  string
	fires  string
	silent string
	at     time.Duration // of the evaluation; zero means one hour
}

const node = `{job="carrel", instance="a"}`

var alertCases = []alertCase{
	{alert: "CarrelDown", fires: `up` + node + ` 0x60`, silent: `up` + node + ` 1x60`},
	{
		alert:  "CarrelRestartLoop",
		fires:  `process_start_time_seconds` + node + ` 0+100x60`,
		silent: `process_start_time_seconds` + node + ` 0x30 100x30`,
	},
	{
		alert: "CarrelServerErrors",
		fires: `carrel_http_requests_total{job="carrel", instance="a", status="200"} 0+60x60
			carrel_http_requests_total{job="carrel", instance="a", status="503"} 0+6x60`,
		silent: `carrel_http_requests_total{job="carrel", instance="a", status="200"} 0+60x60
			carrel_http_requests_total{job="carrel", instance="a", status="503"} 0+2x60`,
	},
	{
		alert: "CarrelSlowSearch",
		fires: search(`le="5"`, `0+1x60`) + search(`le="10"`, `0+60x60`) + search(`le="+Inf"`, `0+60x60`),
		silent: search(`le="2.5"`, `0+59x60`) + search(`le="5"`, `0+60x60`) + search(`le="10"`, `0+60x60`) +
			search(`le="+Inf"`, `0+60x60`),
	},
	{
		alert:  "CarrelCertificateExpires",
		fires:  `carrel_certificate_expires_timestamp_seconds` + node + ` 86400x60`,
		silent: `carrel_certificate_expires_timestamp_seconds` + node + ` 0x60`, // without HTTPS
	},
	{
		alert:  "CarrelWritesFail",
		fires:  `carrel_database_write_failures_total` + node + ` 0x58 1 1`,
		silent: `carrel_database_write_failures_total` + node + ` 7x60`,
	},
	{
		alert:  "CarrelDiskNearlyFull",
		fires:  `carrel_data_free_bytes` + node + " 5e9x60\ncarrel_data_disk_bytes" + node + ` 100e9x60`,
		silent: `carrel_data_free_bytes` + node + " 50e9x60\ncarrel_data_disk_bytes" + node + ` 100e9x60`,
	},
	{
		alert:  "CarrelDiskFillsInADay",
		fires:  `carrel_data_free_bytes` + node + " 40e9-1e8x60\ncarrel_data_disk_bytes" + node + ` 100e9x60`,
		silent: `carrel_data_free_bytes` + node + " 40e9-1e6x60\ncarrel_data_disk_bytes" + node + ` 100e9x60`,
	},
	{alert: "CarrelDatabasePoolExhausted", fires: pool(20, "0+60x60"), silent: pool(19, "0+60x60")},
	{alert: "CarrelDatabasePoolExhausted", fires: pool(20, "0+60x60"), silent: pool(20, "0+1x60")},
	{
		alert:  "CarrelBackupTooOld",
		fires:  `carrel_backup_last_success_timestamp_seconds` + node + ` 60x5000`,
		silent: `carrel_backup_last_success_timestamp_seconds` + node + ` 200000x5000`,
		at:     80 * time.Hour,
	},
	{
		alert:  "CarrelBackupTooOld", // there was none for two days, and in a new installation
		fires:  `carrel_backup_last_success_timestamp_seconds` + node + ` 0x5000`,
		silent: `carrel_backup_last_success_timestamp_seconds` + node + ` _x3000 0x2000`,
		at:     80 * time.Hour,
	},
	{
		alert:  "CarrelBackupFails",
		fires:  `carrel_backup_failures_total` + node + ` 0x20 1x15 2x25`,
		silent: `carrel_backup_failures_total` + node + ` 2x60`,
	},
	{
		alert:  "CarrelIndexUnavailable",
		fires:  `carrel_index_available` + node + ` 1 1 0x60`,
		silent: `carrel_index_available` + node + ` 1 1 0 1x60`,
	},
	{
		alert:  "CarrelIndexLag",
		fires:  `carrel_index_lag_seconds` + node + ` 0+60x60`,
		silent: `carrel_index_lag_seconds` + node + ` 0+1x60`,
	},
	{
		alert:  "CarrelTurnsWait",
		fires:  waiting("turn", 90),
		silent: waiting("turn", 90) + "\n" + `carrel_tasks_running{job="carrel", instance="a", kind="turn"} 4x60`,
	},
	{alert: "CarrelTurnsQueue", fires: waiting("turn", 4000), silent: waiting("turn", 90)},
	{alert: "CarrelTasksWait", fires: waiting("import", 4000), silent: waiting("turn", 4000)},
	{alert: "CarrelTasksFail", fires: finished("0+2x60"), silent: finished("0x60")},
	{
		alert:  "CarrelTasksResume",
		fires:  `carrel_tasks_resumed_total` + node + ` 0+1x60`,
		silent: `carrel_tasks_resumed_total` + node + ` 0x58 3 3`,
	},
	{
		alert:  "CarrelModelRejectsCredential",
		fires:  `carrel_model_failures_total{job="carrel", kind="chat", reason="key"} 0x55 1x5`,
		silent: `carrel_model_failures_total{job="carrel", kind="chat", reason="timeout"} 0+1x60`,
	},
	{alert: "CarrelModelFails", fires: model("0+1x60"), silent: model("0x60")},
	{
		alert:  "CarrelSpendCapReached",
		fires:  `carrel_http_requests_total{job="carrel", status="402"} 0x30 1x30`,
		silent: `carrel_http_requests_total{job="carrel", status="403"} 0x30 1x30`,
	},
	{
		alert:  "CarrelSpendRises",
		fires:  `carrel_spend_dollars_total{job="carrel", kind="model"} 0x9940 0+1x60`,
		silent: `carrel_spend_dollars_total{job="carrel", kind="model"} 0+1x10000`,
		at:     10000 * time.Minute,
	},
	{alert: "CarrelWebhooksFail", fires: webhooks("0+2x60"), silent: webhooks("0+0.5x60")},
	{
		alert:  "CarrelClientsRateLimited",
		fires:  `carrel_http_rate_limited_total{job="carrel", policy="key"} 0+120x60`,
		silent: `carrel_http_rate_limited_total{job="carrel", policy="key"} 0+6x60`,
	},
}

func search(le, values string) string {
	return `carrel_http_request_duration_seconds_bucket{job="carrel", instance="a", ` +
		`route="/api/agents/{agentId}/search", ` + le + `} ` + values + "\n"
}

func pool(inUse int, waited string) string {
	used := map[int]string{19: "19", 20: "20"}[inUse]
	return `carrel_database_pool_connections{job="carrel", instance="a", state="in_use"} ` + used + `x60
		carrel_database_pool_connections{job="carrel", instance="a", state="idle"} 0x60
		carrel_database_pool_max_connections` + node + ` 20x60
		carrel_database_pool_wait_seconds_total` + node + ` ` + waited
}

func waiting(kind string, seconds int) string {
	return `carrel_tasks_oldest_queued_seconds{job="carrel", instance="a", kind="` + kind + `"} ` +
		map[int]string{90: "90", 4000: "4000"}[seconds] + `x60`
}

func finished(failed string) string {
	return `carrel_tasks_finished_total{job="carrel", state="complete"} 0+8x60
		carrel_tasks_finished_total{job="carrel", state="failed"} ` + failed
}

func model(failed string) string {
	return `carrel_model_request_duration_seconds_count{job="carrel", kind="chat"} 0+2x60
		carrel_model_failures_total{job="carrel", kind="chat", reason="timeout"} ` + failed
}

func webhooks(failed string) string {
	return `carrel_webhook_attempts_total{job="carrel", outcome="delivered"} 0+1x60
		carrel_webhook_attempts_total{job="carrel", outcome="failed"} ` + failed
}

func rules(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			all[r.Alert] = r.Expr
		}
	}
	return all
}

// TestAlertsFire evaluates every rule on series that must fire it, and on similar ones that must not.
func TestAlertsFire(t *testing.T) {
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute})
	all := rules(t)
	tested := map[string]bool{}
	for _, c := range alertCases {
		tested[c.alert] = true
		at := c.at
		if at == 0 {
			at = time.Hour
		}
		for series, want := range map[string]bool{c.fires: true, c.silent: false} {
			lines := strings.Split(strings.TrimSpace(series), "\n")
			for i, l := range lines {
				lines[i] = "  " + strings.TrimSpace(l)
			}
			storage := promqltest.LoadedStorage(t, "load 1m\n"+strings.Join(lines, "\n"))
			q, err := engine.NewInstantQuery(context.Background(), storage, nil, all[c.alert], time.Unix(0, 0).Add(at))
			if err != nil {
				t.Fatalf("%s: %v", c.alert, err)
			}
			vector, err := q.Exec(context.Background()).Vector()
			if err != nil || (len(vector) == 1) != want {
				t.Errorf("%s: %v, %v, want fired: %v with\n%s", c.alert, vector, err, want, series)
			}
			q.Close()
			_ = storage.Close()
		}
	}
	for name := range all {
		if !tested[name] {
			t.Errorf("%s is not tested", name)
		}
	}
}
