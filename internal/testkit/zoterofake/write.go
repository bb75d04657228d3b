package zoterofake

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// commonFields are the fields of all types of items.
var commonFields = []string{
	"key", "version", "itemType", "title", "creators", "abstractNote", "date", "shortTitle", "language", "url",
	"accessDate", "archive", "archiveLocation", "libraryCatalog", "callNumber", "rights", "extra", "tags", "collections",
	"relations",
}

// typeFields are the other fields of the types of items that can be written, from Zotero's schema.
var typeFields = map[string][]string{
	"journalArticle": {
		"publicationTitle", "volume", "issue", "pages", "series", "seriesTitle", "seriesText", "journalAbbreviation", "DOI",
		"ISSN",
	},
	"conferencePaper": {
		"proceedingsTitle", "conferenceName", "place", "publisher", "volume", "pages", "series", "DOI", "ISBN",
	},
	"book": {
		"series", "seriesNumber", "volume", "numberOfVolumes", "edition", "place", "publisher", "numPages", "ISBN",
	},
	"bookSection": {
		"bookTitle", "series", "seriesNumber", "volume", "numberOfVolumes", "edition", "place", "publisher", "pages", "ISBN",
	},
	"report": {"reportNumber", "reportType", "seriesTitle", "place", "institution", "pages"},
	"thesis": {"thesisType", "university", "place", "numPages"},
	"dataset": {
		"identifier", "type", "versionNumber", "repository", "repositoryLocation", "format", "DOI", "citationKey",
	},
	"webpage":  {"websiteTitle", "websiteType"},
	"preprint": {"genre", "repository", "archiveID", "place", "DOI", "series", "seriesNumber", "citationKey"},
	"document": {"publisher"},
}

// write creates and updates items or collections.
func (s *Server) write(w http.ResponseWriter, r *http.Request, kind string) {
	if r.Header.Get("Zotero-API-Key") == "" || !s.rights.Write {
		http.Error(w, "Write access denied", http.StatusForbidden)
		return
	}
	if r.Header.Get("Content-Type") != "application/json" || len(r.URL.Query()) > 0 {
		s.wrong(w, r, "a write is JSON without parameters")
		return
	}
	body, err := io.ReadAll(r.Body)
	var objects []map[string]any
	if err != nil || json.Unmarshal(body, &objects) != nil || len(objects) == 0 {
		s.wrong(w, r, "the body is not a list of objects: %s", body)
		return
	}
	if len(objects) > 50 {
		s.t.Errorf("zoterofake: %d objects in one request", len(objects))
		http.Error(w, "Cannot add more than 50 items at a time", http.StatusRequestEntityTooLarge)
		return
	}
	if status := s.precondition(r, objects); status != 0 {
		http.Error(w, http.StatusText(status), status)
		return
	}
	if token := r.Header.Get("Zotero-Write-Token"); token != "" {
		s.tokens[token] = true
	}
	s.version++
	successful, success, unchanged, failed := map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}
	for i, o := range objects {
		at := strconv.Itoa(i)
		key, code, message := s.store(kind, o)
		switch {
		case code == http.StatusNotModified:
			unchanged[at] = key
		case code != 0:
			failed[at] = map[string]any{"key": key, "code": code, "message": message}
		case kind == "items":
			success[at], successful[at] = key, s.present(key, s.items[key])
		default:
			success[at], successful[at] = key, s.present(key, s.collections[key])
		}
	}
	w.Header().Set("Last-Modified-Version", strconv.Itoa(s.version))
	s.reply(w, map[string]any{
		"successful": successful, "success": success, "unchanged": unchanged, "failed": failed,
	})
}

// precondition checks the write token and the versions. It returns 0 if the request may be executed.
func (s *Server) precondition(r *http.Request, objects []map[string]any) int {
	token, since := r.Header.Get("Zotero-Write-Token"), r.Header.Get("If-Unmodified-Since-Version")
	switch n, err := strconv.Atoi(since); {
	case token != "" && (len(token) < 5 || len(token) > 32):
		s.t.Errorf("zoterofake: the write token has %d characters", len(token))
		return http.StatusBadRequest
	case s.tokens[token]:
		return http.StatusPreconditionFailed
	case since != "" && (err != nil || n < s.version):
		return http.StatusPreconditionFailed
	}
	for _, o := range objects {
		switch {
		case o["key"] != nil && o["version"] == nil && since == "":
			s.t.Error("zoterofake: an update without a version")
			return http.StatusPreconditionRequired
		case o["key"] == nil && token == "" && since == "":
			s.t.Error("zoterofake: a create request that can't be repeated")
			return http.StatusPreconditionRequired
		}
	}
	return 0
}

// store creates or updates an object and returns its key, or an error.
func (s *Server) store(kind string, o map[string]any) (key string, code int, message string) {
	known := s.items
	if kind == "collections" {
		known = s.collections
	}
	key, _ = o["key"].(string)
	before, exists := known[key]
	if key != "" && !exists {
		return key, http.StatusNotFound, "Item doesn't exist (to create, use version 0)"
	}
	if version, is := o["version"].(float64); exists && is && int(version) < before.version {
		return key, http.StatusPreconditionFailed, "Item has been modified since specified version"
	}
	data := map[string]any{}
	maps.Copy(data, before.data)
	maps.Copy(data, o)
	delete(data, "version")
	if code, message := s.check(kind, data); code != 0 {
		return key, code, message
	}
	if !exists {
		s.created++
		key = fmt.Sprintf("NEW%05d", s.created)
		data["key"], data["dateAdded"], data["dateModified"] = key, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"
	}
	known[key] = object{s.version, data}
	return key, 0, ""
}

// check applies the rules of Zotero's schema.
func (s *Server) check(kind string, data map[string]any) (code int, message string) {
	if kind == "collections" {
		if name, _ := data["name"].(string); name == "" {
			return http.StatusBadRequest, "Collection name cannot be empty"
		}
		return 0, ""
	}
	itemType, _ := data["itemType"].(string)
	fields, known := typeFields[itemType]
	if !known {
		return http.StatusBadRequest, "'" + itemType + "' is not a valid itemType"
	}
	for name := range data {
		if !slices.Contains(commonFields, name) && !slices.Contains(fields, name) &&
			name != "dateAdded" && name != "dateModified" {
			s.t.Errorf("zoterofake: %s is not a field of %s", name, itemType)
			return http.StatusBadRequest, "'" + name + "' is not a valid field for type '" + itemType + "'"
		}
	}
	for _, key := range texts(data["collections"]) {
		if _, exists := s.collections[key]; !exists {
			return http.StatusConflict, "Collection " + key + " doesn't exist"
		}
	}
	creators, _ := data["creators"].([]any)
	for _, c := range creators {
		creator, _ := c.(map[string]any)
		_, whole := creator["name"]
		_, last := creator["lastName"]
		if creator["creatorType"] != "author" || whole == last {
			return http.StatusBadRequest, "Creators need a creatorType, and a name or a lastName"
		}
	}
	return 0, ""
}
