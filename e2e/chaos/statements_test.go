package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// maxTurnStatements is the limit of statements that a turn may send to PostgreSQL, from the request to the reply.
const maxTurnStatements = 12

func TestTurnSendsFewStatementsToPostgres(t *testing.T) {
	t.Parallel()
	pg := testkit.NewPostgresServer(t, testkit.PostgresOptions{Settings: []string{
		"log_statement=all", "log_line_prefix=@@@ ",
	}})
	s := newStage(t, 1, 1, pg.URL("postgres"))
	d := s.seed("statements")
	p := s.people[0]
	var made struct{ Thread struct{ ID string } }
	if err := json.Unmarshal(s.repeat(d, p, http.MethodPost, "/threads", `{}`, "Idempotency-Key", "thread").body, &made); err != nil {
		t.Fatal(err)
	}
	ask := func(n int) {
		t.Helper()
		r := s.ask(d, p, http.MethodPost, "/threads/"+made.Thread.ID+"/messages", fmt.Sprintf(`{"text":"note %d"}`, n))
		if r.status != http.StatusOK {
			t.Fatalf("turn %d: %v", n, r)
		}
	}
	ask(0) // prepares the statements of the connection
	pause(t, 3*time.Second)
	before := statements(pg.Log())
	pause(t, 3*time.Second)
	idle := statements(pg.Log())
	subtract(idle, before)
	before = statements(pg.Log())
	const turns = 40
	for n := range turns {
		ask(n + 1)
	}
	counts := statements(pg.Log())
	subtract(counts, before)
	total := 0
	for text, n := range counts {
		if idle[text] > 0 && !slices.Contains([]string{"begin", "commit"}, text) {
			continue // housekeeping of the node
		}
		total += n
	}
	if perTurn := float64(total) / turns; perTurn > maxTurnStatements+0.5 {
		t.Errorf("%.1f statements a turn, want at most %d", perTurn, maxTurnStatements)
	} else {
		t.Logf("%.1f statements a turn", perTurn)
	}
	if !t.Failed() {
		return
	}
	for _, text := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return counts[b] - counts[a] }) {
		t.Logf("%3d %s", counts[text], text)
	}
}

// executed matches the start of a statement in the log of PostgreSQL.
var executed = regexp.MustCompile(`(?s)^LOG:  (?:statement|execute [^:]*): (.*)$`)

// statements counts the statements in a log by their text.
func statements(log string) map[string]int {
	counts := map[string]int{}
	for line := range strings.SplitSeq(log, "@@@ ") {
		if m := executed.FindStringSubmatch(line); m != nil {
			counts[strings.Join(strings.Fields(m[1]), " ")]++
		}
	}
	return counts
}

// subtract removes the counts of an earlier log.
func subtract(counts, earlier map[string]int) {
	for text, n := range earlier {
		if counts[text] -= n; counts[text] == 0 {
			delete(counts, text)
		}
	}
}
