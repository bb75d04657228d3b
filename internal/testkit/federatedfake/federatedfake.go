// Package federatedfake is a public catalogue or search engine on this machine, in the wire formats of OpenAlex, SearXNG and
// Brave. It is strict: a request that the real one could refuse, or that has anything a test does not know of, fails the
// test. It does not keep to bounds of years, so that a test sees whether somebody else does.
package federatedfake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Work is what a catalogue finds. ID is a word; a year of 0 is none.
type Work struct {
	ID, Title, Text, DOI string
	Year                 int
}

// Server answers every search with the same works.
type Server struct {
	// URL is where it is, and Key what it asks for, if it does.
	URL, Key string

	api      api
	complain func(format string, args ...any)

	mu     sync.Mutex
	works  []Work
	status int
	silent bool
	asked  []string
}

// api is how one service is asked and answers.
type api struct {
	path string
	// query is the parameter with the question, and others are what may be there besides.
	query  string
	others []string
	// key returns the key of a request.
	key    func(*http.Request) string
	answer func([]Work) any
}

var apis = map[string]api{
	"openalex": {
		path: "/works", query: "search", others: []string{"per-page", "page", "filter", "api_key", "mailto"},
		key: func(r *http.Request) string { return r.URL.Query().Get("api_key") }, answer: openAlex,
	},
	"searxng": {
		path: "/search", query: "q", others: []string{"format", "pageno", "language"},
		key: func(*http.Request) string { return "" }, answer: searXNG,
	},
	"brave": {
		path: "/res/v1/web/search", query: "q", others: []string{"count", "offset", "text_decorations", "freshness"},
		key: func(r *http.Request) string { return r.Header.Get("X-Subscription-Token") }, answer: brave,
	},
}

// New starts a server of a kind of source that is closed at the test's end.
func New(t testing.TB, kind string, works ...Work) *Server {
	t.Helper()
	a, ok := apis[kind]
	if !ok {
		t.Fatalf("there is no fake of %s", kind)
	}
	s := &Server{api: a, works: works, complain: t.Errorf}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Find lets it answer with other works from now on.
func (s *Server) Find(works ...Work) { s.set(func() { s.works, s.status, s.silent = works, 0, false }) }

// Fail lets it answer with a status from now on.
func (s *Server) Fail(status int) { s.set(func() { s.status, s.silent = status, false }) }

// Hang lets it never answer from now on.
func (s *Server) Hang() { s.set(func() { s.silent = true }) }

// Asked returns the questions so far, in order.
func (s *Server) Asked() (questions []string) {
	s.set(func() { questions = slices.Clone(s.asked) })
	return questions
}

func (s *Server) set(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if wrong := s.wrong(r); wrong != "" {
		s.complain("a request to a live source is wrong: %s", wrong)
		http.Error(w, wrong, http.StatusBadRequest)
		return
	}
	var works []Work
	var status int
	var silent bool
	s.set(func() {
		s.asked = append(s.asked, r.URL.Query().Get(s.api.query))
		works, status, silent = s.works, s.status, s.silent
	})
	switch {
	case silent:
		<-r.Context().Done()
	case s.api.key(r) != s.Key:
		w.WriteHeader(http.StatusUnauthorized)
	case status != 0:
		w.WriteHeader(status)
	default:
		_ = json.NewEncoder(w).Encode(s.api.answer(works)) // a client that has gone needs no answer
	}
}

// wrong says what the real service would not take.
func (s *Server) wrong(r *http.Request) string {
	switch {
	case r.Method != http.MethodGet || r.URL.Path != s.api.path:
		return r.Method + " " + r.URL.Path
	case !strings.HasPrefix(r.UserAgent(), "Carrel/"):
		return "it is from " + strconv.Quote(r.UserAgent())
	case r.URL.Query().Get(s.api.query) == "":
		return "it has no " + s.api.query
	}
	for name := range r.URL.Query() {
		if name != s.api.query && !slices.Contains(s.api.others, name) {
			return "it has a parameter " + name
		}
	}
	return ""
}

type object = map[string]any

func openAlex(works []Work) any {
	list := []object{}
	for _, w := range works {
		o := object{"id": "https://openalex.org/" + w.ID, "display_name": w.Title, "abstract_inverted_index": places(w.Text)}
		if w.DOI != "" {
			o["doi"] = "https://doi.org/" + w.DOI
		}
		if w.Year != 0 {
			o["publication_year"] = w.Year
		}
		list = append(list, o)
	}
	return object{"meta": object{"count": len(list)}, "results": list}
}

// places is a text as OpenAlex has it, by its words.
func places(text string) map[string][]int {
	out := map[string][]int{}
	for i, word := range strings.Fields(text) {
		out[word] = append(out[word], i)
	}
	return out
}

func searXNG(works []Work) any {
	list := []object{}
	for _, w := range works {
		o := object{"url": "https://example.org/" + w.ID, "title": w.Title, "content": w.Text, "engine": "fake", "publishedDate": nil}
		if w.Year != 0 {
			o["publishedDate"] = fmt.Sprintf("%04d-06-01T00:00:00", w.Year)
		}
		list = append(list, o)
	}
	return object{"query": "q", "results": list}
}

func brave(works []Work) any {
	list := []object{}
	for _, w := range works {
		o := object{"url": "https://example.org/" + w.ID, "title": w.Title, "description": w.Text}
		if w.Year != 0 {
			o["page_age"] = fmt.Sprintf("%04d-06-01T00:00:00", w.Year)
		}
		list = append(list, o)
	}
	return object{"type": "search", "web": object{"results": list}}
}
