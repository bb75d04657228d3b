// Package federatedfake serves the wire formats of OpenAlex, SearXNG and Brave on this machine. A request that the
// real service might reject, or that has an unknown parameter, fails the test. The server ignores bounds on years, so
// that tests see whether the client applies them.
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

// Work is a result. ID is a single word; a year of 0 means none.
type Work struct {
	ID, Title, Text, DOI string
	Year                 int
}

// Server returns the same works for every search.
type Server struct {
	// Key is the API key that requests must have, or empty.
	URL, Key string

	api      api
	complain func(format string, args ...any)

	mu     sync.Mutex
	works  []Work
	status int
	silent bool
	asked  []string
}

// api describes one service.
type api struct {
	path string
	// query is the parameter with the search text; others are the further parameters that are allowed.
	query  string
	others []string
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

// New starts a server for a kind of source and closes it at the end of the test.
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

// Find sets the works of later replies.
func (s *Server) Find(works ...Work) { s.set(func() { s.works, s.status, s.silent = works, 0, false }) }

// Fail makes later replies fail with a status.
func (s *Server) Fail(status int) { s.set(func() { s.status, s.silent = status, false }) }

// Hang makes later requests time out.
func (s *Server) Hang() { s.set(func() { s.silent = true }) }

// Asked returns the search texts so far, in order.
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
		_ = json.NewEncoder(w).Encode(s.api.answer(works)) // the client may have gone
	}
}

// wrong describes why the real service would reject a request, or returns "".
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
		o := object{
			"id": "https://openalex.org/" + w.ID, "display_name": w.Title, "abstract_inverted_index": places(w.Text),
		}
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

// places returns a text as OpenAlex's inverted index.
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
		o := object{
			"url": "https://example.org/" + w.ID, "title": w.Title, "content": w.Text, "engine": "fake",
			"publishedDate": nil,
		}
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
