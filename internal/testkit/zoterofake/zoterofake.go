// Package zoterofake is a Zotero library in memory for tests, behind the Web API (version 3) or the local API. A
// request whose path, parameters or headers differ from Zotero's documentation is rejected and fails the test.
package zoterofake

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The key of the library and its user.
const (
	Key    = "P9NiFoyLeZu2bZNvvuQPDWsd"
	UserID = 475425
	Group  = 2510000
)

// Server is a user library and a group library with the same content.
type Server struct {
	// URL is the address of the API.
	URL string

	t      testing.TB
	mu     sync.Mutex
	local  bool
	rights Rights
	public bool
	// version is the version of the library.
	version     int
	items       map[string]object
	collections map[string]object
	deleted     map[string]int
	files       map[string]file
	texts       map[string]string
	tokens      map[string]bool
	faults      []Fault
	asked       []string
	created     int
}

// object is an item or a collection.
type object struct {
	version int
	data    map[string]any
}

type file struct {
	content    []byte
	compressed bool
	url        string
}

// Rights are the rights of Key in the user library.
type Rights struct{ Library, Files, Notes, Write bool }

// Fault replaces the reply to a request.
type Fault func(http.ResponseWriter, *http.Request)

// New starts the Web API with an empty library and a key that may do everything.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		t: t, rights: Rights{Library: true, Files: true, Notes: true, Write: true}, version: 100,
		items: map[string]object{}, collections: map[string]object{}, deleted: map[string]int{},
		files: map[string]file{}, texts: map[string]string{}, tokens: map[string]bool{},
	}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// NewLocal starts the local API of the Zotero program: without keys, deletions and writes, below /api.
func NewLocal(t testing.TB) *Server {
	t.Helper()
	s := New(t)
	s.local = true
	s.URL += "/api"
	return s
}

// Allow sets the rights of the key.
func (s *Server) Allow(r Rights) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rights = r
}

// Publish makes the libraries readable without a key.
func (s *Server) Publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.public = true
}

// Put creates or replaces an item, whose data has a key. Unsynced items of the local API have the version 0.
func (s *Server) Put(data map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	key := data["key"].(string)
	o := object{version: s.version, data: maps.Clone(data)}
	if s.local {
		o.version, s.version = 0, s.version-1
	}
	if o.data["dateAdded"] == nil {
		s.created++
		o.data["dateAdded"] = fmt.Sprintf("2024-01-01T%02d:%02d:%02dZ", s.created/3600, s.created/60%60, s.created%60)
		if before, is := s.items[key]; is {
			o.data["dateAdded"] = before.data["dateAdded"]
		}
	}
	if o.data["dateModified"] == nil {
		o.data["dateModified"] = o.data["dateAdded"]
	}
	delete(s.deleted, key)
	s.items[key] = o
}

// Change sets fields of an item.
func (s *Server) Change(key string, fields map[string]any) {
	data := s.Data(key)
	maps.Copy(data, fields)
	s.Put(data)
}

// Data returns the fields of an item, or nil.
func (s *Server) Data(key string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.items[key].data)
}

// PutCollection creates or renames a collection.
func (s *Server) PutCollection(key, name, parent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.collections[key] = object{s.version, map[string]any{"key": key, "name": name, "parentCollection": false}}
	if parent != "" {
		s.collections[key].data["parentCollection"] = parent
	}
}

// Collections returns the names of the collections by key.
func (s *Server) Collections() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for key, c := range s.collections {
		out[key] = c.data["name"].(string)
	}
	return out
}

// In returns the keys of the items of a collection, in order.
func (s *Server) In(collection string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for key, o := range s.items {
		if slices.Contains(texts(o.data["collections"]), collection) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// Delete deletes an item permanently, with the items below it.
func (s *Server) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.drop(key)
}

func (s *Server) drop(key string) {
	delete(s.items, key)
	s.deleted[key] = s.version
	for child, o := range s.items {
		if o.data["parentItem"] == key {
			s.drop(child)
		}
	}
}

// SetVersion sets the version of the library, such as after a restored backup.
func (s *Server) SetVersion(version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

// Store stores the file of an attachment and sets its checksum.
func (s *Server) Store(key, content string) {
	s.mu.Lock()
	s.files[key] = file{content: []byte(content)}
	s.mu.Unlock()
	sum := md5.Sum([]byte(content))
	s.Change(key, map[string]any{"md5": hex.EncodeToString(sum[:])})
}

// StoreZip stores the file of an attachment as a zip archive, as Zotero does with snapshots of web pages.
func (s *Server) StoreZip(key string, archive []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[key] = file{content: archive, compressed: true}
}

// StoreAt sets the address of the file of an attachment, such as a file address of the local API.
func (s *Server) StoreAt(key, url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[key] = file{url: url}
}

// Index stores the extracted text of an attachment.
func (s *Server) Index(key, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts[key] = text
}

// Fail sets the replies to the next requests, one each; nil means the normal reply.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Asked returns the methods, paths and queries of the requests since the last call.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.asked
	s.asked = nil
	return out
}

// Refuse replies with a status and headers, given as names and values.
func Refuse(status int, header ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		http.Error(w, "No.", status)
	}
}

// AfterWrite executes the request and loses the reply: the client gets 502.
func (s *Server) AfterWrite() Fault {
	return func(w http.ResponseWriter, r *http.Request) {
		s.route(httptest.NewRecorder(), r)
		http.Error(w, "Bad Gateway", http.StatusBadGateway)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
	var fault Fault
	if len(s.faults) > 0 && !strings.HasPrefix(r.URL.Path, "/storage/") {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	s.mu.Unlock()
	if fault != nil {
		fault(w, r)
		return
	}
	s.route(w, r)
}

// wrong fails the test and rejects the request.
func (s *Server) wrong(w http.ResponseWriter, r *http.Request, format string, args ...any) {
	s.t.Errorf("zoterofake: %s %s: %s", r.Method, r.URL.RequestURI(), fmt.Sprintf(format, args...))
	http.Error(w, "Bad Request", http.StatusBadRequest)
}

func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key, is := strings.CutPrefix(r.URL.Path, "/storage/"); is {
		s.serveStorage(w, r, key)
		return
	}
	path := r.URL.Path
	if s.local {
		var below bool
		if path, below = strings.CutPrefix(path, "/api"); !below {
			http.NotFound(w, r)
			return
		}
	}
	switch {
	case r.Header.Get("Zotero-API-Version") != "3":
		s.wrong(w, r, "Zotero-API-Version is %q", r.Header.Get("Zotero-API-Version"))
		return
	case r.URL.Query().Has("key"):
		s.wrong(w, r, "the key is in the address")
		return
	case r.UserAgent() == "":
		s.wrong(w, r, "no User-Agent")
		return
	}
	w.Header().Set("Zotero-API-Version", "3")
	if path == "/keys/current" && !s.local {
		s.serveKey(w, r)
		return
	}
	rest, status := s.library(path, r.Header.Get("Zotero-API-Key"))
	if status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
		return
	}
	s.serveLibrary(w, r, rest)
}

// library returns the path in a library, and whether the key may read it.
func (s *Server) library(path, key string) (rest string, status int) {
	user, isUser := strings.CutPrefix(path, "/users/")
	group, isGroup := strings.CutPrefix(path, "/groups/")
	number, rest, _ := strings.Cut(user, "/")
	if isGroup {
		number, rest, _ = strings.Cut(group, "/")
	}
	switch {
	case !isUser && !isGroup:
		return "", http.StatusNotFound
	case s.local && (isUser && number != "0"):
		return "", http.StatusBadRequest
	case s.local:
		return rest, http.StatusOK
	case key != "" && key != Key:
		return "", http.StatusForbidden
	case isUser && number != strconv.Itoa(UserID), isGroup && number != strconv.Itoa(Group):
		return "", http.StatusNotFound
	case s.public:
		return rest, http.StatusOK
	case key == "" || !s.rights.Library:
		return "", http.StatusForbidden
	}
	return rest, http.StatusOK
}

func (s *Server) serveKey(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Zotero-API-Key") != Key {
		http.Error(w, "Invalid key", http.StatusForbidden)
		return
	}
	access := func(r Rights, group bool) map[string]any {
		out := map[string]any{"library": r.Library, "write": r.Write}
		if !group {
			out["files"], out["notes"] = r.Files, r.Notes
		}
		return out
	}
	s.reply(w, map[string]any{
		"key": Key, "userID": UserID, "username": "Z User", "displayName": "Z User",
		"access": map[string]any{
			"user": access(s.rights, false), "groups": map[string]any{"all": access(s.rights, true)},
		},
	})
}

func (s *Server) reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // a lost reply is noticed by the client
}

func texts(v any) []string {
	switch list := v.(type) {
	case []string:
		return list
	case []any:
		out := make([]string, 0, len(list))
		for _, s := range list {
			if text, is := s.(string); is {
				out = append(out, text)
			}
		}
		return out
	}
	return nil
}
