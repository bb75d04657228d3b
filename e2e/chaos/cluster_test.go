package chaos

import (
	"cmp"
	"fmt"
	"maps"
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
	pair := testkit.PairURL("postgres", primary, standby)
	bucket := originalsBucket(t)
	s := newStage(t, 3, 4, pair, slices.Concat(paidEmbeddings(t), bucket, []string{
		"CARREL_SEARCH_URL=" + strings.Join(addresses, ","), "CARREL_SEARCH_REPLICAS=1",
	})...)
	proxy := testkit.NewNginx(t, "../../deploy/compose/nginx.conf", s.nodes[0].URL, s.nodes[1].URL, s.nodes[2].URL)
	s.proxy = proxy.URL
	s.keyed = true    // a request that waits for the database may be carried out after its client gave up
	testkit.Binary(t) // built before the load begins
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
		{"7 a backup is made", func() error {
			restored := newDatabase(t, primary, s.acks.count())
			s.backUp(place{[]string{"--database", pair, "--data", s.nodes[0].Data}, bucket},
				place{[]string{"--database", restored, "--data", t.TempDir()}, nil}, "pgx", restored)
			return nil
		}},
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
	s.tally.begin("8 the end")
	end()
	database := primary.URL("postgres")
	s.verify(read(t, "pgx", database))
	libraries("pgx", database)
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
