package e2e

import (
	"bufio"
	"cmp"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"os"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
	"carrel/web"
)

const (
	baselineFile = "testdata/baseline.json"
	// baselineUpdate rewrites the baseline with the measured figures; `make baseline` sets it.
	baselineUpdate = "CARREL_BASELINE_UPDATE"
)

// Every figure is measured in minBatches batches, and in further ones up to maxBatches while it exceeds its limit. The
// smallest counts, because work in the background only ever adds to it. In the further batches, statements are counted
// of single requests: on a slow machine a batch lasts for seconds, and the server looks for work every second.
const (
	minBatches = 3
	maxBatches = 25
	// afterReply is the time in which a single request's statements after its reply are still counted.
	afterReply = 50 * time.Millisecond
)

// figures maps the names of figures, such as "listAgents allocations", to their values. The last word of a name is the
// unit, which determines the tolerance.
type figures map[string]int64

// limit returns the largest value that is not a regression.
func limit(name string, baseline int64) int64 {
	grow := func(factor float64, more int64) int64 { return int64(float64(baseline)*factor) + more }
	switch unit := name[strings.LastIndexByte(name, ' ')+1:]; unit {
	case "allocations":
		return grow(1.15, 10)
	case "bytes":
		return grow(1.15, 2<<10)
	case "heap":
		return grow(1.15, 1<<20)
	case "goroutines":
		return grow(1.15, 2)
	case "size":
		return grow(1.03, 0)
	case "statements":
		return grow(1.3, 1) // a turn writes its progress after a delay, so their number depends on the time
	default:
		panic("no tolerance for " + unit)
	}
}

// TestFiguresStayWithinTheirBaseline compares figures that do not depend on the speed of the machine with those in the
// repository: allocations, bytes and SQL statements of requests, the size of the program and of the first scripts, and
// the goroutines and memory of an idle server.
func TestFiguresStayWithinTheirBaseline(t *testing.T) {
	t.Parallel()
	switch {
	case runtime.GOOS != "linux" || runtime.GOARCH != "amd64":
		t.Skip("the baseline is of linux/amd64")
	case os.Getenv("GOCOVERDIR") != "" || os.Getenv(testkit.EnvBinary) != "":
		t.Skip("the baseline is of a program built from this source, without coverage")
	}
	base := readBaseline(t)
	got := figures{
		"program size":       programSize(t, testkit.Binary(t)),
		"first scripts size": firstScriptsSize(t),
	}
	maps.Copy(got, idleFigures(t, base))
	maps.Copy(got, allocationFigures(t, base))
	if os.Getenv(baselineUpdate) != "" {
		maps.Copy(got, statementFigures(t, base))
		writeBaseline(t, base, got)
		return
	}
	statements := figures{}
	maps.DeleteFunc(base, func(name string, value int64) bool {
		ofStatements := strings.HasSuffix(name, " statements") && !strings.HasSuffix(name, " "+sqliteStatements)
		if ofStatements {
			statements[name] = value
		}
		return ofStatements
	})
	compareWithBaseline(t, base, got)
	// Last, because the test is skipped here without PostgreSQL.
	compareWithBaseline(t, statements, statementFigures(t, statements))
}

func compareWithBaseline(t *testing.T, base, got figures) {
	t.Helper()
	for _, line := range regressions(base, got) {
		t.Error(line)
	}
	for name, was := range base {
		if value, measured := got[name]; measured && limit(name, value) < was {
			t.Logf("%s: %d, the baseline is %d: run make baseline to keep the improvement", name, value, was)
		}
	}
}

// regressions describes the figures that exceed their limits, and those that only one of the two has.
func regressions(base, got figures) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(got)) {
		was, known := base[name]
		if !known {
			lines = append(lines, fmt.Sprintf("%s is not in %s: run make baseline", name, baselineFile))
		} else if most := limit(name, was); got[name] > most {
			lines = append(lines, fmt.Sprintf("%s: %d, the baseline is %d and the limit %d. "+
				"If the increase is intended, run make baseline and commit the file", name, got[name], was, most))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(base)) {
		if _, measured := got[name]; !measured {
			lines = append(lines, fmt.Sprintf("%s is in %s, but not measured: run make baseline", name, baselineFile))
		}
	}
	return lines
}

func TestGrowthBeyondTheToleranceIsARegression(t *testing.T) {
	t.Parallel()
	base := figures{"a allocations": 100, "a bytes": 10_000, "a statements": 3, "program size": 1_000_000}
	within := figures{"a allocations": 124, "a bytes": 13_500, "a statements": 4, "program size": 1_030_000}
	if got := regressions(base, within); len(got) != 0 {
		t.Errorf("within the tolerance: %v", got)
	}
	beyond := figures{"a allocations": 126, "a bytes": 13_600, "a statements": 5, "program size": 1_030_001}
	if got := regressions(base, beyond); len(got) != len(beyond) {
		t.Errorf("beyond the tolerance: %v", got)
	}
	if got := regressions(figures{"a bytes": 1}, figures{"b bytes": 1}); len(got) != 2 {
		t.Errorf("with other names: %v", got)
	}
}

func readBaseline(t *testing.T) figures {
	t.Helper()
	base := figures{}
	b, err := os.ReadFile(baselineFile)
	if err == nil {
		err = json.Unmarshal(b, &base)
	}
	if err != nil && os.Getenv(baselineUpdate) == "" {
		t.Fatal(err)
	}
	return base
}

// writeBaseline replaces the figures that differ from the baseline by more than a thirtieth, so that a diff shows only
// changes.
func writeBaseline(t *testing.T, base, got figures) {
	t.Helper()
	for name, value := range got {
		if was, known := base[name]; known && math.Abs(float64(value-was)) <= float64(was)/30 {
			got[name] = was
		}
	}
	b, err := json.MarshalIndent(got, "", "  ")
	if err == nil {
		err = os.WriteFile(baselineFile, append(b, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// smallest measures at least minBatches times, and further until the figures are within the limits of the baseline or
// maxBatches were measured. It returns the smallest of each figure.
func smallest(base figures, measure func(further bool) figures) figures {
	out := figures{}
	for batch := range maxBatches {
		exceeded := false
		for name, value := range measure(batch >= minBatches) {
			if least, measured := out[name]; !measured || value < least {
				out[name] = value
			}
			was, known := base[name]
			exceeded = exceeded || known && out[name] > limit(name, was)
		}
		if batch+1 < minBatches {
			continue
		}
		if !exceeded {
			break
		}
		time.Sleep(200 * time.Millisecond) // work in the background may end
	}
	return out
}

// programSize returns the size of the sections that are loaded. Symbols and debug information are left out, as in a
// release, because they depend on the paths of the sources.
func programSize(t *testing.T, binary string) int64 {
	t.Helper()
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var size uint64
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Type != elf.SHT_NOBITS {
			size += s.FileSize
		}
	}
	return int64(size)
}

var firstScript = regexp.MustCompile(`(?:<script type="module"|<link rel="modulepreload")[^>]* (?:src|href)="([^"]+)"`)

// firstScriptsSize returns the compressed size of the scripts that index.html names, which every page loads first.
func firstScriptsSize(t *testing.T) int64 {
	t.Helper()
	index, err := fs.ReadFile(web.Files(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for _, m := range firstScript.FindAllSubmatch(index, -1) {
		script, err := fs.ReadFile(web.Files(), path.Clean(string(m[1]))+".gz")
		if err != nil {
			t.Fatal(err)
		}
		size += int64(len(script))
	}
	if size == 0 {
		t.Fatal("index.html names no script")
	}
	return size
}

// meter reads the metrics of a server.
type meter struct {
	*testing.T
	url string
	// reading are the allocations, bytes and statements of one reading itself.
	reading figures
}

// metered returns the options of a server with metrics, and its meter. The runtime counts the objects of a
// per-processor cache when the cache is refilled, so a server with one processor has the most exact counters,
// and a batch has hundreds of requests.
func metered(t *testing.T, opts testkit.ServerOptions) (testkit.ServerOptions, *meter) {
	t.Helper()
	addr := testkit.ReserveAddr(t)
	opts.Args = append(opts.Args, "--metrics-addr", addr)
	opts.Env = append(opts.Env, "CARREL_RATE_LIMITS=off", "GOMAXPROCS=1", "GODEBUG=", "GOMEMLIMIT=off")
	return opts, &meter{T: t, url: "http://" + addr + "/metrics"}
}

// read returns the values of metrics by their names.
func (m *meter) read(names ...string) map[string]float64 {
	m.Helper()
	resp, err := http.Get(m.url)
	if err != nil {
		m.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	out := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if !slices.Contains(names, name) {
			continue
		}
		if out[name], err = strconv.ParseFloat(value, 64); err != nil {
			m.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil || len(out) != len(names) {
		m.Fatalf("metrics: %s, %d of %v, %v", resp.Status, len(out), names, err)
	}
	return out
}

// allocated returns the allocations, bytes and statements of the server while run runs, without those of the reading.
func (m *meter) allocated(run func()) figures {
	const objects, size = "go_memstats_mallocs_total", "go_memstats_alloc_bytes_total"
	const statements = "carrel_database_statements_total"
	before := m.read(objects, size, statements)
	run()
	after := m.read(objects, size, statements)
	return figures{
		"allocations":    int64(after[objects]-before[objects]) - m.reading["allocations"],
		"bytes":          int64(after[size]-before[size]) - m.reading["bytes"],
		sqliteStatements: int64(after[statements]-before[statements]) - m.reading[sqliteStatements],
	}
}

// idleFigures returns the goroutines and the live heap of a server without requests. Frequent garbage collections make
// the smallest heap that a reading shows the live one.
func idleFigures(t *testing.T, base figures) figures {
	t.Helper()
	const goroutines, heap = "go_goroutines", "go_memstats_heap_alloc_bytes"
	opts, m := metered(t, testkit.ServerOptions{Env: []string{"GOGC=5"}})
	s := testkit.StartServer(t, opts)
	defer s.Stop()
	return smallest(base, func(bool) figures {
		out := figures{"idle goroutines": math.MaxInt64, "idle heap": math.MaxInt64}
		for range 100 {
			got := m.read(goroutines, heap)
			out["idle goroutines"] = min(out["idle goroutines"], int64(got[goroutines]))
			out["idle heap"] = min(out["idle heap"], int64(got[heap]))
			time.Sleep(10 * time.Millisecond) // work of the start may still be running
		}
		return out
	})
}

// sqliteStatements is the unit of the statements on SQLite.
const sqliteStatements = "sqlite statements"

// allocationFigures returns the allocations, bytes and SQL statements of each operation on SQLite.
func allocationFigures(t *testing.T, base figures) figures {
	t.Helper()
	opts, m := metered(t, testkit.ServerOptions{})
	w := newBaselineInstallation(t, opts)
	for range minBatches {
		m.allocated(func() {})
	}
	m.reading = smallest(figures{}, func(bool) figures { return m.allocated(func() {}) })
	out := figures{}
	for _, o := range w.operations(t) {
		n := cmp.Or(o.batch, 200)
		if os.Getenv(baselineUpdate) != "" {
			n *= 4 // more exact
		}
		o.prepare(n)
		w.repeat(t, o, n)
		maps.Copy(out, smallest(base, func(further bool) figures {
			o.prepare(n)
			total := m.allocated(func() { w.repeat(t, o, n) })
			statements := int64(math.Round(float64(total[sqliteStatements]) / float64(n)))
			if further {
				o.prepare(1)
				one := m.allocated(func() {
					w.repeat(t, o, 1)
					time.Sleep(afterReply)
				})
				statements = min(statements, one[sqliteStatements])
			}
			return figures{
				o.name + " allocations":         total["allocations"] / int64(n),
				o.name + " bytes":               total["bytes"] / int64(n),
				o.name + " " + sqliteStatements: statements,
			}
		}))
	}
	return out
}

// statementFigures returns the SQL statements of each operation on PostgreSQL, counted outside of the server.
func statementFigures(t *testing.T, base figures) figures {
	t.Helper()
	pg := testkit.NewPostgresServer(t, testkit.PostgresOptions{})
	counted := countStatements(t, pg.URL("postgres"))
	opts, _ := metered(t, testkit.ServerOptions{Database: counted.url})
	w := newBaselineInstallation(t, opts)
	out := figures{}
	for _, o := range w.operations(t) {
		o.prepare(1)
		w.repeat(t, o, 1)
		maps.Copy(out, smallest(base, func(further bool) figures {
			n := 10
			if further {
				n = 1
			}
			o.prepare(n)
			before := counted.statements.Load()
			w.repeat(t, o, n)
			if further {
				time.Sleep(afterReply)
			}
			statements := float64(counted.statements.Load()-before) / float64(n)
			return figures{o.name + " statements": int64(math.Round(statements))}
		}))
	}
	return out
}

// repeat sends n requests of an operation one after the other and checks the status of each reply.
func (w *installation) repeat(t *testing.T, o measuredOperation, n int) {
	t.Helper()
	for i := range n {
		c := o.call(i)
		status, body, _, err := w.exchange(t.Context(), c)
		if err != nil || status != cmp.Or(o.status, http.StatusOK) {
			t.Fatalf("%s: %s %s: %d %v %s", o.name, c.method, c.path, status, err, body)
		}
		if o.seen != nil {
			o.seen(body)
		}
	}
}
