package programs

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"carrel/internal/testkit"
)

type alertRule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func readAlerts(t *testing.T) []alertRule {
	t.Helper()
	f, err := os.Open("../../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // read only
	var file struct {
		Groups []struct {
			Name  string      `yaml:"name"`
			Rules []alertRule `yaml:"rules"`
		} `yaml:"groups"`
	}
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	var all []alertRule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

type dashboardPanel struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct {
		H, W, X, Y int
	} `json:"gridPos"`
	Targets []struct {
		Expr string `json:"expr"`
	} `json:"targets"`
}

func readDashboard(t *testing.T) []dashboardPanel {
	t.Helper()
	text, err := os.ReadFile("../../deploy/grafana/carrel.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		SchemaVersion int              `json:"schemaVersion"`
		Panels        []dashboardPanel `json:"panels"`
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	if dashboard.SchemaVersion < 39 {
		t.Errorf("schema version %d", dashboard.SchemaVersion)
	}
	return dashboard.Panels
}

var (
	quotedText   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	timeRange    = regexp.MustCompile(`\[[^\]]*\]`)
	labelList    = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	selector     = regexp.MustCompile(`\b([a-z_][a-zA-Z0-9_:]*)\s*(\{[^}]*\}|\(|)`)
	matcherLabel = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	promKeywords = []string{"and", "or", "unless", "by", "without", "on", "ignoring", "bool", "offset"}
)

// selectors returns the metrics that a PromQL expression names, with the labels that it matches. It does not check the
// syntax: deploy/promcheck does, with the parser of Prometheus.
func selectors(expr string) map[string][]string {
	expr = quotedText.ReplaceAllString(expr, "")
	expr = timeRange.ReplaceAllString(expr, "")
	expr = labelList.ReplaceAllString(expr, "")
	found := map[string][]string{}
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		name, rest := m[1], m[2]
		if rest == "(" || slices.Contains(promKeywords, name) || len(name) == 1 {
			continue
		}
		labels := found[name]
		for _, l := range matcherLabel.FindAllStringSubmatch(rest, -1) {
			labels = append(labels, l[1])
		}
		found[name] = labels
	}
	return found
}

func TestSelectorsOfAnExpression(t *testing.T) {
	t.Parallel()
	got := selectors(`histogram_quantile(0.9, sum by (le, kind) (rate(a_bucket{x="b{c", y=~"d"}[5m]))) > 2e9
		and ignoring (state) time() - b_total >= on (i) c_x{z!="1"} unless up`)
	want := map[string][]string{"a_bucket": {"x", "y"}, "b_total": nil, "c_x": {"z"}, "up": nil}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("selectors are %v, want %v", got, want)
	}
}

// knownMetrics returns the metrics of a running server with scheduled backups and those of the table in
// docs/operate.md, with their labels. The server alone lacks counters that no request has touched yet.
func knownMetrics(t *testing.T) map[string][]string {
	t.Helper()
	addr := testkit.ReserveAddr(t)
	s := testkit.StartServer(t, testkit.ServerOptions{
		Args: []string{"--metrics-addr", addr}, Env: []string{"CARREL_BACKUP=" + t.TempDir()},
	})
	_ = testkit.Status(t, s.URL+"/readyz")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", res.StatusCode, err)
	}
	known := map[string][]string{"up": nil}
	series := regexp.MustCompile(`(?m)^([a-z_0-9]+)(\{.*\})? `)
	for _, m := range series.FindAllStringSubmatch(string(text), -1) {
		labels := known[m[1]]
		for _, l := range matcherLabel.FindAllStringSubmatch(quotedText.ReplaceAllString(m[2], ""), -1) {
			labels = append(labels, l[1])
		}
		slices.Sort(labels)
		known[m[1]] = slices.Compact(labels)
	}
	row := regexp.MustCompile("(?m)^\\| `(carrel_[a-z_]+)` \\| ([^|]*)\\|")
	for _, m := range row.FindAllStringSubmatch(readPages(t)["docs/operate.md"], -1) {
		var labels []string
		for _, l := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(m[2], -1) {
			labels = append(labels, l[1])
		}
		known[m[1]] = append(labels, known[m[1]]...)
	}
	return known
}

// TestMonitoringUsesMetricsThatExist checks the alert rules and the dashboard against a running server.
func TestMonitoringUsesMetricsThatExist(t *testing.T) {
	t.Parallel()
	known := knownMetrics(t)
	used := map[string]bool{}
	check := func(where, expr string) {
		found := selectors(expr)
		if len(found) == 0 {
			t.Errorf("%s names no metric", where)
		}
		for name, labels := range found {
			used[name] = true
			existing, ok := known[name]
			if !ok {
				t.Errorf("%s uses %s, which does not exist", where, name)
				continue
			}
			for _, l := range labels {
				if l != "job" && l != "instance" && !slices.Contains(existing, l) {
					t.Errorf("%s: %s has no label %s", where, name, l)
				}
			}
		}
	}
	for _, a := range readAlerts(t) {
		check(a.Alert, a.Expr)
	}
	for _, p := range readDashboard(t) {
		for _, target := range p.Targets {
			check("panel "+p.Title, target.Expr)
		}
	}
	for name := range known {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if strings.HasPrefix(name, "carrel_") && !used[base] && !used[base+"_bucket"] {
			t.Errorf("neither an alert nor the dashboard uses %s", name)
		}
	}
}

func TestEveryAlertHasARunbook(t *testing.T) {
	t.Parallel()
	sections := map[string]bool{}
	page := readPages(t)["docs/alerts.md"]
	for _, part := range strings.Split(page, "\n### ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		sections[name] = true
		if !strings.Contains(body, "- **Look:**") || !strings.Contains(body, "- **Do:**") {
			t.Errorf("the section of %s in docs/alerts.md does not say how to look and what to do", name)
		}
	}
	seen := map[string]bool{}
	for _, a := range readAlerts(t) {
		if seen[a.Alert] {
			t.Errorf("%s is defined twice", a.Alert)
		}
		seen[a.Alert] = true
		if !sections[a.Alert] {
			t.Errorf("docs/alerts.md has no section %s", a.Alert)
		}
		if want := "docs/alerts.md#" + strings.ToLower(a.Alert); a.Annotations["runbook"] != want {
			t.Errorf("%s: runbook %q, want %q", a.Alert, a.Annotations["runbook"], want)
		}
		if s := a.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s: severity %q", a.Alert, s)
		}
		if a.Annotations["summary"] == "" {
			t.Errorf("%s has no summary", a.Alert)
		}
	}
	for name := range sections {
		if !seen[name] {
			t.Errorf("docs/alerts.md has the section %s, but there is no such alert", name)
		}
	}
}

func TestPanelsOfTheDashboardDoNotOverlap(t *testing.T) {
	t.Parallel()
	cells, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range readDashboard(t) {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		if p.Title == "" || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d %q: no title, or wider than the dashboard", p.ID, p.Title)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" {
					t.Fatalf("%q overlaps %q", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
	}
}
