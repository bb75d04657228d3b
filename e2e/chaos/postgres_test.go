package chaos

import (
	"database/sql"
	"sync"
	"syscall"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// takeover is the documented limit: a lease lasts 10 s, and other nodes check for expired leases every second.
const takeover = 12 * time.Second

// onPostgres returns a stage with two nodes on a PostgreSQL database with durable commits.
func onPostgres(t *testing.T, people int) (*stage, *testkit.PostgresServer) {
	t.Helper()
	pg := testkit.NewPostgresServer(t, testkit.PostgresOptions{Durable: true})
	return newStage(t, 2, people, pg.URL("postgres")), pg
}

func TestNothingIsLostWhenOneOfTwoNodesIsKilled(t *testing.T) {
	t.Parallel()
	s, pg := onPostgres(t, 3)
	end := s.begin(4)
	d := s.seed("kills")
	var kills []kill
	for range rounds(t, 5, 50) {
		// The turns of a killed node resume when its lease expires. In the long form some resume between the kills.
		pause(t, d.between(100*time.Millisecond, time.Duration(pick(1500, 8000))*time.Millisecond))
		victim := d.IntN(2)
		kills = append(kills, kill{at: time.Now(), orphans: s.model.open(nodeName(victim))})
		s.nodes[victim].Kill()
		pause(t, d.between(0, 500*time.Millisecond))
		s.nodes[victim].Start()
	}
	end()
	s.verify(read(t, "pgx", pg.URL("postgres")))
	var resumed []time.Duration
	for _, k := range kills {
		resumed = append(resumed, k.resumed(s.model)...)
	}
	t.Logf("%d turns of killed nodes went on after %v", len(resumed), spread(resumed))
	if got := spread(resumed); len(resumed) == 0 || got.median > takeover || got.worst > 3*takeover {
		t.Errorf("%d turns of killed nodes went on after %v, want within %v", len(resumed), got, takeover)
	}
}

func TestSuspendedNodeWritesNothingAfterItsLease(t *testing.T) {
	t.Parallel()
	s, pg := onPostgres(t, 3)
	s.keyed = true // a request that the paused node holds is carried out when it resumes
	s.longest = 60 // most turns that were taken over are still running then
	end := s.begin(3)
	d := s.seed("pauses")
	var resumed []time.Duration
	for range rounds(t, 1, 10) {
		paused := d.IntN(2)
		await(t, "turns work on the node", testkit.Patience, func() bool { return len(s.model.open(nodeName(paused))) > 2 })
		k := kill{at: time.Now(), orphans: s.model.open(nodeName(paused))}
		s.signal(paused, syscall.SIGSTOP)
		s.paused.Store(int64(paused + 1))
		wake := sync.OnceFunc(func() { s.signal(paused, syscall.SIGCONT) })
		t.Cleanup(wake) // a stopped process does not receive SIGTERM
		await(t, "the other node finds the lease ended", 3*takeover, func() bool { return nodes(t, pg.URL("postgres")) == 1 })
		pause(t, d.between(0, time.Second))
		wake()
		s.paused.Store(0)
		await(t, "the node is back", 3*takeover, func() bool { return nodes(t, pg.URL("postgres")) == 2 })
		pause(t, d.between(0, time.Second))
		resumed = append(resumed, k.resumed(s.model)...)
	}
	end()
	s.verify(read(t, "pgx", pg.URL("postgres")))
	t.Logf("%d turns of paused nodes went on after %v", len(resumed), spread(resumed))
}

// nodes counts the nodes that are not marked as dead.
func nodes(t *testing.T, database string) (n int) {
	t.Helper()
	db, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	each(t, db, `SELECT count(*) FROM node`, func(scan func(...any)) { scan(&n) })
	return n
}

func TestNothingIsLostWhenPostgresRestarts(t *testing.T) {
	t.Parallel()
	s, pg := onPostgres(t, 2)
	s.keyed = true // a request that waits for the database may be carried out after its client gave up
	end := s.begin(3)
	d := s.seed("restarts")
	for i := range rounds(t, 4, 30) {
		pause(t, d.between(100*time.Millisecond, 1500*time.Millisecond))
		stop := pg.Stop
		if i%2 == 1 {
			stop = pg.Crash
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		pause(t, d.between(0, time.Second))
		if err := pg.Start(); err != nil {
			t.Fatal(err)
		}
	}
	pause(t, time.Second)
	end()
	s.verify(read(t, "pgx", pg.URL("postgres")))
}

func TestNothingIsLostWhenPostgresFailsOver(t *testing.T) {
	t.Parallel()
	primary := testkit.NewPostgresServer(t, testkit.PostgresOptions{Durable: true})
	standby := primary.NewStandby(t)
	s := newStage(t, 2, 2, testkit.PairURL("postgres", primary, standby))
	s.keyed = true // a request that waits for the database may be carried out after its client gave up
	end := s.begin(3)
	d := s.seed("failovers")
	for range rounds(t, 1, 10) {
		pause(t, d.between(time.Second, 3*time.Second))
		if err := primary.Crash(); err != nil {
			t.Fatal(err)
		}
		pause(t, d.between(0, time.Second))
		if err := standby.Promote(t.Context()); err != nil {
			t.Fatal(err)
		}
		pause(t, d.between(time.Second, 3*time.Second))
		if err := primary.Follow(t.Context(), standby); err != nil {
			t.Fatal(err)
		}
		primary, standby = standby, primary
	}
	end()
	s.verify(read(t, "pgx", primary.URL("postgres")))
}

func TestNothingIsLostBehindAPooler(t *testing.T) {
	t.Parallel()
	pg := testkit.NewPostgresServer(t, testkit.PostgresOptions{Durable: true})
	pooler := testkit.Pgbouncer(t, pg.URL("postgres"))
	s := newStage(t, 2, 2, pooler, "CARREL_DATABASE_DIRECT="+pg.URL("postgres"), "CARREL_DATABASE_CONNECTIONS=8")
	end := s.begin(3)
	d := s.seed("kills")
	for range rounds(t, 2, 20) {
		pause(t, d.between(100*time.Millisecond, 1500*time.Millisecond))
		victim := d.IntN(2)
		s.nodes[victim].Kill()
		s.nodes[victim].Start()
	}
	end()
	s.verify(read(t, "pgx", pg.URL("postgres")))
}
