// Package s3fake is an S3 store in memory for tests. A request whose signature, parameters or path differ
// from Amazon's documentation is rejected and fails the test.
package s3fake

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The credentials and the bucket of the store.
const (
	KeyID  = "AKIAEXAMPLE"
	Secret = "secret/with+signs"
	Bucket = "papers"
	Region = "eu-central-1"
)

// Store is a bucket of objects in memory.
type Store struct {
	// URL is the endpoint.
	URL string

	t       testing.TB
	pageOf  int
	mu      sync.Mutex
	objects map[string]string
	faults  []Fault
	// asked are the paths and queries of the requests so far.
	asked []string
}

// Fault replaces the reply to a request.
type Fault func(http.ResponseWriter, *http.Request)

// New starts a store that lists pageOf objects per page.
func New(t testing.TB, pageOf int) *Store {
	t.Helper()
	s := &Store{t: t, pageOf: pageOf, objects: map[string]string{}}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Put stores an object.
func (s *Store) Put(key, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key] = content
}

// Delete deletes an object.
func (s *Store) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}

// Fail sets the replies to the next requests, one each; nil means the normal reply.
func (s *Store) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Asked returns the paths and queries of the requests since the last call.
func (s *Store) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.asked
	s.asked = nil
	return out
}

// Refuse replies with an S3 error.
func Refuse(status int, code string) Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(
			w, "%s<Error><Code>%s</Code><Message>No.</Message><RequestId>1</RequestId></Error>", xml.Header, code,
		)
	}
}

// Truncate announces more bytes than it sends.
func Truncate(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	w.Header().Set("Content-Type", "application/xml")
	_, _ = w.Write([]byte(xml.Header + "<ListBucketResult><Contents><Key>a"))
}

func (s *Store) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.RequestURI())
	var fault Fault
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	s.mu.Unlock()
	path, inBucket := strings.CutPrefix(r.URL.EscapedPath(), "/"+Bucket+"/")
	switch {
	case fault != nil:
		fault(w, r)
	case !inBucket:
		Refuse(http.StatusNotFound, "NoSuchBucket")(w, r)
	case !s.signed(w, r):
	case path == "" && r.Method == http.MethodGet:
		s.list(w, r)
	case r.Method == http.MethodPut:
		s.put(w, r, path)
	case r.Method == http.MethodDelete:
		s.Delete(path)
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		s.t.Errorf("the store is asked to %s", r.Method)
		Refuse(http.StatusMethodNotAllowed, "MethodNotAllowed")(w, r)
	default:
		s.get(w, r, path)
	}
}

// signed verifies the signature of a request.
func (s *Store) signed(w http.ResponseWriter, r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=")
	credential, rest, ok1 := strings.Cut(rest, ",SignedHeaders=")
	names, signature, ok2 := strings.Cut(rest, ",Signature=")
	keyID, scope, _ := strings.Cut(credential, "/")
	at := r.Header.Get("X-Amz-Date")
	switch {
	case !ok || !ok1 || !ok2 || len(at) != len("20060102T150405Z"):
		Refuse(http.StatusForbidden, "AccessDenied")(w, r)
		return false
	case keyID != KeyID:
		Refuse(http.StatusForbidden, "InvalidAccessKeyId")(w, r)
		return false
	case scope != at[:8]+"/"+Region+"/s3/aws4_request":
		w.Header().Set("X-Amz-Bucket-Region", Region)
		Refuse(http.StatusBadRequest, "AuthorizationHeaderMalformed")(w, r)
		return false
	}
	canonical := r.Method + "\n" + r.URL.EscapedPath() + "\n" + r.URL.RawQuery + "\n"
	signed := strings.Split(names, ";")
	for _, name := range signed {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		canonical += name + ":" + value + "\n"
	}
	canonical += "\n" + names + "\n" + r.Header.Get("X-Amz-Content-Sha256")
	hash := sha256.Sum256([]byte(canonical))
	key := []byte("AWS4" + Secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = hmacOf(key, part)
	}
	want := hex.EncodeToString(hmacOf(key, "AWS4-HMAC-SHA256\n"+at+"\n"+scope+"\n"+hex.EncodeToString(hash[:])))
	if want != signature || !slices.Contains(signed, "host") || !slices.Contains(signed, "x-amz-date") {
		Refuse(http.StatusForbidden, "SignatureDoesNotMatch")(w, r)
		return false
	}
	return true
}

func hmacOf(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// list replies to ListObjectsV2 page by page. Its tokens contain characters that must be encoded in a query.
func (s *Store) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("list-type") != "2" || q.Get("encoding-type") != "url" {
		s.t.Errorf("a listing with %s", r.URL.RawQuery)
	}
	after, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(q.Get("continuation-token"), "=+/"))
	if err != nil {
		Refuse(http.StatusBadRequest, "InvalidArgument")(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.objects {
		if strings.HasPrefix(key, q.Get("prefix")) && (len(after) == 0 || key > string(after)) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	more := len(keys) > s.pageOf
	keys = keys[:min(len(keys), s.pageOf)]
	_, _ = fmt.Fprintf(w, "%s<ListBucketResult xmlns=%q><Name>%s</Name><EncodingType>url</EncodingType>"+
		"<KeyCount>%d</KeyCount><IsTruncated>%t</IsTruncated>",
		xml.Header, "http://s3.amazonaws.com/doc/2006-03-01/", Bucket, len(keys), more)
	for _, key := range keys {
		_, _ = fmt.Fprintf(w, "<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>%s</ETag><Size>%d</Size>"+
			"<StorageClass>STANDARD</StorageClass></Contents>",
			strings.ReplaceAll(url.QueryEscape(key), "%2F", "/"), modified.Format("2006-01-02T15:04:05.000Z"),
			strings.ReplaceAll(etag(s.objects[key]), `"`, "&quot;"), len(s.objects[key]))
	}
	if more {
		_, _ = fmt.Fprintf(
			w, "<NextContinuationToken>=+/%s</NextContinuationToken>",
			base64.StdEncoding.EncodeToString([]byte(keys[len(keys)-1])),
		)
	}
	_, _ = fmt.Fprint(w, "</ListBucketResult>")
}

// modified is the same for all objects, because the one-second resolution of stores can't show changes.
var modified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func etag(content string) string {
	sum := sha256.Sum256([]byte(content))
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// put stores an object whose hash matches the signed one.
func (s *Store) put(w http.ResponseWriter, r *http.Request, path string) {
	content, err := io.ReadAll(r.Body)
	sum := sha256.Sum256(content)
	if err != nil || hex.EncodeToString(sum[:]) != r.Header.Get("X-Amz-Content-Sha256") {
		Refuse(http.StatusBadRequest, "XAmzContentSHA256Mismatch")(w, r)
		return
	}
	s.Put(path, string(content))
}

func (s *Store) get(w http.ResponseWriter, r *http.Request, path string) {
	key, err := url.PathUnescape(path)
	s.mu.Lock()
	content, is := s.objects[key]
	s.mu.Unlock()
	if err != nil || !is {
		Refuse(http.StatusNotFound, "NoSuchKey")(w, r)
		return
	}
	status := http.StatusOK
	if from, some := strings.CutPrefix(r.Header.Get("Range"), "bytes="); some {
		offset, err := strconv.Atoi(strings.TrimSuffix(from, "-"))
		if err != nil || offset >= len(content) {
			Refuse(http.StatusRequestedRangeNotSatisfiable, "InvalidRange")(w, r)
			return
		}
		content, status = content[offset:], http.StatusPartialContent
	}
	w.Header().Set("ETag", etag(content))
	w.Header().Set("Last-Modified", modified.Format(http.TimeFormat))
	w.Header().Set("Content-Type", "binary/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(content)) // net/http drops it for HEAD
}
