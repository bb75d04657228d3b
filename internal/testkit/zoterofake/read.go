package zoterofake

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// parameters are the parameters of each operation.
var parameters = map[string][]string{
	"items":       {"format", "include", "since", "limit", "start", "itemKey", "includeTrashed"},
	"items/top":   {"format", "include", "since", "limit", "start", "includeTrashed"},
	"collections": {"format", "since", "limit", "start"},
	"deleted":     {"since"},
	"children":    {"format", "include", "limit", "start"},
	"file":        {},
	"fulltext":    {},
}

func (s *Server) serveLibrary(w http.ResponseWriter, r *http.Request, rest string) {
	if r.Method == http.MethodPost && (rest == "items" || rest == "collections") && !s.local {
		s.write(w, r, rest)
		return
	}
	if r.Method != http.MethodGet {
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	operation, key := rest, ""
	if parts := strings.Split(rest, "/"); len(parts) == 3 && parts[0] == "items" {
		operation, key = parts[2], parts[1]
	}
	allowed, known := parameters[operation]
	if !known || s.local && operation == "deleted" {
		http.NotFound(w, r)
		return
	}
	for name := range r.URL.Query() {
		if !slices.Contains(allowed, name) {
			s.wrong(w, r, "unknown parameter %s", name)
			return
		}
	}
	if operation != "file" && operation != "fulltext" {
		w.Header().Set("Last-Modified-Version", strconv.Itoa(s.version))
	}
	switch operation {
	case "items", "items/top":
		s.list(w, r, s.selectItems(r.URL.Query(), operation == "items/top"))
	case "children":
		s.list(w, r, slices.DeleteFunc(s.selectItems(url.Values{}, false), func(o map[string]any) bool {
			return o["data"].(map[string]any)["parentItem"] != key
		}))
	case "collections":
		s.list(w, r, s.selectFrom(s.collections, 0))
	case "deleted":
		s.serveDeleted(w, r)
	case "file":
		s.serveFile(w, r, key)
	case "fulltext":
		s.serveText(w, r, key)
	}
}

// number returns a parameter, or the default if it is absent.
func number(q url.Values, name string, def int) int {
	n, err := strconv.Atoi(cmp.Or(q.Get(name), strconv.Itoa(def)))
	if err != nil || n < 0 {
		return -1
	}
	return n
}

func (s *Server) selectFrom(from map[string]object, since int) []map[string]any {
	keys := make([]string, 0, len(from))
	for key, o := range from {
		if since == 0 || o.version > since {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	out := make([]map[string]any, len(keys))
	for i, key := range keys {
		out[i] = s.present(key, from[key])
	}
	return out
}

// present returns an object in the shape of the API.
func (s *Server) present(key string, o object) map[string]any {
	data := map[string]any{"key": key, "version": o.version}
	for name, value := range o.data {
		data[name] = value
	}
	return map[string]any{
		"key": key, "version": o.version,
		"library": map[string]any{"type": "user", "id": UserID, "name": "Z User", "links": map[string]any{}},
		"links":   map[string]any{"self": map[string]any{"href": s.URL + "/users/475425/items/" + key}},
		"meta":    map[string]any{"numChildren": 0}, "data": data,
	}
}

func (s *Server) selectItems(q url.Values, top bool) []map[string]any {
	var out []map[string]any
	for _, o := range s.selectFrom(s.items, number(q, "since", 0)) {
		data := o["data"].(map[string]any)
		trashed := data["deleted"] != nil
		_, child := data["parentItem"].(string)
		switch {
		case trashed && q.Get("includeTrashed") != "1", top && child:
		case q.Has("itemKey") && !slices.Contains(strings.Split(q.Get("itemKey"), ","), o["key"].(string)):
		case data["itemType"] == "note" && !s.rights.Notes:
		default:
			out = append(out, o)
		}
	}
	return out
}

// list replies with a page of objects.
func (s *Server) list(w http.ResponseWriter, r *http.Request, objects []map[string]any) {
	q := r.URL.Query()
	limit, start := number(q, "limit", 25), number(q, "start", 0)
	switch {
	case q.Has("format") && q.Get("format") != "json", q.Has("include") && q.Get("include") != "data":
		s.wrong(w, r, "unexpected format or include")
		return
	case limit < 1 || limit > 100 || start < 0 || number(q, "since", 0) < 0:
		s.wrong(w, r, "limit, start or since is out of range")
		return
	case len(strings.Split(q.Get("itemKey"), ",")) > 50:
		s.wrong(w, r, "more than 50 keys")
		return
	}
	if since := r.Header.Get("If-Modified-Since-Version"); since != "" {
		if n, err := strconv.Atoi(since); err != nil {
			s.wrong(w, r, "If-Modified-Since-Version is %q", since)
			return
		} else if n >= s.version {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	page := objects[min(start, len(objects)):min(start+limit, len(objects))]
	w.Header().Set("Total-Results", strconv.Itoa(len(objects)))
	if start+limit < len(objects) {
		next := r.URL.Query()
		next.Set("start", strconv.Itoa(start+limit))
		w.Header().Set("Link", fmt.Sprintf(`<https://api.zotero.org%s?%s>; rel="next"`, r.URL.Path, next.Encode()))
	}
	if page == nil {
		page = []map[string]any{}
	}
	s.reply(w, page)
}

func (s *Server) serveDeleted(w http.ResponseWriter, r *http.Request) {
	since := number(r.URL.Query(), "since", -1)
	if since < 0 {
		s.wrong(w, r, "since is required")
		return
	}
	items := []string{}
	for key, version := range s.deleted {
		if version > since {
			items = append(items, key)
		}
	}
	slices.Sort(items)
	none := []string{}
	s.reply(w, map[string]any{
		"collections": none, "items": items, "searches": none, "tags": none, "settings": none,
	})
}

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, key string) {
	f, stored := s.files[key]
	switch {
	case !s.local && !s.rights.Files && !s.public:
		http.Error(w, "Forbidden", http.StatusForbidden)
		return
	case !stored:
		http.NotFound(w, r)
		return
	}
	to := f.url
	if to == "" {
		to = strings.TrimSuffix(s.URL, "/api") + "/storage/" + key
		w.Header().Set("Zotero-File-Compressed", map[bool]string{true: "Yes", false: "No"}[f.compressed])
		w.Header().Set("Zotero-File-Size", strconv.Itoa(len(f.content)))
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusFound)
}

// serveStorage is the storage of files, which must not see the key.
func (s *Server) serveStorage(w http.ResponseWriter, r *http.Request, key string) {
	if r.Header.Get("Zotero-API-Key") != "" || r.Header.Get("Authorization") != "" {
		s.wrong(w, r, "the storage gets the key")
		return
	}
	_, _ = w.Write(s.files[key].content) // a lost reply is noticed by the client
}

func (s *Server) serveText(w http.ResponseWriter, r *http.Request, key string) {
	text, indexed := s.texts[key]
	if !indexed {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Last-Modified-Version", strconv.Itoa(s.version))
	s.reply(w, map[string]any{"content": text, "indexedPages": 1, "totalPages": 1})
}
