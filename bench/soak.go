package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// soakSettings are the flags of `bench soak`.
type soakSettings struct {
	runFlags
	corpusFlags
	length  time.Duration
	every   time.Duration
	workers int
}

func parseSoak(args []string) (*soakSettings, error) {
	s := &soakSettings{}
	f := s.newFlags("bench soak", "")
	s.register(f, 5000, "to search")
	f.DurationVar(&s.length, "length", time.Hour, "length of the run")
	f.DurationVar(&s.every, "every", 15*time.Second, "time between two samples")
	f.IntVar(&s.workers, "workers", 4, "number of concurrent users")
	if err := parseFlags(f, args); err != nil {
		return s, err
	}
	switch {
	case s.length < 4*time.Second || s.length > 24*time.Hour:
		return s, errors.New("--length must be 4s to 24h")
	case s.every < time.Second || s.every > s.length/soakQuarters:
		return s, errors.New("--every must be at least 1s, and at most a quarter of --length")
	case s.workers < 1 || s.workers > 64:
		return s, errors.New("--workers must be 1 to 64")
	}
	s.timeout = s.length + runTimeout
	return s, s.check()
}

// measureSoak uses a server in the same way for a long time. What it creates it deletes, or it writes the same documents
// again, so that nothing may grow but the records that retention deletes after days, such as ended tasks.
func measureSoak(ctx context.Context, s *soakSettings, dir string) (page, error) {
	c := &carrel{binary: s.carrel, dir: dir}
	if err := c.signUp(ctx); err != nil {
		return page{}, err
	}
	lines := filepath.Join(dir, "documents.jsonl")
	_, kept, err := writeCorpus(s.corpusFlags, 0, lines)
	if err != nil {
		return page{}, err
	}
	in, err := c.start(ctx)
	if err != nil {
		return page{}, err
	}
	defer in.stop()
	u := &uploader{server: "http://" + in.addr, carrel: c}
	source, err := u.create(ctx, "Library")
	if err != nil {
		return page{}, err
	}
	if err := u.send(ctx, source, lines, "documents.jsonl"); err != nil {
		return page{}, err
	}
	if _, err := u.filled(ctx, source, kept); err != nil {
		return page{}, err
	}
	run := &soak{settings: s, uploader: u, instance: in, source: source, when: time.Now()}
	err = run.run(ctx)
	return run.page(), err
}

// soak is a run of `bench soak`.
type soak struct {
	settings *soakSettings
	uploader *uploader
	instance *instance
	source   string
	when     time.Time

	requests, failed atomic.Int64
	firstFailure     sync.Once
	failure          error
	samples          []soakSample
	// rows are the rows of each table after the first quarter and at the end.
	rows [2]map[string]int64
}

// soakSample is the state of the server at one time.
type soakSample struct {
	requests               int64
	resident, heap         int64
	goroutines, files      int64
	indexBytes, otherBytes int64
}

// run uses the server until the time is over, and takes samples.
func (r *soak) run(ctx context.Context) error {
	work, stop := context.WithTimeout(ctx, r.settings.length)
	defer stop()
	var workers sync.WaitGroup
	for i := range r.settings.workers {
		workers.Go(func() { r.use(work, i) })
	}
	defer workers.Wait()
	tick := time.NewTicker(r.settings.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-work.Done():
			workers.Wait()
			var err error
			r.rows[1], err = r.tableRows(ctx)
			return err
		case <-tick.C:
			s, err := r.sample(ctx)
			if err != nil {
				return err
			}
			r.samples = append(r.samples, s)
			if r.rows[0] == nil && time.Since(r.when) >= r.settings.length/soakQuarters {
				if r.rows[0], err = r.tableRows(ctx); err != nil {
					return err
				}
			}
			fmt.Fprintf(r.settings.progress, "%s: %d requests, %d failed, %s resident, %d goroutines, %d files\n",
				time.Since(r.when).Round(time.Second), s.requests, r.failed.Load(), megabytes(s.resident), s.goroutines, s.files)
		}
	}
}

// soakTurns separates the numbers of the workers.
const soakTurns = 1_000_000

// use repeats what a user does.
func (r *soak) use(ctx context.Context, worker int) {
	random := rand.New(rand.NewPCG(uint64(worker), 1))
	acts := []func(context.Context, *rand.Rand, int) error{
		r.converse, r.remember, r.change, r.find, r.upload, r.follow,
	}
	for n := 0; ctx.Err() == nil; n++ {
		act := acts[random.IntN(len(acts))]
		if err := act(ctx, random, worker*soakTurns+n%soakTurns); err != nil && ctx.Err() == nil {
			r.failed.Add(1)
			r.firstFailure.Do(func() { r.failure = err })
		}
	}
}

var soakQuestions = []string{
	"What is parsing?", "Who proposed statistical machine translation?", "How are word senses disambiguated?",
	"Which corpora are annotated?", "What does a language model estimate?",
}

// converse creates a thread, asks a question, reads the reply and deletes the thread.
func (r *soak) converse(ctx context.Context, random *rand.Rand, n int) error {
	thread, err := r.made(ctx, "threads", `{"title": "Soak `+strconv.Itoa(n)+`"}`, "thread")
	if err != nil {
		return err
	}
	path := "threads/" + thread
	question, err := json.Marshal(map[string]string{"text": soakQuestions[random.IntN(len(soakQuestions))]})
	if err != nil {
		return err
	}
	return errors.Join(
		r.ask(ctx, http.MethodPost, path+"/messages", string(question), nil),
		r.ask(ctx, http.MethodGet, path+"/messages", "", nil),
		r.ask(ctx, http.MethodDelete, path, "", nil))
}

// remember adds a memory, lists all and deletes it. A hash of a deleted memory is kept, so the texts repeat.
func (r *soak) remember(ctx context.Context, _ *rand.Rand, n int) error {
	memory, err := r.made(ctx, "memories", `{"text": "I read page `+strconv.Itoa(n%100)+` as `+strconv.Itoa(n/soakTurns)+`."}`, "memory")
	if err != nil {
		return err
	}
	return errors.Join(
		r.ask(ctx, http.MethodGet, "memories", "", nil),
		r.ask(ctx, http.MethodDelete, "memories/"+memory, "", nil))
}

// change writes documents again, with other texts.
func (r *soak) change(ctx context.Context, random *rand.Rand, n int) error {
	type document struct {
		ExternalID string `json:"externalId"`
		Title      string `json:"title"`
		Text       string `json:"text"`
	}
	documents := make([]document, 20)
	first := random.IntN(500)
	for i := range documents {
		id := "note-" + strconv.Itoa((first+i)%500)
		documents[i] = document{id, "Note " + id, fmt.Sprintf("The note %s has the text number %d.", id, n)}
	}
	body, err := json.Marshal(map[string]any{"documents": documents})
	if err != nil {
		return err
	}
	return r.ask(ctx, http.MethodPost, "sources/"+r.source+"/documents", string(body), nil)
}

// find searches with words and years.
func (r *soak) find(ctx context.Context, random *rand.Rand, _ int) error {
	body, err := json.Marshal(map[string]any{
		"query": soakQuestions[random.IntN(len(soakQuestions))], "fromYear": 1970 + random.IntN(30), "numResults": 10,
	})
	if err != nil {
		return err
	}
	return r.ask(ctx, http.MethodPost, "search", string(body), nil)
}

// upload uploads a file of a fixed set of names, waits for its result and deletes nothing: the next upload of the name
// replaces it.
func (r *soak) upload(ctx context.Context, random *rand.Rand, n int) error {
	name := filepath.Join(r.uploader.carrel.dir, fmt.Sprintf("soak-%d.md", n))
	text := fmt.Sprintf("# A file\n\nIts text is number %d.\n", n)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(name) }()
	r.requests.Add(1)
	return r.uploader.send(ctx, r.source, name, fmt.Sprintf("file-%d.md", random.IntN(50)))
}

// follow opens the event stream of a new thread and closes it in the middle.
func (r *soak) follow(ctx context.Context, _ *rand.Rand, n int) error {
	thread, err := r.made(ctx, "threads", `{"title": "Stream `+strconv.Itoa(n)+`"}`, "thread")
	if err != nil {
		return err
	}
	r.requests.Add(1)
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(short, http.MethodGet,
		r.uploader.server+r.uploader.carrel.path("threads/"+thread+"/events"), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+r.uploader.carrel.key)
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
	} else if short.Err() == nil {
		return err
	}
	return r.ask(ctx, http.MethodDelete, "threads/"+thread, "", nil)
}

// made creates an object and returns its id.
func (r *soak) made(ctx context.Context, path, body, name string) (string, error) {
	var reply map[string]json.RawMessage
	if err := r.ask(ctx, http.MethodPost, path, body, &reply); err != nil {
		return "", err
	}
	var object struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(reply[name], &object); err != nil || object.ID == "" {
		return "", fmt.Errorf("POST %s: no %s.id", path, name)
	}
	return object.ID, nil
}

func (r *soak) ask(ctx context.Context, method, path, body string, out any) error {
	r.requests.Add(1)
	contentType := ""
	if body != "" {
		contentType = "application/json"
	}
	return r.uploader.do(ctx, method, path, contentType, bytes.NewBufferString(body), out)
}

// sample reads the state of the server.
func (r *soak) sample(ctx context.Context) (s soakSample, err error) {
	s.requests = r.requests.Load()
	if s.resident, err = r.instance.residentBytes(); err != nil {
		return s, err
	}
	for metric, to := range map[string]*int64{
		"go_goroutines": &s.goroutines, "process_open_fds": &s.files, "go_memstats_heap_inuse_bytes": &s.heap,
	} {
		value, err := scrape(ctx, r.instance.metricsAddr, metric)
		if err != nil {
			return s, err
		}
		*to = int64(value)
	}
	data := r.uploader.carrel.dataDir()
	all, err1 := folderBytes(data)
	index, err2 := folderBytes(filepath.Join(data, "index"))
	s.indexBytes, s.otherBytes = index, all-index
	return s, errors.Join(err1, err2)
}

// tableRows returns the number of rows of each table.
func (r *soak) tableRows(ctx context.Context) (map[string]int64, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(r.uploader.carrel.dataDir(), "carrel.db")+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	found, err := db.QueryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	rows := map[string]int64{}
	for found.Next() {
		var name string
		if err := found.Scan(&name); err != nil {
			return nil, err
		}
		rows[name] = 0
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	for name := range rows {
		var n int64
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM "`+name+`"`).Scan(&n); err != nil {
			return nil, err
		}
		rows[name] = n
	}
	return rows, nil
}

// folderBytes returns the size of the files in a folder. Files that are deleted meanwhile are left out.
func folderBytes(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// soakQuarters is the number of parts of a run. The second and the last one are compared.
const soakQuarters = 4

// soakGrowth is the growth from the second to the last quarter up to which a series is called flat: a tenth.
const soakGrowth = 1.1

// page returns the report.
func (r *soak) page() page {
	plots := table{
		title: "Over the run", head: []string{"", "lowest", "highest", "2nd quarter", "last quarter", "≤ 1.1×", "plot"},
	}
	for _, series := range []struct {
		name string
		unit func(int64) string
		of   func(soakSample) int64
	}{
		{"resident memory", megabytes, func(s soakSample) int64 { return s.resident }},
		{"heap in use", megabytes, func(s soakSample) int64 { return s.heap }},
		{"goroutines", count, func(s soakSample) int64 { return s.goroutines }},
		{"open files", count, func(s soakSample) int64 { return s.files }},
		{"index", megabytes, func(s soakSample) int64 { return s.indexBytes }},
		{"database and originals", megabytes, func(s soakSample) int64 { return s.otherBytes }},
	} {
		values := make([]int64, len(r.samples))
		for i, s := range r.samples {
			values[i] = series.of(s)
		}
		plots.rows = append(plots.rows, soakRow(series.name, series.unit, values))
	}
	lines := []string{fmt.Sprintf("%d workers for %s; %d requests, of which %d failed.", r.settings.workers,
		r.settings.length, r.requests.Load(), r.failed.Load())}
	if r.failure != nil {
		lines = append(lines, "The first failure: "+r.failure.Error())
	}
	return newPage("Carrel over a long time", r.settings.conditions(r.when, lines...), plots, r.growth())
}

// growth lists the tables that have more rows than after the first quarter.
func (r *soak) growth() table {
	t := table{title: "Tables that grew", head: []string{"table", "after a quarter", "at the end"}}
	for _, name := range slices.Sorted(maps.Keys(r.rows[1])) {
		if before, after := r.rows[0][name], r.rows[1][name]; after > before {
			t.rows = append(t.rows, []string{name, count(before), count(after)})
		}
	}
	return t
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

// soakRow is the row of one series. The first quarter is left out of the comparison, because caches fill in it.
func soakRow(name string, unit func(int64) string, values []int64) []string {
	if len(values) < soakQuarters {
		return []string{name, "–", "–", "–", "–", "–", ""}
	}
	lowest, highest := values[0], values[0]
	for _, v := range values {
		lowest, highest = min(lowest, v), max(highest, v)
	}
	quarter := len(values) / soakQuarters
	second, last := median(values[quarter:2*quarter]), median(values[len(values)-quarter:])
	return []string{
		name, unit(lowest), unit(highest), unit(second), unit(last),
		verdict(float64(last) <= soakGrowth*float64(second)), plot(values, 60),
	}
}

// plot draws values as bars of eight heights, from zero to the highest value, in at most so many columns.
func plot(values []int64, columns int) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	var highest int64
	for _, v := range values {
		highest = max(highest, v)
	}
	columns = min(columns, len(values))
	var b strings.Builder
	for i := range columns {
		var part int64 // the highest of the values that share a column
		for _, v := range values[i*len(values)/columns : (i+1)*len(values)/columns] {
			part = max(part, v)
		}
		level := 0
		if highest > 0 {
			level = int(part * int64(len(bars)-1) / highest)
		}
		b.WriteRune(bars[level])
	}
	return b.String()
}
