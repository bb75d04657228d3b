package chaos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// TestNothingIsLostWhenTheDiskIsFull fills the disk of a node under load, sends every kind of write, and frees the
// disk.
func TestNothingIsLostWhenTheDiskIsFull(t *testing.T) {
	t.Parallel()
	disk := testkit.NewDisk(t, 192)
	s := newStageIn(t, []string{disk.Dir}, 2, "", paidEmbeddings(t)...)
	s.keyed = true // a message is sent again until there is space for it
	libraries := s.beginLibraries()
	end := s.begin(2)
	w := newWriter(s)
	for round := range rounds(t, 1, 5) {
		goal := s.acks.count() + 100
		await(t, "writes are acknowledged", testkit.Patience, func() bool { return s.acks.count() >= goal })
		s.tally.begin(fmt.Sprintf("%d the disk is full", round+1))
		for _, kind := range w.kinds() {
			kind.awaitRefused(t, disk)
		}
		s.checkReadiness(t, http.StatusServiceUnavailable, "The disk of the database is full")
		disk.Free()
		freed := time.Now()
		s.tally.begin(fmt.Sprintf("%d the disk has space again", round+1))
		for _, kind := range w.kinds() {
			kind.awaitAccepted(t, freed)
		}
		s.checkReadiness(t, http.StatusOK, "ok\n")
	}
	end()
	s.verify(readSQLite(t, s))
	s.nodes[0].Start()
	libraries("sqlite", s.nodes[0].Data+"/carrel.db")
	t.Logf("replies by scene:\n%s\n%s", s.tally.String(), w)
}

// TestNothingIsLostWhenTheDataFolderIsFull fills the disk with the index and the originals of a node whose database is
// elsewhere. Documents and files are accepted, and are searchable when there is space.
func TestNothingIsLostWhenTheDataFolderIsFull(t *testing.T) {
	t.Parallel()
	pg := testkit.NewPostgresServer(t, testkit.PostgresOptions{Durable: true})
	disk := testkit.NewDisk(t, 64)
	s := newStageIn(t, []string{disk.Dir}, 2, pg.URL("postgres"))
	libraries := s.beginLibraries()
	end := s.begin(2)
	w := newWriter(s)
	for round := range rounds(t, 1, 5) {
		goal := s.acks.count() + 50
		await(t, "writes are acknowledged", testkit.Patience, func() bool { return s.acks.count() >= goal })
		s.tally.begin("the disk of the data folder is full")
		stored := s.acks.count()
		await(t, "the index can't be written", testkit.Patience, func() bool {
			disk.Fill()
			r := s.get(s.nodes[0].URL + "/readyz")
			return r.status == http.StatusOK && strings.Contains(string(r.body), "the disk of the data folder is full")
		})
		goal = s.acks.count() + 50
		await(t, "writes are still acknowledged", testkit.Patience, func() bool { return s.acks.count() >= goal })
		during := s.acks.count() - stored
		word := fmt.Sprintf("axolotl%dx", round)
		s.checkUploadWaits(w, word)
		s.tally.begin("the disk has space again")
		disk.Free()
		freed := time.Now()
		await(t, "the index is written again", testkit.Patience, func() bool {
			return string(s.get(s.nodes[0].URL+"/readyz").body) == "ok\n"
		})
		written := time.Since(freed).Round(time.Millisecond)
		await(t, "the file that waited is found", testkit.Patience, func() bool {
			r := s.send(w.d, w.p, http.MethodPost, "/search", fmt.Sprintf(`{"query": %q}`, word))
			return strings.Contains(string(r.body), word)
		})
		t.Logf("%d writes acknowledged while the data folder was full; the index was written %v and a file that waited was "+
			"found %v after space was freed", during, written, time.Since(freed).Round(time.Millisecond))
	}
	end()
	s.verify(read(t, "pgx", pg.URL("postgres")))
	libraries("pgx", pg.URL("postgres"))
	t.Logf("replies by scene:\n%s", s.tally.String())
}

// checkUploadWaits uploads a file for whose original there is no space: it is accepted, and the import says what it
// waits for.
func (s *stage) checkUploadWaits(w *writer, word string) {
	s.t.Helper()
	body, contentType := markdownForm(s.t, word)
	path := "/sources/" + w.source
	if r := s.send(w.d, w.p, http.MethodPost, path+"/files", body, "Content-Type", contentType); !r.accepted() {
		s.t.Errorf("a file was answered with %v", r)
	}
	await(s.t, "the import says that the disk is full", testkit.Patience, func() bool {
		r := s.send(w.d, w.p, http.MethodGet, path+"/imports", "")
		return strings.Contains(string(r.body), "The disk of the server is full")
	})
}

// checkReadiness checks the reply of /readyz of the first node.
func (s *stage) checkReadiness(t *testing.T, status int, says string) {
	t.Helper()
	var got reply
	await(t, fmt.Sprintf("/readyz is %d and says %q", status, says), testkit.Patience, func() bool {
		got = s.get(s.nodes[0].URL + "/readyz")
		text := string(got.body)
		return got.status == status && (text == says || status != http.StatusOK && strings.Contains(text, says))
	})
	t.Logf("/readyz: %s", strings.TrimSpace(string(got.body)))
}

// writer sends writes of every kind to a stage.
type writer struct {
	s *stage
	p *person
	d dice
	// threads take turns, because a thread refuses a message while its turn waits for space.
	threads []string
	source  string
	n       int
	told    map[string]string
	back    map[string]time.Duration
}

func newWriter(s *stage) *writer {
	w := &writer{s: s, p: s.people[0], d: s.seed("writer"), told: map[string]string{}, back: map[string]time.Duration{}}
	for i := range 50 {
		var made struct{ Thread struct{ ID string } }
		r := s.repeat(w.d, w.p, http.MethodPost, "/threads", `{}`, "Idempotency-Key", fmt.Sprint("writer ", i))
		if err := json.Unmarshal(r.body, &made); err != nil {
			s.t.Fatalf("%v in %v", err, r)
		}
		w.threads = append(w.threads, made.Thread.ID)
	}
	var told struct {
		Agent struct{ DefaultSourceID string }
	}
	r := s.repeat(w.d, w.p, http.MethodGet, "", "")
	if err := json.Unmarshal(r.body, &told); err != nil {
		s.t.Fatalf("%v in %v", err, r)
	}
	w.source = told.Agent.DefaultSourceID
	return w
}

// kind is a kind of write.
type kind struct {
	w    *writer
	name string
	send func() reply
}

func (w *writer) kinds() []kind {
	post := func(path, body string, headers ...string) func() reply {
		return func() reply {
			w.n++
			return w.s.send(w.d, w.p, http.MethodPost, path, strings.ReplaceAll(body, "#", strconv.Itoa(w.n)), headers...)
		}
	}
	return []kind{
		{w, "message", func() reply {
			w.n++
			return w.s.send(w.d, w.p, http.MethodPost, "/threads/"+w.threads[w.n%len(w.threads)]+"/messages",
				fmt.Sprintf(`{"text": "model 1 writer %d"}`, w.n), "Prefer", "respond-async")
		}},
		{w, "memory", post("/memories", `{"text": "The writer has written #."}`)},
		{w, "thread", post("/threads", `{}`)},
		{w, "document", post("/sources/"+w.source+"/documents",
			`{"documents": [{"externalId": "writer-#", "title": "Document", "text": "This document has a text."}]}`)},
		{w, "file", func() reply {
			w.n++
			body, contentType := markdownForm(w.s.t, fmt.Sprint("writer", w.n))
			return w.s.send(w.d, w.p, http.MethodPost, "/sources/"+w.source+"/files", body, "Content-Type", contentType)
		}},
		{w, "resumable upload", post("/sources/"+w.source+"/uploads", "The text of a file.", "Upload-Length", "19",
			"Upload-Metadata", "filename d3JpdGVyLnR4dA==", "Content-Type", "application/offset+octet-stream")},
		{w, "agent change", func() reply {
			w.n++
			return w.s.send(w.d, w.p, http.MethodPatch, "", fmt.Sprintf(`{"name": "Agent %d"}`, w.n))
		}},
	}
}

// awaitRefused fills the disk until a write is refused. Some writes succeed before, in space that files already have.
func (k kind) awaitRefused(t *testing.T, disk *testkit.Disk) {
	t.Helper()
	var r reply
	await(t, "a "+k.name+" is refused", testkit.Patience, func() bool {
		disk.Fill()
		r = k.send()
		return !r.accepted() && r.status != http.StatusConflict // the turn before is still running
	})
	var problem struct{ Detail string }
	_ = json.Unmarshal(r.body, &problem) // otherwise the detail is empty, and reported
	k.w.told[k.name] = fmt.Sprintf("%d %s: %s", r.status, r.code(), problem.Detail)
	if r.status != http.StatusServiceUnavailable || !strings.Contains(problem.Detail, "disk of the server is full") {
		t.Errorf("on a full disk a %s is answered with %v", k.name, r)
	}
}

func (k kind) awaitAccepted(t *testing.T, freed time.Time) {
	t.Helper()
	await(t, "a "+k.name+" is accepted again", testkit.Patience, func() bool {
		r := k.send()
		return r.accepted()
	})
	k.w.back[k.name] = time.Since(freed)
}

func (w *writer) String() string {
	var b strings.Builder
	for _, k := range w.kinds() {
		fmt.Fprintf(&b, "%-20s %-60.60s accepted %v after space was freed\n", k.name, w.told[k.name],
			w.back[k.name].Round(time.Millisecond))
	}
	return b.String()
}
