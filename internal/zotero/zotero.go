// Package zotero reads and writes libraries with the Zotero Web API, version 3
// (https://www.zotero.org/support/dev/web_api/v3/start). The local API of the Zotero program has the same shapes; it is
// read-only, and it has no keys and no log of deletions.
package zotero

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"carrel/internal/lazyregexp"
	"carrel/internal/outbound"
)

// DefaultAddress is the address of the Web API.
const DefaultAddress = "https://api.zotero.org"

// LocalLibrary is the user library of the local API, which needs no key.
const LocalLibrary = "users/0"

const (
	apiVersion = "3"
	// MaxObjects is the maximum number of objects in a write request, and of keys in a query.
	MaxObjects = 50
	// pageLimit is the maximum number of objects on a page.
	pageLimit = 100
	// maxPages limits a listing.
	maxPages = 10_000
	// maxReply and maxFullText limit the bytes of a reply.
	maxReply    = 64 << 20
	maxFullText = 32 << 20
	// requestTime limits a request including its body, fileTime that of a file.
	requestTime = time.Minute
	fileTime    = 15 * time.Minute
	// attempts limits the requests to a busy server, maxPause one pause between them.
	attempts   = 5
	firstPause = time.Second
	maxPause   = 2 * time.Minute
)

// ErrEndless means that a listing has more pages than maxPages allows.
var ErrEndless = errors.New("zotero: the listing has no end")

// ErrMoving means that the library changed again and again while it was listed.
var ErrMoving = errors.New("zotero: the library changed while it was listed")

// ErrUnreadable means that the server does not answer, or not as a Zotero API.
var ErrUnreadable = errors.New("zotero: no readable answer")

// Options configures a Library.
type Options struct {
	// Client sends the requests. It must not follow redirects, because the key is only for the API.
	Client *http.Client
	// Address is the address of the API; empty means DefaultAddress.
	Address string
	// Key is the API key; without it only public libraries and the local API can be read.
	Key string
	// Name is the library: "users/" or "groups/" and its number.
	Name string
	// Now returns the time, to read Retry-After.
	Now func() time.Time
	// Wait waits for a duration or until the context ends.
	Wait func(context.Context, time.Duration) error
	// UserAgent is the User-Agent header.
	UserAgent string
}

// Library reads and writes one library. It is safe for concurrent use.
type Library struct {
	o Options
	// backoff is the pause that the server asked for before the next request.
	mu      sync.Mutex
	backoff time.Duration
}

// Open returns a Library. It sends no request.
func Open(o Options) *Library {
	o.Address = strings.TrimSuffix(cmp.Or(o.Address, DefaultAddress), "/")
	return &Library{o: o}
}

// Name returns the name of the library.
func (l *Library) Name() string { return l.o.Name }

// Item is an item of a library.
type Item struct {
	Key     string
	Version int
	// Data is the editable JSON of the item.
	Data json.RawMessage
}

// Collection is a collection of a library.
type Collection struct {
	Key     string `json:"key"`
	Version int    `json:"version"`
	Data    struct {
		Name string `json:"name"`
		// Parent is a key, or false at the top.
		Parent  any  `json:"parentCollection"`
		Deleted Flag `json:"deleted"`
	} `json:"data"`
}

// ParentKey returns the key of the parent collection, or "".
func (c Collection) ParentKey() string {
	key, _ := c.Data.Parent.(string)
	return key
}

// Flag is a boolean that the Web API writes as 1 and the local API as true.
type Flag bool

// UnmarshalJSON reads true and numbers other than 0 as true.
func (f *Flag) UnmarshalJSON(b []byte) error {
	*f = string(b) != "false" && string(b) != "0" && string(b) != "null"
	return nil
}

// Key describes an API key.
type Key struct {
	UserID int    `json:"userID"`
	Name   string `json:"username"`
	Access struct {
		User   Rights            `json:"user"`
		Groups map[string]Rights `json:"groups"`
	} `json:"access"`
}

// Rights are the rights of a key in a library. In groups, the right to read includes files and notes.
type Rights struct {
	Library bool `json:"library"`
	Files   bool `json:"files"`
	Notes   bool `json:"notes"`
	Write   bool `json:"write"`
}

// Rights returns the rights of the key in a library. A key for all groups has an entry named all.
func (k Key) Rights(library string) Rights {
	group, isGroup := strings.CutPrefix(library, "groups/")
	if !isGroup {
		if library == "users/"+strconv.Itoa(k.UserID) {
			return k.Access.User
		}
		return Rights{}
	}
	r, named := k.Access.Groups[group]
	if !named {
		r = k.Access.Groups["all"]
	}
	r.Files, r.Notes = r.Library, r.Library
	return r
}

// CurrentKey returns the description of the key that the requests carry.
func (l *Library) CurrentKey(ctx context.Context) (k Key, err error) {
	_, err = l.get(ctx, "/keys/current", nil, nil, maxReply, &k)
	return k, err
}

// ErrNoUser means that the server does not say whose key a key is.
var ErrNoUser = errors.New("zotero: the key has no user")

// Resolve returns the library with its name and the rights of the key. Without a name it is the library of the key's
// user; without a key too it is the library of the local API.
func (l *Library) Resolve(ctx context.Context) (*Library, Rights, error) {
	o := l.o
	if o.Key == "" {
		o.Name = cmp.Or(o.Name, LocalLibrary)
		return Open(o), Rights{Library: true, Files: true, Notes: true}, nil
	}
	key, err := l.CurrentKey(ctx)
	switch {
	case err != nil:
		return nil, Rights{}, err
	case o.Name == "" && key.UserID <= 0:
		return nil, Rights{}, ErrNoUser
	case o.Name == "":
		o.Name = "users/" + strconv.Itoa(key.UserID)
	}
	rights := key.Rights(o.Name)
	if !rights.Library { // any key may read a public library with its files
		rights.Files, rights.Notes = true, true
	}
	return Open(o), rights, nil
}

// Listing is the result of listing the items of a library.
type Listing struct {
	// Version is the version of the library that was listed.
	Version int
	// Unchanged is set if the library has not changed since the version of the request.
	Unchanged bool
}

// Items lists items, page by page. Since 0 lists all items that are not in the trash; another version lists the items
// that have changed after it, including those in the trash. A change of the library during the listing may move items
// between pages, so that the listing starts again: restart is called before each start.
func (l *Library) Items(ctx context.Context, since int, restart func() error, use func(Item) error) (Listing, error) {
	query := url.Values{"format": {"json"}, "include": {"data"}}
	header := http.Header{}
	if since > 0 {
		query.Set("since", strconv.Itoa(since))
		query.Set("includeTrashed", "1")
		header.Set("If-Modified-Since-Version", strconv.Itoa(since))
	}
	for range 3 {
		if err := restart(); err != nil {
			return Listing{}, err
		}
		version, err := l.pages(ctx, l.path("/items"), query, header, use)
		switch {
		case errors.Is(err, errNotModified):
			return Listing{Version: cmp.Or(version, since), Unchanged: true}, nil
		case errors.Is(err, ErrMoving):
			continue
		}
		return Listing{Version: version}, err
	}
	return Listing{}, ErrMoving
}

// ItemsByKey returns the items with these keys, at most MaxObjects. Missing items are left out.
func (l *Library) ItemsByKey(ctx context.Context, keys []string, use func(Item) error) error {
	query := url.Values{
		"format": {"json"}, "include": {"data"}, "itemKey": {strings.Join(keys, ",")}, "includeTrashed": {"1"},
	}
	_, err := l.pages(ctx, l.path("/items"), query, nil, use)
	return err
}

// Children lists the items directly below an item.
func (l *Library) Children(ctx context.Context, key string, use func(Item) error) error {
	query := url.Values{"format": {"json"}, "include": {"data"}}
	_, err := l.pages(ctx, l.path("/items/"+key+"/children"), query, nil, use)
	return err
}

// TopItems lists the top-level items that have changed after a version; 0 lists all.
func (l *Library) TopItems(ctx context.Context, since int, use func(Item) error) error {
	query := url.Values{"format": {"json"}, "include": {"data"}}
	if since > 0 {
		query.Set("since", strconv.Itoa(since))
	}
	_, err := l.pages(ctx, l.path("/items/top"), query, nil, use)
	return err
}

// Collections lists all collections that are not in the trash.
func (l *Library) Collections(ctx context.Context) (list []Collection, err error) {
	_, err = l.rawPages(ctx, l.path("/collections"), url.Values{"format": {"json"}}, nil, func(raw json.RawMessage) error {
		var c Collection
		if json.Unmarshal(raw, &c) == nil && c.Key != "" && !bool(c.Data.Deleted) {
			list = append(list, c)
		}
		return nil
	})
	return list, err
}

// Deleted returns the keys of the items that were deleted permanently after a version.
func (l *Library) Deleted(ctx context.Context, since int) ([]string, error) {
	var reply struct {
		Items []string `json:"items"`
	}
	_, err := l.get(ctx, l.path("/deleted"), url.Values{"since": {strconv.Itoa(since)}}, nil, maxReply, &reply)
	return reply.Items, err
}

// FullText returns the text that Zotero has extracted from an attachment.
func (l *Library) FullText(ctx context.Context, key string) (string, error) {
	var reply struct {
		Content string `json:"content"`
	}
	_, err := l.get(ctx, l.path("/items/"+key+"/fulltext"), nil, nil, maxFullText, &reply)
	return reply.Content, err
}

func (l *Library) path(rest string) string { return "/" + l.o.Name + rest }

// pages lists items. An item that can't be decoded is passed on with its key and without data.
func (l *Library) pages(
	ctx context.Context, path string, query url.Values, header http.Header, use func(Item) error,
) (version int, err error) {
	return l.rawPages(ctx, path, query, header, func(raw json.RawMessage) error {
		var i struct {
			Key     string          `json:"key"`
			Version int             `json:"version"`
			Data    json.RawMessage `json:"data"`
		}
		if json.Unmarshal(raw, &i) != nil {
			var keyOnly struct {
				Key string `json:"key"`
			}
			_ = json.Unmarshal(raw, &keyOnly) // an item without a key is left out below
			i.Key, i.Version, i.Data = keyOnly.Key, 0, nil
		}
		if !IsKey(i.Key) {
			return nil
		}
		return use(Item{Key: i.Key, Version: i.Version, Data: i.Data})
	})
}

// rawPages requests all pages of a listing and returns the version of the library. It returns ErrMoving if the version
// changes between pages.
func (l *Library) rawPages(
	ctx context.Context, path string, query url.Values, header http.Header, use func(json.RawMessage) error,
) (version int, err error) {
	for page, start := 0, 0; page < maxPages; page++ {
		query.Set("limit", strconv.Itoa(pageLimit))
		if query.Del("start"); start > 0 {
			query.Set("start", strconv.Itoa(start))
		}
		var objects []json.RawMessage
		h, err := l.get(ctx, path, query, header, maxReply, &objects)
		now, _ := strconv.Atoi(h.Get("Last-Modified-Version")) // 0 means unknown
		if err != nil {
			return now, err
		}
		header = nil // only the first page is conditional
		if page > 0 && now != version {
			return 0, ErrMoving
		}
		version = now
		for _, o := range objects {
			if err := use(o); err != nil {
				return 0, err
			}
		}
		start += len(objects)
		if len(objects) == 0 || !more(h, start) {
			return version, nil
		}
	}
	return 0, ErrEndless
}

// more reports whether a listing goes on after start objects.
func more(h http.Header, start int) bool {
	if total, err := strconv.Atoi(h.Get("Total-Results")); err == nil {
		return start < total
	}
	return strings.Contains(strings.Join(h.Values("Link"), ","), `rel="next"`)
}

var keyForm = lazyregexp.New(`^[A-Z0-9]{8}$`)

// IsKey reports whether a text is the key of an object. Keys become parts of addresses.
func IsKey(s string) bool { return keyForm.MatchString(s) }

// Error is an error reply of the server.
type Error struct {
	Status int
}

// Error returns the status.
func (e *Error) Error() string {
	return "zotero: the server answers with status " + strconv.Itoa(e.Status)
}

// Busy reports whether the server is overloaded or failing.
func (e *Error) Busy() bool { return e.Status == http.StatusTooManyRequests || e.Status >= 500 }

// StatusOf returns the status of an error reply, or 0.
func StatusOf(err error) int {
	if e, is := errors.AsType[*Error](err); is {
		return e.Status
	}
	return 0
}

var errNotModified = errors.New("zotero: not modified")

// get sends a GET request and decodes the reply.
func (l *Library) get(
	ctx context.Context, path string, query url.Values, header http.Header, limit int64, into any,
) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime*attempts+maxPause*attempts)
	defer cancel()
	res, err := l.send(ctx, request{method: http.MethodGet, path: path, query: query, header: header})
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNotModified:
		return res.Header, errNotModified
	default:
		return nil, &Error{Status: res.StatusCode}
	}
	b, err := outbound.ReadAll(res.Body, limit)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return res.Header, nil
}

type request struct {
	method, path string
	query        url.Values
	header       http.Header
	body         []byte
}

// send sends a request and retries while the server is busy. It observes the headers Backoff and Retry-After: a longer
// pause than maxPause is returned as the error of a busy server.
func (l *Library) send(ctx context.Context, r request) (*http.Response, error) {
	pause := firstPause
	for n := 1; ; n++ {
		if err := l.observeBackoff(ctx); err != nil {
			return nil, err
		}
		res, err := l.sendOnce(ctx, r)
		if err != nil {
			return nil, err
		}
		l.noteBackoff(res.Header)
		fault := &Error{Status: res.StatusCode}
		if !fault.Busy() {
			return res, nil
		}
		_ = res.Body.Close() // the body of an error is not used
		wait := max(pause, outbound.RetryAfter(res.Header, l.o.Now()))
		if n == attempts || wait > maxPause {
			return nil, fault
		}
		if err := l.o.Wait(ctx, wait); err != nil {
			return nil, err
		}
		pause *= 2
	}
}

func (l *Library) noteBackoff(h http.Header) {
	seconds, err := strconv.Atoi(h.Get("Backoff"))
	if err != nil || seconds <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backoff = time.Duration(min(seconds, 24*3600)) * time.Second
}

// observeBackoff waits as long as the last reply asked for.
func (l *Library) observeBackoff(ctx context.Context) error {
	l.mu.Lock()
	wait := l.backoff
	l.backoff = 0
	l.mu.Unlock()
	switch {
	case wait == 0:
		return nil
	case wait > maxPause:
		return &Error{Status: http.StatusTooManyRequests}
	}
	return l.o.Wait(ctx, wait)
}

func (l *Library) sendOnce(ctx context.Context, r request) (*http.Response, error) {
	address := l.o.Address + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var body io.Reader = http.NoBody
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("zotero: make a request: %w", err)
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	req.Header.Set("Zotero-API-Version", apiVersion)
	req.Header.Set("User-Agent", l.o.UserAgent)
	if l.o.Key != "" {
		req.Header.Set("Zotero-API-Key", l.o.Key)
	}
	res, err := l.o.Client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return res, nil
}
