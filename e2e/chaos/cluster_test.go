package chaos

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// TestNothingIsLostInACluster disturbs an installation as in deploy/compose/compose.cluster.yaml: three nodes behind
// nginx, on a PostgreSQL server with a standby and three OpenSearch nodes.
func TestNothingIsLostInACluster(t *testing.T) {
	t.Parallel()
	if !long() {
		t.Skip("make chaos runs it: it takes minutes, and gigabytes of memory")
	}
	primary := testkit.NewPostgresServer(t, testkit.PostgresOptions{Durable: true})
	standby := primary.NewStandby(t)
	engines := testkit.NewOpenSearchCluster(t, 3)
	addresses := make([]string, len(engines))
	for i, e := range engines {
		addresses[i] = e.URL
	}
	s := newStage(t, 3, 4, testkit.PairURL("postgres", primary, standby),
		"CARREL_SEARCH_URL="+strings.Join(addresses, ","), "CARREL_SEARCH_REPLICAS=1")
	proxy := testkit.NewNginx(t, "../../deploy/compose/nginx.conf", s.nodes[0].URL, s.nodes[1].URL, s.nodes[2].URL)
	s.proxy = proxy.URL
	s.keyed = true // a request that waits for the database may be carried out after its client gave up
	d := s.seed("scenes")
	libraries := s.beginLibraries()
	end := s.begin(3)
	scenes := []struct {
		name string
		run  func() error
	}{
		{"1 nothing", func() error { return nil }},
		{"2 a node is killed", func() error {
			node := s.nodes[d.IntN(len(s.nodes))]
			node.Kill()
			pause(t, d.between(time.Second, 15*time.Second)) // some turns resume before it is back
			node.Start()
			return nil
		}},
		{"3 the nodes restart one by one", func() error {
			for _, node := range s.nodes {
				node.Stop()
				node.Start()
				pause(t, 2*time.Second)
			}
			return nil
		}},
		{"4 PostgreSQL fails over", func() error {
			if err := primary.Crash(); err != nil {
				return err
			}
			pause(t, d.between(0, 2*time.Second))
			if err := standby.Promote(t.Context()); err != nil {
				return err
			}
			pause(t, 3*time.Second)
			err := primary.Follow(t.Context(), standby)
			primary, standby = standby, primary
			return err
		}},
		{"5 an OpenSearch node is killed", func() error {
			engine := engines[d.IntN(len(engines))]
			if err := engine.Kill(); err != nil {
				return err
			}
			pause(t, d.between(5*time.Second, 15*time.Second))
			return engine.Start()
		}},
		{"6 the proxy is reloaded", proxy.Reload},
	}
	for range rounds(t, 1, 3) {
		for _, scene := range scenes {
			s.tally.begin(scene.name)
			if err := scene.run(); err != nil {
				t.Fatalf("%s: %v", scene.name, err)
			}
			pause(t, d.between(4*time.Second, 8*time.Second))
		}
	}
	s.tally.begin("7 the end")
	end()
	database := primary.URL("postgres")
	s.verify(read(t, "pgx", database))
	libraries(database)
	t.Logf("replies by scene:\n%s", s.tally.String())
}

// tally counts the outcomes of requests by scene.
type tally struct {
	mu     sync.Mutex
	scene  string
	counts map[string]map[string]int
}

func (c *tally) begin(scene string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scene = scene
}

func (c *tally) add(r reply) {
	outcome := "no reply"
	if r.status > 0 {
		outcome = strings.TrimSpace(fmt.Sprint(r.status, " ", r.code()))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]map[string]int{}
	}
	if c.counts[c.scene] == nil {
		c.counts[c.scene] = map[string]int{}
	}
	c.counts[c.scene][outcome]++
}

func (c *tally) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, scene := range slices.Sorted(maps.Keys(c.counts)) {
		fmt.Fprintf(&b, "%-35s", cmp.Or(scene, "0 before"))
		for _, outcome := range slices.Sorted(maps.Keys(c.counts[scene])) {
			fmt.Fprintf(&b, "  %s: %d", outcome, c.counts[scene][outcome])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// library is a user's source, to which documents with a unique word each are added.
type library struct {
	s      *stage
	p      *person
	dice   dice
	source string
	words  []string // of acknowledged documents
}

// beginLibraries adds and searches documents until the load ends. The returned function waits for that, and then checks
// that every acknowledged document is stored, and that a sample of them is found.
func (s *stage) beginLibraries() (verify func(database string)) {
	s.t.Helper()
	var writing sync.WaitGroup
	libraries := make([]*library, len(s.people))
	for i, p := range s.people {
		l := &library{s: s, p: p, dice: s.seed(fmt.Sprintf("library %d", i))}
		var told struct {
			Agent struct{ DefaultSourceID string }
		}
		r := s.repeat(l.dice, p, http.MethodGet, "", "")
		if err := json.Unmarshal(r.body, &told); err != nil || told.Agent.DefaultSourceID == "" {
			s.t.Fatalf("the agent: %v", r)
		}
		l.source, libraries[i] = told.Agent.DefaultSourceID, l
		writing.Go(func() { l.run(i) })
	}
	s.t.Cleanup(func() {
		s.over.Store(true)
		writing.Wait()
	})
	return func(database string) {
		writing.Wait()
		db, err := sql.Open("pgx", database)
		if err != nil {
			s.t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		stored := map[string]bool{}
		each(s.t, db, `SELECT external_id FROM document`, func(scan func(...any)) {
			var id string
			scan(&id)
			stored[id] = true
		})
		for _, l := range libraries {
			l.verify(stored)
		}
	}
}

func (l *library) run(who int) {
	for i := 0; !l.s.over.Load() && l.s.t.Context().Err() == nil; i++ {
		word := fmt.Sprintf("quixotry%dx%d", who, i)
		r := l.s.ask(l.dice, l.p, http.MethodPost, "/sources/"+l.source+"/documents", fmt.Sprintf(
			`{"documents": [{"externalId": %q, "title": "Document", "text": "This document has the word %s."}]}`, word, word))
		switch {
		case r.status == http.StatusOK:
			l.words = append(l.words, word)
		case !r.unknown():
			l.s.t.Errorf("a document was answered with %v", r)
		}
		if n := len(l.words); n > 0 && l.dice.chance(30) {
			if _, r := l.finds(l.words[l.dice.IntN(n)]); r.status != http.StatusOK && !r.unknown() {
				l.s.t.Errorf("a search was answered with %v", r)
			}
		}
		pause(l.s.t, l.dice.between(20*time.Millisecond, 100*time.Millisecond))
	}
}

// finds reports whether a search finds the document of a word.
func (l *library) finds(word string) (bool, reply) {
	r := l.s.ask(l.dice, l.p, http.MethodPost, "/search", fmt.Sprintf(`{"query": %q}`, word))
	return r.status == http.StatusOK && strings.Contains(string(r.body), word), r
}

func (l *library) verify(stored map[string]bool) {
	l.s.t.Helper()
	const sample = 50
	for i, word := range l.words {
		if !stored[word] {
			l.s.t.Errorf("the document %s was acknowledged and is missing", word)
		}
		if i%max(1, len(l.words)/sample) == 0 {
			await(l.s.t, "the document "+word+" is found", 2*time.Minute, func() bool {
				found, _ := l.finds(word)
				return found
			})
		}
	}
	l.s.t.Logf("%d documents acknowledged", len(l.words))
}
