package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/source"
)

const (
	// maxPage is the maximum size of a page, pageTime the timeout of its request.
	maxPage      = 50 << 20
	pageTime     = time.Minute
	maxRedirects = 5
	userAgent    = "Carrel"
)

// webQueue holds the pages of a web source.
type webQueue struct {
	syncQueue
	urls   []string
	known  map[string]File
	dir    string
	robots *robotsCache
}

func (s *Service) newWebQueue(ctx context.Context, src source.Source, set source.Settings) (fileQueue, error) {
	known, err := s.filesByName(ctx, src.ID)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.options.Scratch, "carrel-web-")
	if err != nil {
		return nil, fmt.Errorf("create a folder for pages: %w", err)
	}
	p := &webQueue{
		urls: set.URLs, known: map[string]File{}, dir: dir,
		robots: &robotsCache{service: s, sites: map[string]robotRules{}},
	}
	p.service, p.src = s, src
	p.cleanup = func() { _ = os.RemoveAll(dir) } // the system cleans its temporary folder
	for _, u := range set.URLs {
		if f, ok := known[u]; ok {
			p.known[u] = f
			delete(known, u)
		}
	}
	for _, f := range known {
		p.missing = append(p.missing, f)
	}
	return p, nil
}

func (p *webQueue) size() (int, int64) { return len(p.urls) + len(p.missing), 0 }

func (p *webQueue) skip(done map[string]bool) {
	p.syncQueue.skip(done)
	p.urls = slices.DeleteFunc(slices.Clone(p.urls), func(u string) bool { return done[u] })
}

func (p *webQueue) next(ctx context.Context, t *reporter) (fileResult, error) {
	if len(p.missing) > 0 || len(p.urls) == 0 {
		return p.syncQueue.next(ctx, t)
	}
	address := p.urls[0]
	o, err := p.importPage(ctx, address, t)
	if err == nil {
		p.urls = p.urls[1:]
	}
	return o, err
}

// importPage fetches a page and imports it if it has changed. A page that is gone (404, 410) is deleted; a
// page that can't be fetched is reported and keeps its documents.
func (p *webQueue) importPage(ctx context.Context, address string, t *reporter) (fileResult, error) {
	s, old := p.service, p.known[address]
	o := fileResult{Name: address}
	res, err := s.get(ctx, address, old.Version, p.robots.check)
	if err != nil {
		if ctx.Err() != nil {
			return o, context.Cause(ctx)
		}
		o.Error = "Can't be fetched: " + fetchErrorText(err) + "."
		return o, s.recordFailure(ctx, p.src, old, o, "")
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode == http.StatusNotModified && old.ID != "":
		o.Unchanged = true
		return o, nil
	case res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone:
		if old.ID == "" {
			break
		}
		n, err := s.store.DeleteFile(ctx, p.src.ID, old.ID, s.clock.Now())
		o.Removed, o.Documents.Deleted = true, n
		return o, err
	}
	if res.StatusCode != http.StatusOK {
		o.Error = fmt.Sprintf("The server answers with status %d.", res.StatusCode)
		return o, s.recordFailure(ctx, p.src, old, o, "")
	}
	f, reason := p.save(address, res)
	if reason != "" {
		o.Error = reason
		return o, s.recordFailure(ctx, p.src, old, o, "")
	}
	defer func() { _ = os.Remove(f.path) }()
	return s.importFile(ctx, p.src, f, t)
}

// save writes a response to disk, with the extension of its media type. The reason is empty on success.
func (p *webQueue) save(address string, res *http.Response) (f localFile, reason string) {
	mediaType, params, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	extension, ok := format.ExtensionOf(mediaType)
	if !ok {
		return f, "The media type of the page is not supported."
	}
	path := filepath.Join(p.dir, "page"+extension)
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return f, "The page could not be stored."
	}
	n, err := io.Copy(out, io.LimitReader(res.Body, maxPage+1))
	if err = errors.Join(err, out.Close()); err != nil {
		return f, "The download ended early."
	}
	if n > maxPage {
		return f, "The page is larger than 50 MiB."
	}
	if strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+xml") {
		if n, err = transcode(path, n, params["charset"]); err != nil {
			return f, "The page could not be stored."
		}
	}
	return localFile{name: address, path: path, size: n, url: address, version: versionOf(res.Header)}, ""
}

// maxTranscoded is more than the limit of a file of text, so that larger ones are refused anyway.
const maxTranscoded = 32 << 20

// transcode converts a saved page to UTF-8 if the server names its encoding and the page itself does not. It returns the
// new size.
func transcode(path string, size int64, charset string) (int64, error) {
	if charset == "" || size > maxTranscoded {
		return size, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	text, changed := format.ToUTF8(data, charset)
	if !changed {
		return size, nil
	}
	return int64(len(text)), os.WriteFile(path, text, 0o600)
}

// versionOf returns the validator for a conditional request, which send splits again: an ETag or a Last-Modified
// time.
func versionOf(h http.Header) string {
	switch {
	case h.Get("ETag") != "" && len(h.Get("ETag")) < 200:
		return "etag " + h.Get("ETag")
	case h.Get("Last-Modified") != "" && len(h.Get("Last-Modified")) < 100:
		return "date " + h.Get("Last-Modified")
	}
	return ""
}

// get requests an address and follows redirects. Each hop is a new request through the guarded client and must pass
// allow, unless that is nil.
func (s *Service) get(
	ctx context.Context, address, version string, allow func(context.Context, *url.URL) error,
) (*http.Response, error) {
	if s.options.Client == nil {
		return nil, errors.New("importer: no HTTP client")
	}
	for range maxRedirects + 1 {
		from, err := url.Parse(address)
		if err == nil && from.User != nil {
			err = errRedirect // net/http would send the user name and password of the address
		}
		if err == nil && allow != nil {
			err = allow(ctx, from)
		}
		if err != nil {
			return nil, err
		}
		res, err := s.send(ctx, address, version)
		if err != nil {
			return nil, err
		}
		if res.StatusCode < 300 || res.StatusCode > 399 || res.StatusCode == http.StatusNotModified {
			return res, nil
		}
		_ = res.Body.Close() // the body of a redirect is not used
		to, err := from.Parse(res.Header.Get("Location"))
		if err != nil || to.Scheme != "http" && to.Scheme != "https" || res.Header.Get("Location") == "" {
			return nil, errRedirect
		}
		address = to.String()
	}
	return nil, errRedirect
}

var errRedirect = errors.New("too many or invalid redirects")

func (s *Service) send(ctx context.Context, address, version string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set(
		"Accept",
		"text/html, application/pdf, text/plain;q=0.9, application/atom+xml, application/rss+xml, application/feed+json, "+
			"*/*;q=0.1",
	)
	if len(version) > 5 {
		switch version[:5] {
		case "etag ":
			req.Header.Set("If-None-Match", version[5:])
		case "date ":
			req.Header.Set("If-Modified-Since", version[5:])
		}
	}
	res, err := s.options.Client.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = &cancelBody{res.Body, cancel}
	return res, nil
}

// cancelBody cancels the request's context when its body is closed.
type cancelBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancelBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// fetchErrorText describes a failed fetch without quoting the server or the network, whose errors may reveal internal
// addresses.
func fetchErrorText(err error) string {
	switch {
	case errors.Is(err, errForbidden):
		return "the site's robots.txt disallows it or can't be read"
	case errors.Is(err, errRedirect):
		return "it redirects too often or to an invalid address"
	case errors.Is(err, context.DeadlineExceeded):
		return "the request timed out"
	}
	return "the address does not answer or is not allowed"
}

// recordFailure stores the reason why a file could not be read. The documents of its last import are kept. A file with
// a version is not reported again while its version is the same.
func (s *Service) recordFailure(
	ctx context.Context, src source.Source, old File, o fileResult, version string,
) error {
	now := s.clock.Now()
	f := File{
		ID: core.NewID(prefixFile), SourceID: src.ID, Name: o.Name, Size: cmp.Or(o.Size, old.Size),
		Version: version, Hash: []byte{}, Parts: old.Parts,
		Documents: old.Documents, Skipped: old.Skipped,
		Error: o.Error, Outcome: OutcomeFailed, CreatedAt: now, UpdatedAt: now,
	}
	_, err := s.store.PutFile(ctx, f)
	return err
}
