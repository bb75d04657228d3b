package app

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"carrel/internal/billing"
	"carrel/internal/config"
	"carrel/internal/model"
	"carrel/internal/obs"
	"carrel/internal/streamwatch"
)

// openTestApp opens an installation in a new folder, with its index.
func openTestApp(t *testing.T, vars map[string]string) (*App, searchNode) {
	t.Helper()
	return openTestAppIn(t, t.TempDir(), vars)
}

// openTestAppIn is openTestApp with a data folder.
func openTestAppIn(t *testing.T, dir string, vars map[string]string) (*App, searchNode) {
	t.Helper()
	cfg, err := config.Load(config.LoadOptions{Getenv: func(name string) string {
		if name == "CARREL_DATA" {
			return dir
		}
		return vars[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	in, err := Open(t.Context(), cfg, Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	index, err := in.openIndex(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.closeIndex(index), in.Close()); err != nil {
			t.Error(err)
		}
	})
	return in, index
}

// metricNames returns the names of all metrics of a server that start with carrel_.
func metricNames(t *testing.T) []string {
	t.Helper()
	in, index := openTestApp(t, map[string]string{"CARREL_OTLP_URL": "http://127.0.0.1:1"})
	metrics := obs.NewMetrics("test")
	all := in.collectors(index, streamwatch.NewSlots(1), slog.New(slog.DiscardHandler))
	if err := metrics.Register(all...); err != nil {
		t.Fatal(err)
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		metrics.Describe(descs)
		close(descs)
	}()
	var names []string
	for d := range descs {
		name := regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]
		if strings.HasPrefix(name, "carrel_") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestEveryMetricIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	names := metricNames(t)
	if len(names) < 30 {
		t.Errorf("only %d metrics", len(names))
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(carrel_[a-z_]+)`").FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, m[1])
	}
	for _, name := range names {
		if !slices.Contains(listed, name) {
			t.Errorf("the table of metrics in docs/operate.md lacks %s", name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(names, name) {
			t.Errorf("docs/operate.md lists %s, which does not exist", name)
		}
	}
}

// sample returns the value of a counter, or the count of a histogram, whose labels have these values.
func sample(t *testing.T, c prometheus.Collector, labels ...string) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range families[0].GetMetric() {
		var values []string
		for _, l := range m.GetLabel() {
			values = append(values, l.GetValue())
		}
		if slices.Equal(values, labels) {
			return m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return 0
}

// scriptedModel ends each call with an error.
type scriptedModel struct {
	model.Provider
	err error
}

func (s scriptedModel) Stream(context.Context, model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if yield(model.Text("a"), nil) {
			yield(nil, s.err)
		}
	}
}

func TestModelFailuresAreCountedByReason(t *testing.T) {
	t.Parallel()
	m := newMeters()
	call := func(err error) {
		for range (meteredModel{scriptedModel{err: err}, m}).Stream(t.Context(), model.Request{}) {
			continue
		}
	}
	for range 2 {
		call(model.ErrRateLimited)
	}
	call(errors.New("unknown"))
	call(context.Canceled) // by the user
	for range (meteredModel{scriptedModel{err: model.ErrKey}, m}).Stream(t.Context(), model.Request{}) {
		break // the caller stops before the error
	}
	for reason, want := range map[string]float64{"rate_limited": 2, reasonOther: 1, "key": 0} {
		if got := sample(t, m.modelFailures, chatCall, reason); got != want {
			t.Errorf("%s: %v, want %v", reason, got, want)
		}
	}
	if n := sample(t, m.modelTime, chatCall); n != 5 {
		t.Errorf("%v calls were measured", n)
	}
}

func TestSpendIsCountedInDollars(t *testing.T) {
	t.Parallel()
	m := newMeters()
	m.spent(billing.MeteredSearch, 5_000)
	m.spent(billing.MeteredSearch, 2_500_000)
	(*meters)(nil).spent(billing.MeteredSearch, 1)
	if got := sample(t, m.spend, string(billing.MeteredSearch)); got != 2.505 {
		t.Errorf("%v dollars", got)
	}
}
